"""What is compared: settings that all runs share, the runs with their own, seeds, a budget, what is expected.

A TOML file says it in the words of `covey run`: the top level holds settings, `[[runs]]` one table a run, `[sweep]`
lists of values, `[comparison]` the rest (docs/toml.md).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey.errors import BadData, BadValue, UnknownName, first_fault
from covey.experiment import Experiment
from covey.experiment.settings import read_toml

Kind = Literal["rounds", "traffic", "cost", "seconds"]
Score = Literal["accuracy", "own_accuracy"]

METRICS = {"rounds": "round", "traffic": "traffic_bytes", "cost": "cost", "seconds": "simulated_seconds"}
"""The metric that a budget of this kind limits."""
STOPS = {"traffic": "stop_at_traffic", "cost": "budget", "seconds": "stop_at_seconds"}
MOST = 10  # times the rounds of the first run, where a budget of another kind says how many there are
NETWORK = "star"  # what seconds are counted on unless a network is named
PRICES = "cifar-secure"  # what a cost is counted in unless prices are named


class Terms(BaseModel):
    """How runs are compared: the table `[comparison]` of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    title: str = Field("", description="heads the table and the picture")
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="every run is made once with each of them")
    budget: Kind = Field("rounds", description="what is equal for all runs: rounds, traffic, cost or seconds")
    amount: float | None = Field(None, gt=0, description="how much of it; as much as the first run spends unless given")
    score: Score = Field("accuracy", description="what counts: accuracy, or own_accuracy of the clients")
    tail: int = Field(1, ge=1, description="scores are means over the last so many rounds")
    target: float | None = Field(
        None, gt=0, le=1, description="score whose first round is shown; the first run's unless given"
    )
    by: str | None = Field(None, description="the column that expect is about; the score unless given")
    expect: tuple[str, ...] = Field((), description="orders that should come out, as 'fedgsp > fedavg'")


@dataclass(frozen=True)
class Entry:
    """One of the runs that are compared: its name, and settings that the others do not share."""

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run: an entry with one seed."""

    entry: Entry
    seed: int
    experiment: Experiment


@dataclass(frozen=True)
class Comparison:
    """Runs that share settings, and how they are compared."""

    terms: Terms
    shared: dict[str, Any]
    entries: tuple[Entry, ...]
    sweep: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def make(
        cls,
        shared: Mapping[str, Any],
        runs: Sequence[Mapping[str, Any]],
        *,
        sweep: Mapping[str, Sequence[Any]] | None = None,
        **terms: Any,
    ) -> Comparison:
        """From settings; every run with every combination of the values in `sweep`.

        >>> made = Comparison.make({"rounds": 3}, [{"algorithm": "fedavg"}], sweep={"lr": [0.1, 0.2]}, seeds=[0, 1])
        >>> [entry.name for entry in made.entries], len(made.cells())
        (['lr=0.1', 'lr=0.2'], 4)
        """
        try:
            found = Terms(**terms)
        except ValidationError as error:
            raise first_fault(error, "comparison") from None
        if not runs:
            raise BadValue("runs", [], "one run at least")
        swept = dict(sweep or {})
        entries = tuple(_entries(shared, runs, swept))
        comparison = cls(found, dict(shared), entries, {key: list(values) for key, values in swept.items()})
        comparison._check()
        return comparison

    @classmethod
    def read(
        cls,
        path: str | Path,
        settings: Mapping[str, Any] | None = None,
        terms: Mapping[str, Any] | None = None,
        sweep: Mapping[str, Sequence[Any]] | None = None,
        *,
        allow_code: bool = False,
    ) -> Comparison:
        """From a TOML file, with some settings (of every run), terms and values to sweep in place of the file's.

        A file of one run is a comparison of one, which is of use with a sweep or several seeds. One that names code is
        refused unless `allow_code`.
        """
        found = read_toml(path, {**(settings or {}), **(sweep or {})}, allow_code=allow_code)
        of_file, runs, swept = found.pop("comparison", {}), found.pop("runs", []), found.pop("sweep", {})
        tables = isinstance(runs, list) and all(isinstance(run, dict) for run in runs)
        if not (isinstance(of_file, dict) and isinstance(swept, dict) and tables):
            raise BadData(f"experiment {path}: comparison and sweep have to be tables, runs a list of tables")
        given = dict(settings or {})
        swept = {**{key: values for key, values in swept.items() if key not in given}, **(sweep or {})}
        runs = [{key: v for key, v in run.items() if key not in given} for run in runs] or [{}]
        title = {"title": Path(path).stem}
        return cls.make({**found, **given}, runs, sweep=swept, **{**title, **of_file, **(terms or {})})

    def cells(self, amount: float | None = None) -> list[Cell]:
        """Every run, seed by seed; all but the first entry's stop when they have spent that amount of the budget."""
        return [
            Cell(entry, seed, self._experiment(entry, seed, amount if number else None))
            for seed in self.terms.seeds
            for number, entry in enumerate(self.entries)
        ]

    def pick(self, name: str) -> Experiment:
        """The settings of the run of that name, with the first seed."""
        for entry in self.entries:
            if entry.name == name:
                return self._experiment(entry, self.terms.seeds[0], None)
        raise UnknownName("run", name, [entry.name for entry in self.entries])

    @property
    def metric(self) -> str:
        """The metric that the budget limits."""
        return METRICS[self.terms.budget]

    def _experiment(self, entry: Entry, seed: int, amount: float | None) -> Experiment:
        settings: dict[str, Any] = {**_of_budget(self.terms.budget), **self.shared, **entry.settings, "seed": seed}
        stop = self.terms.amount if amount is None else amount
        if self.terms.budget in STOPS and stop is not None:
            settings[STOPS[self.terms.budget]] = stop
            settings["rounds"] = MOST * settings.get("rounds", Experiment.model_fields["rounds"].default)
        return Experiment.make(_known_to(settings, entry.settings))

    def _check(self) -> None:
        """Names are told apart, orders name runs, and every setting is somebody's."""
        names = [entry.name for entry in self.entries]
        for name in names:
            if names.count(name) > 1:
                raise BadValue("name", name, "different for every run of a comparison")
        for rule in self.terms.expect:
            for name in rule.split(">"):
                if name.strip() not in names:
                    raise UnknownName("run in expect", name.strip(), names)
        algorithms = {str({**self.shared, **entry.settings}.get("algorithm", "fedavg")) for entry in self.entries}
        known = {*Experiment.model_fields, *(field for name in algorithms for field in _fields(name))}
        for key in self.shared:
            if key not in known:
                raise UnknownName("setting", key, known)
        self.cells()


def seeds_from(text: str, first: int = 0) -> tuple[int, ...]:
    """Seeds in words: how many (from `first` on), a range, or a list.

    >>> seeds_from("3"), seeds_from("3", first=7), seeds_from("0-2,5")
    ((0, 1, 2), (7, 8, 9), (0, 1, 2, 5))
    """
    if re.fullmatch(r"[0-9]{1,4}", text) and int(text):
        return tuple(range(first, first + int(text)))
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
        if found is None or ("," not in text and "-" not in text):
            raise BadValue("seeds", text, "how many, such as 3, a range, such as 0-4, or a list, such as 0,2,5")
        low, high = int(found[1]), int(found[2] or found[1])
        seeds += range(low, min(high, low + 10_000) + 1)
    if not seeds:
        raise BadValue("seeds", text, "a range that begins with its lower end, such as 0-4")
    return tuple(dict.fromkeys(seeds))


def _entries(
    shared: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], sweep: Mapping[str, Sequence[Any]]
) -> Iterator[Entry]:
    for key, values in sweep.items():
        if not isinstance(values, list | tuple) or not values:
            raise BadValue(f"sweep.{key}", values, "a list of values")
    for run in runs:
        if not isinstance(run, Mapping):
            raise BadValue("runs", run, "tables of settings, one a run")
        own = dict(run)
        name = str(own.pop("name", own.get("algorithm", shared.get("algorithm", "fedavg"))))
        for values in itertools.product(*sweep.values()):
            chosen = dict(zip(sweep, values, strict=True))
            words = [f"{key}={value}" for key, value in chosen.items()]
            label = ", ".join([name, *words] if len(runs) > 1 or not words else words)
            yield Entry(label, {**own, **chosen})


def _known_to(settings: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without shared ones that are of other algorithms."""
    fields = {*Experiment.model_fields, *_fields(str(settings.get("algorithm", "fedavg")))}
    return {key: value for key, value in settings.items() if key in fields or key in own}


def _fields(algorithm: str) -> list[str]:
    from covey.algorithms import ALGORITHMS

    return list(ALGORITHMS[algorithm].__dataclass_fields__)


def _of_budget(kind: str) -> dict[str, Any]:
    return {"seconds": {"network": NETWORK}, "cost": {"prices": PRICES}}.get(kind, {})
