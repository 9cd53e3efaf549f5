"""One file, several scales: what is other in a short version stands in the same file, in a table `[scale.quick]`."""

from __future__ import annotations

from typing import Any

from covey.errors import BadData, UnknownName

PAPER = "paper"  # the scale of a file as it stands
SEARCH = "search"  # one on which settings for it are chosen; `quick-search` is for the scale `quick`
BY_LINE = ("comparison", "sweep", "picture")  # tables of which single lines are replaced


def at_scale(found: dict[str, Any], scale: str | None, path: str) -> dict[str, Any]:
    """What a file holds at that scale: settings, terms and sweeps of `[scale.NAME]` in place of the file's own.

    A run may have a table `scale` of its own. The file as it stands is the paper's scale. A search stands on the scale
    that it is for.

    >>> at_scale({"rounds": 9, "scale": {"quick": {"rounds": 2}}, "runs": [{"lr": 1}]}, "quick", "a.toml")
    {'rounds': 2, 'runs': [{'lr': 1}]}
    """
    scales = found.get("scale", {})
    runs = found.get("runs", [])
    if not isinstance(scales, dict) or not all(isinstance(table, dict) for table in scales.values()):
        raise BadData(f"experiment {path}: scale has to hold tables, such as [scale.quick]")
    if scale not in (None, PAPER, *scales):
        raise UnknownName("scale", str(scale), [PAPER, *scales])
    own = scales.get(str(scale), {})
    serves = searched_for(str(scale))
    if serves is not None:
        return _merged(at_scale(found, serves, path), own)
    merged = _merged({key: value for key, value in found.items() if key != "scale"}, own)
    if isinstance(runs, list) and "runs" in found and "runs" not in own:
        merged["runs"] = [_run_at(run, scale) if isinstance(run, dict) else run for run in runs]
    return merged


def searched_for(scale: str) -> str | None:
    """The scale that a search is for; None of a scale that is no search.

    >>> searched_for("search"), searched_for("quick-search"), searched_for("quick")
    ('paper', 'quick', None)
    """
    if scale == SEARCH:
        return PAPER
    return scale.removesuffix(f"-{SEARCH}") if scale.endswith(f"-{SEARCH}") else None


def _run_at(run: dict[str, Any], scale: str | None) -> dict[str, Any]:
    own = run.get("scale", {})
    rest = {key: value for key, value in run.items() if key != "scale"}
    return _merged(rest, own.get(str(scale), {})) if isinstance(own, dict) else rest


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Settings with others on top; of the tables of a comparison single lines are replaced."""
    found = dict(below)
    for key, value in above.items():
        lines = key in BY_LINE and isinstance(value, dict)
        found[key] = {**found.get(key, {}), **value} if lines else value
    return found
