"""Settings that a paper does not give are chosen by a search, which is a scale of the file like any other.

`[scale.search]` sweeps them, on seeds that are not reported, for the file as it stands; `[scale.quick-search]` does for
its quick version. Of every run the value with the highest score is the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from covey.algorithms import make_algorithm
from covey.compare import Comparison, Entry
from covey.compare.orders import label_of
from covey.compare.scales import searched_for
from covey.experiment import Experiment
from covey.reproduce.catalogue import Item
from covey.reproduce.result import Result


@dataclass(frozen=True)
class Choice:
    """What a search says of one run: the best of the swept settings, and what the file has."""

    run: str
    best: dict[str, Any]
    taken: dict[str, Any]
    at_edge: tuple[str, ...]  # settings whose best value is the least or the largest that was tried
    serves: str  # the scale that the search is for

    def __str__(self) -> str:
        best, taken = (", ".join(label_of(k, str(v)) for k, v in each.items()) for each in (self.best, self.taken))
        edge = f", at the edge of what was tried of {' and '.join(self.at_edge)}" if self.at_edge else ""
        has = "it" if self.best == self.taken else taken
        return f"{self.run}: {best} is best{edge}; scale {self.serves} has {has}"


def choices(item: Item, result: Result) -> list[Choice]:
    """What the result of a search says, run by run; nothing where it is none, or of a run without figures.

    A swept setting with numbers for values is searched; any other, such as the data, tells runs apart.
    """
    serves = searched_for(result.scale)
    if serves is None:
        return []
    comparison, served = item.comparison(result.scale), item.comparison(serves)
    grid = {key: tried for key, tried in comparison.sweep.items() if all(isinstance(v, int | float) for v in tried)}
    score = comparison.terms.score
    scores = {line.name: line.ours for line in result.lines if line.column == score and line.ours is not None}
    runs: dict[str, list[Entry]] = {}
    for entry in comparison.entries:
        if entry.name in scores:
            runs.setdefault(", ".join(_without(entry.labels, grid).values()), []).append(entry)
    found = []
    for run, tried in runs.items():
        entry = max(tried, key=lambda entry: scores[entry.name])
        best = {key: entry.settings[key] for key in grid}
        edge = tuple(key for key, value in best.items() if value in (min(grid[key]), max(grid[key])))
        found.append(Choice(run, best, _taken(served, _without(entry.labels, grid), grid), edge, serves))
    return found


def _without(labels: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    return {key: label for key, label in labels.items() if key not in keys}


def _taken(comparison: Comparison, whose: Mapping[str, str], keys: Iterable[str]) -> dict[str, Any]:
    """What the run with these labels has of these settings."""
    own = comparison.pick(next(entry.name for entry in comparison.entries if whose.items() <= entry.labels.items()))
    algorithm = make_algorithm(own.algorithm, own.options)
    return {key: getattr(own, key) if key in Experiment.model_fields else getattr(algorithm, key) for key in keys}
