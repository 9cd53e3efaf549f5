"""What came out of a comparison: one row an entry, mean and spread over the seeds, and whether orders held."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from covey.compare.comparison import Comparison, Entry
from covey.compare.work import Done

SCORES = ("accuracy", "own_accuracy")
FURTHER = ("loss", "train_accuracy", "train_loss")  # scores that not every run has
SPENT = (
    "rounds",
    "traffic_bytes",
    "trainings",
    "models",
    "wall_seconds",
    "epochs",
    "simulated_seconds",
    "link_bytes",
    "cost",
    "link_cost",
)
TO_TARGET = {
    "rounds_to_target": "round",
    "bytes_to_target": "traffic_bytes",
    "epochs_to_target": "epochs",
    "seconds_to_target": "simulated_seconds",
    "cost_to_target": "cost",
    "link_cost_to_target": "link_cost",
}
Rounds = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One entry: `values` has a figure a seed for every column; None where there is none."""

    entry: Entry
    settings: dict[str, Any]
    seeds: tuple[int, ...]
    runs: tuple[str | None, ...]
    values: dict[str, list[float | None]]
    failures: tuple[str, ...]
    within: list[Rounds]  # the rounds within the budget, of every seed

    def mean(self, column: str) -> float | None:
        """The mean over the seeds; None where a seed has no figure."""
        return mean_of(self.values.get(column, [None]))

    def spread(self, column: str) -> float | None:
        """The standard deviation over the seeds; None for a single one."""
        return spread_of(self.values.get(column, []))

    def reached(self, column: str) -> int:
        """How many seeds have a figure."""
        return sum(value is not None for value in self.values.get(column, []))

    def figures(self) -> dict[str, Any]:
        """The row as plain numbers and words."""
        found: dict[str, Any] = {
            "name": self.entry.name,
            "settings": self.settings,
            "seeds": list(self.seeds),
            "runs": list(self.runs),
        }
        for column in self.values:
            found[column] = _whole(self.mean(column))
            if len(self.seeds) > 1:
                found[f"{column}_spread"] = self.spread(column)
        return found | {"values": self.values, "failures": list(self.failures)}


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean over the seeds; None where a seed has no figure.

    >>> mean_of([1.0, 2.0]), mean_of([1.0, None])
    (1.5, None)
    """
    return statistics.fmean(v for v in values if v is not None) if values and None not in values else None


def spread_of(values: Sequence[float | None]) -> float | None:
    """The standard deviation over the seeds; None for a single one, or where a seed has no figure."""
    found = [value for value in values if value is not None]
    return statistics.stdev(found) if len(found) > 1 and len(found) == len(values) else None


@dataclass(frozen=True)
class Verdict:
    """An order that was expected, and whether the means came out in it."""

    claim: str
    holds: bool


def rows_of(comparison: Comparison, done: Sequence[Done], amount: float | None) -> tuple[list[Row], float | None]:
    """One row an entry, and the target that they were to reach: the first entry's mean score unless one is given.

    comparison: what was compared; done: its runs; amount: the budget that was equal for all
    """
    terms = comparison.terms
    by_entry = {
        entry.name: [found for found in done if found.cell.entry.name == entry.name] for entry in comparison.entries
    }
    if terms.work != "runs":
        return [_measured(entry, by_entry[entry.name]) for entry in comparison.entries], None
    within = {name: [_within(d.rounds, comparison.metric, amount) for d in found] for name, found in by_entry.items()}
    if terms.target == "each":
        rows = [
            _row(e, by_entry[e.name], within[e.name], _targets(comparison, e, within), comparison)
            for e in comparison.entries
        ]
        _add_speedup(comparison, rows)
        return rows, None
    target = terms.target
    if target is None:
        first = [_scores(rounds, terms.tail).get(terms.score) for rounds in within[comparison.entries[0].name]]
        reached = [score for score in first if score is not None]
        target = math.floor(100 * statistics.fmean(reached)) / 100 if reached else None
    targets = [target] * len(terms.seeds)
    rows = [_row(e, by_entry[e.name], within[e.name], targets, comparison) for e in comparison.entries]
    if terms.budget == "rounds" and len(rows) > 1:
        _add_equal_traffic(rows, terms.score)
    return rows, target


def verdicts(comparison: Comparison, rows: Sequence[Row]) -> list[Verdict]:
    """Which of the expected orders came out."""
    by_name = {row.entry.name: row for row in rows}
    return judged(comparison, lambda name, column: by_name[name].values.get(column, [None]))


def judged(comparison: Comparison, values: Callable[[str, str], Sequence[float | None]]) -> list[Verdict]:
    """Which of the expected orders came out, given every run's figures in a column, one a seed: means are compared.

    A score that is not there is below all, a target never reached beyond. Where a seed has no figure the median stands
    for the mean, so that a single seed which never got there does not decide against the others.
    """
    found = []
    for order in comparison.orders:
        column = comparison.column_of(order)
        none = math.inf if column.endswith("_to_target") else -math.inf
        stand = [_standing(values(name, column), none) for name in order.names]
        found.append(Verdict(str(order), all(a > b for a, b in itertools.pairwise(stand))))
    return found


def _standing(values: Sequence[float | None], none: float) -> float:
    """The mean, or the median where a seed has none.

    >>> _standing([1.0, 4.0], math.inf), _standing([1.0, 4.0, None], math.inf), _standing([1.0, None], math.inf)
    (2.5, 4.0, inf)
    """
    mean = mean_of(values)
    return statistics.median(none if value is None else value for value in values) if mean is None else mean


def _measured(entry: Entry, done: Sequence[Done]) -> Row:
    """A row of figures that no rounds led to."""
    values = _by_column([each.summary for each in done])
    seeds = tuple(each.cell.seed for each in done)
    return Row(entry, dict(entry.settings), seeds, (None,) * len(seeds), values, (), [each.rounds for each in done])


def _targets(comparison: Comparison, entry: Entry, within: Mapping[str, Sequence[Rounds]]) -> list[float | None]:
    """What the first run with the same swept settings has reached, seed by seed."""
    alike = [e for e in comparison.entries if {**e.labels, "run": ""} == {**entry.labels, "run": ""}]
    terms = comparison.terms
    return [_scores(rounds, terms.tail).get(terms.score) for rounds in within[alike[0].name]]


def _add_speedup(comparison: Comparison, rows: Sequence[Row]) -> None:
    """How many times sooner on the clock than the first run with the same swept settings."""
    first: dict[str, Row] = {}
    for row in rows:
        alike = first.setdefault(repr({**row.entry.labels, "run": ""}), row)
        pairs = zip(alike.values.get("seconds_to_target", []), row.values.get("seconds_to_target", []), strict=False)
        row.values["speedup"] = [None if not a or not b else a / b for a, b in pairs]


def _row(
    entry: Entry,
    done: Sequence[Done],
    within: list[Rounds],
    targets: Sequence[float | None],
    comparison: Comparison,
) -> Row:
    terms = comparison.terms
    values = _by_column(
        [
            _scores(rounds, terms.tail) | _spent(rounds) | _to_target(rounds, terms.score, target, terms.hold)
            for rounds, target in zip(within, targets, strict=True)
        ]
    )
    config = done[0].cell.experiment
    return Row(
        entry,
        {"algorithm": config.algorithm, **entry.settings, **config.options},
        tuple(found.cell.seed for found in done),
        tuple(found.run for found in done),
        values,
        tuple(f"seed {found.cell.seed}: {found.failure}" for found in done if found.failure),
        within,
    )


def _by_column(seeds: Sequence[Mapping[str, float | None]]) -> dict[str, list[float | None]]:
    """One figure a seed in every column, None where a seed has none.

    >>> _by_column([{"a": 1.0}, {"a": 2.0, "b": 3.0}])
    {'a': [1.0, 2.0], 'b': [None, 3.0]}
    """
    columns = dict.fromkeys(column for figures in seeds for column in figures)
    return {column: [figures.get(column) for figures in seeds] for column in columns}


def _add_equal_traffic(rows: Sequence[Row], score: str) -> None:
    """The score after the last round in which a run had sent no more than the run that sent least in all.

    Where all runs are on a network, bytes count once for every link they pass.
    """
    everyone = [rounds for row in rows for rounds in row.within]
    metric = "link_bytes" if all(rounds and "link_bytes" in rounds[-1] for rounds in everyone) else "traffic_bytes"
    for seed in rows[0].seeds:
        of_seed = [(row, row.within[row.seeds.index(seed)]) for row in rows]
        least = min((rounds[-1][metric] for _, rounds in of_seed if rounds), default=0.0)
        for row, rounds in of_seed:
            row.values.setdefault("at_equal_traffic", []).append(_scores(_within(rounds, metric, least), 1).get(score))


def _within(rounds: Rounds, metric: str, amount: float | None) -> Rounds:
    """The rounds that spent no more than the budget."""
    return rounds if amount is None else [row for row in rounds if row.get(metric, 0.0) <= amount * (1 + 1e-9)]


def _scores(rounds: Rounds, tail: int) -> dict[str, float | None]:
    """The mean of each score over the last rounds that have it."""
    known = [*SCORES, *(name for name in FURTHER if any(name in row for row in rounds))]
    found = {name: [float(row[name]) for row in rounds if row.get(name) is not None][-tail:] for name in known}
    return {name: statistics.fmean(values) if values else None for name, values in found.items()}


def _spent(rounds: Rounds) -> dict[str, float | None]:
    last = {**rounds[-1], "rounds": rounds[-1]["round"]} if rounds else {}
    found = {name: last.get(name) for name in SPENT}
    if "link_cost" in last:
        found["link_cost_of_round"] = last["link_cost"] - (rounds[-2]["link_cost"] if len(rounds) > 1 else 0.0)
    usual = ("rounds", "traffic_bytes", "trainings", "models", "wall_seconds")
    return {name: value for name, value in found.items() if name in usual or value is not None}


def _to_target(rounds: Rounds, score: str, target: float | None, hold: int = 1) -> dict[str, float | None]:
    """What was spent when the score first was at the target, to stay there for `hold` evaluations.

    >>> rounds = [{"round": r, "accuracy": score} for r, score in enumerate((0.9, 0.2, 0.9, 0.8, 0.1), 1)]
    >>> [_to_target(rounds, "accuracy", 0.8, hold)["rounds_to_target"] for hold in (1, 2, 3)]
    [1, 3, None]
    """
    scored = [row for row in rounds if target is not None and row.get(score) is not None]
    there = [row[score] >= target for row in scored]
    first = next((scored[k] for k in range(len(scored) - hold + 1) if all(there[k : k + hold])), {})
    known = [column for column, metric in TO_TARGET.items() if any(metric in row for row in rounds)]
    return {column: first.get(TO_TARGET[column]) for column in known or ("rounds_to_target", "bytes_to_target")}


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and float(value).is_integer() else value
