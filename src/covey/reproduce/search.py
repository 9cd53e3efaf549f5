"""Settings that a paper does not give are chosen by a search, which is a scale of the file like any other.

`[scale.search]` sweeps them, on seeds that are not reported, for the file as it stands; `[scale.quick-search]` does for
its quick version. Of every run the value with the highest score is the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from covey.algorithms import make_algorithm
from covey.compare import Comparison
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
    """What the result of a search says, run by run; nothing where it is none, or of a run without figures."""
    serves = searched_for(result.scale)
    if serves is None:
        return []
    comparison = item.comparison(result.scale)
    score = comparison.terms.score
    scores = {line.name: line.ours for line in result.lines if line.column == score and line.ours is not None}
    found = []
    for run in dict.fromkeys(entry.labels["run"] for entry in comparison.entries):
        rows = [entry for entry in comparison.entries if entry.labels["run"] == run and entry.name in scores]
        if not rows:
            continue
        best = max(rows, key=lambda entry: scores[entry.name])
        values = {key: best.settings[key] for key in comparison.sweep}
        ends = {key: (min(tried), max(tried)) for key, tried in comparison.sweep.items()}
        edge = tuple(key for key, value in values.items() if value in ends[key])
        taken = _taken(item.comparison(serves), run, comparison.pick(best.name), tuple(values))
        found.append(Choice(run, values, taken, edge, serves))
    return found


def _taken(comparison: Comparison, run: str, searched: Experiment, keys: tuple[str, ...]) -> dict[str, Any]:
    """What the run of that name has of these settings, on the data that was searched on."""
    named = [entry.name for entry in comparison.entries if entry.labels["run"] == run]
    own = next(found for found in map(comparison.pick, named) if found.data == searched.data)
    algorithm = make_algorithm(own.algorithm, own.options)
    return {key: getattr(own, key) if key in Experiment.model_fields else getattr(algorithm, key) for key in keys}
