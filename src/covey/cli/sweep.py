"""`covey sweep`: every combination of some settings, over seeds, sorted by what came out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from covey.cli.compare import watched
from covey.cli.console import console, plain
from covey.cli.options import (
    DEFAULT_OUT,
    AllowCode,
    Json,
    Out,
    Set,
    complete_algorithm,
    is_file,
    parse_set,
    with_experiment_options,
)
from covey.cli.progress import bars
from covey.cli.results import figures, heading, print_rows
from covey.compare import Comparison, Row, carry_out, rows_of, seeds_from, verdicts
from covey.errors import BadValue
from covey.report.curves import bands
from covey.report.heat import heat_map
from covey.report.picture import check_ending


@with_experiment_options
def sweep(
    source: Annotated[
        str, typer.Argument(metavar="ALGORITHM|FILE.toml", help="what to run", autocompletion=complete_algorithm)
    ],
    set_: Set = None,
    seeds: Annotated[str | None, typer.Option(help="how many (3), a range (0-4) or a list (0,2,5)")] = None,
    score: Annotated[str | None, typer.Option(help="what rows are sorted by: accuracy or own_accuracy")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="runs made at once")] = 1,
    plot: Annotated[Path | None, typer.Option(help="where the picture goes; sweep.png in --out unless given")] = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Every combination of settings: --set lr=0.01,0.1 --set tau2=1,5 (; between values that have a comma).

    The table is sorted by the score; of two settings a heat map is drawn. Runs that are in the store already are not
    made again, so that a sweep that was stopped goes on with the same command.
    """
    terms = {"seeds": seeds and seeds_from(seeds, settings.get("seed", 0)), "score": score}
    terms = {key: value for key, value in terms.items() if value is not None}
    lists, given = _split(set_)
    comparison = _comparison(source, lists, {**settings, **given}, terms, allow_code)
    swept = _swept(comparison, lists)
    path = check_ending(plot or out / "sweep.png", "plot")
    with bars() as watch:
        done, spent = carry_out(comparison, out, jobs=jobs, **watched(watch, comparison))
    rows, target = rows_of(comparison, done, spent)
    rows.sort(key=lambda row: -_score(row, comparison))
    title = heading(comparison, rows, spent)
    _draw(comparison, rows, swept, path, title)
    orders = verdicts(comparison, rows)
    result = figures(comparison, rows, target, spent, orders) | {"sweep": swept, "picture": str(path)}
    if as_json:
        print(json.dumps(result))
        return
    print_rows(console(), comparison, rows, None, title, orders)
    console().print(f"picture: {plain(path)}", soft_wrap=True, highlight=False)


def _split(pairs: list[str] | None) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Settings with several values, and settings with one; a value is read as `covey run --set` reads it.

    >>> _split(["lr=0.01,0.1", "beta=5", "link=10MB/s,1ms;1MB/s,1ms", "kill=[2,3]"])
    ({'lr': [0.01, 0.1], 'link': ['10MB/s,1ms', '1MB/s,1ms']}, {'beta': 5, 'kill': [2, 3]})
    """
    lists: dict[str, list[Any]] = {}
    single: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        parts = text.split(";" if ";" in text else ",") if equals and not text.startswith("[") else [text]
        for part in parts:
            for name, value in parse_set([f"{key}={part}" if equals else pair]).items():
                if len(parts) > 1:
                    lists.setdefault(name, []).append(value)
                else:
                    single[name] = value
    return lists, single


def _comparison(
    source: str, lists: dict[str, list[Any]], given: dict[str, Any], terms: dict[str, Any], allow_code: bool
) -> Comparison:
    from covey.algorithms import ALGORITHMS

    if source not in ALGORITHMS and (source.endswith(".toml") or is_file(source)):
        return Comparison.read(source, given, terms, sweep=lists, allow_code=allow_code)
    shared = {**given, "algorithm": source}
    title = ", ".join(str(shared.get(name, "")) for name in ("algorithm", "data") if shared.get(name))
    return Comparison.make(shared, [{}], sweep=lists, **{"title": title, **terms})


def _swept(comparison: Comparison, lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The settings that are swept, with their values: the command's and the file's."""
    if comparison.terms.work != "runs":
        raise BadValue("work", comparison.terms.work, "runs; use covey compare for the others")
    if not comparison.sweep:
        raise BadValue("set", list(lists), "one setting at least with several values, such as --set lr=0.01,0.1")
    return comparison.sweep


def _score(row: Row, comparison: Comparison) -> float:
    found = row.mean(comparison.terms.score)
    return -math.inf if found is None else found


def _draw(comparison: Comparison, rows: list[Row], swept: dict[str, list[Any]], path: Path, title: str) -> None:
    """A heat map of two settings, curves of any other number."""
    score = comparison.terms.score
    if len(swept) == 2 and len(rows) == math.prod(map(len, swept.values())):
        (down, ys), (across, xs) = swept.items()
        cells = {(row.entry.labels[down], row.entry.labels[across]): row.mean(score) for row in rows}
        values = [[cells[str(y), str(x)] for x in xs] for y in ys]
        heat_map(values, (down, ys), (across, xs), path, title=title, label=score.replace("_", " "))
    elif any(rounds for row in rows for rounds in row.within):
        bands({row.entry.name: row.within for row in rows}, path, title=title)
