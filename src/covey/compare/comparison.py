"""What is compared: settings that all runs share, the runs with their own, seeds, a budget, what is expected.

A TOML file says it in the words of `covey run`: the top level holds settings, `[[runs]]` one table per run, `[sweep]`
lists of values, `[scale.quick]` what is other in a short version, `[comparison]` the rest (docs/toml.md).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey.compare.orders import Order, is_of, orders_of
from covey.compare.paper import Paper, Picture
from covey.compare.scales import PAPER, at_scale, searched_for
from covey.errors import BadData, BadValue, UnknownName, first_fault
from covey.experiment import Experiment
from covey.experiment.settings import read_toml

Kind = Literal["rounds", "traffic", "cost", "seconds"]
Score = Literal["accuracy", "own_accuracy", "train_accuracy"]
Work = Literal["runs", "groupings", "groupops", "prices", "bounds"]

METRICS = {"rounds": "round", "traffic": "traffic_bytes", "cost": "cost", "seconds": "simulated_seconds"}
"""The metric that a budget of this kind limits."""
STOPS = {"traffic": "stop_at_traffic", "cost": "budget", "seconds": "stop_at_seconds"}
OF_ROUNDS = {"budget", "amount", "tail", "target", "hold"}  # terms of what trains round after round
MOST = 10  # times the rounds of the first run, where a budget of another kind says how many there are
NETWORK = "star"  # what seconds are counted on unless a network is named
PRICES = "cifar-secure"  # what a cost is counted in unless prices are named


class Terms(BaseModel):
    """How runs are compared: the table `[comparison]` of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    title: str = Field("", description="heads the table and the picture")
    work: Work = Field("runs", description="what is compared: runs, groupings, groupops, prices or bounds")
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="every run is made once with each of them")
    budget: Kind = Field("rounds", description="what is equal for all runs: rounds, traffic, cost or seconds")
    amount: float | None = Field(None, gt=0, description="how much of it; as much as the first run spends unless given")
    score: Score = Field("accuracy", description="what counts: accuracy, or own_accuracy of the clients")
    tail: int = Field(1, ge=1, description="number of last rounds whose mean is the score")
    target: Annotated[float, Field(gt=0, le=1)] | Literal["each"] | None = Field(
        None, description="score whose first round is shown; the first run's unless given"
    )
    hold: int = Field(1, ge=1, description="evaluations in a row that have to be at the target for it to be reached")
    by: str | None = Field(None, description="the column that expect is about; the score unless given")
    expect: tuple[str, ...] = Field((), description="orders that should come out, as 'fedgsp > fedavg' or 'fedgsp > *'")
    columns: tuple[str, ...] = Field((), description="the columns of the table; the usual ones unless given")
    across: str | None = Field(None, description="a swept setting whose values stand side by side in the table")


@dataclass(frozen=True)
class Entry:
    """One of the runs that are compared: its name, and settings that the others do not share.

    `labels` say which it is of every swept setting, and, under `run`, of the runs. `passed_over` are settings that are
    left out where they are other algorithms' own, as those that all runs share.
    """

    name: str
    settings: dict[str, Any]
    labels: dict[str, str] = field(default_factory=dict)
    passed_over: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cell:
    """One run: an entry with one seed, and all of its settings; `work` is what is done with them."""

    entry: Entry
    seed: int
    settings: dict[str, Any]
    work: Work = "runs"

    @property
    def experiment(self) -> Experiment:
        """The settings as those of a run."""
        own = self.entry.settings.keys() - self.entry.passed_over
        return Experiment.make({**_known_to(self.settings, own), "seed": self.seed})


@dataclass(frozen=True)
class Comparison:
    """Runs that share settings, and how they are compared."""

    terms: Terms
    shared: dict[str, Any]
    entries: tuple[Entry, ...]
    sweep: dict[str, list[Any]] = field(default_factory=dict)  # values, or what they are called
    paper: Paper | None = None
    figures: dict[str, dict[str, float]] = field(default_factory=dict)  # the paper's, by entry and column
    picture: Picture | None = None

    @classmethod
    def make(
        cls,
        shared: Mapping[str, Any],
        runs: Sequence[Mapping[str, Any]],
        *,
        sweep: Mapping[str, Any] | None = None,
        paper: Mapping[str, Any] | None = None,
        figures: Mapping[str, Any] | None = None,
        picture: Mapping[str, Any] | None = None,
        **terms: Any,
    ) -> Comparison:
        """From settings; every run with every combination of the values in `sweep`: lists, or settings by name.

        >>> made = Comparison.make({"rounds": 3}, [{"algorithm": "fedavg"}], sweep={"lr": [0.1, 0.2]}, seeds=[0, 1])
        >>> [entry.name for entry in made.entries], len(made.cells())
        (['lr=0.1', 'lr=0.2'], 4)
        """
        try:
            found = Terms(**terms)
            about = None if paper is None else Paper(**paper)
            drawn = None if picture is None else Picture(**picture)
        except ValidationError as error:
            raise first_fault(error, "comparison") from None
        if not runs:
            raise BadValue("runs", [], "one run at least")
        swept = dict(sweep or {})
        entries = tuple(_entries(shared, runs, swept))
        values = {key: list(values) for key, values in swept.items()}
        comparison = cls(found, dict(shared), entries, values, about, _figures(figures or {}), drawn)
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
        scale: str | None = None,
        allow_code: bool = False,
    ) -> Comparison:
        """From a TOML file, with some settings (of every run), terms and values to sweep in place of the file's.

        A file of one run is a comparison of one, which is of use with a sweep or several seeds. `scale` names a table
        `[scale.…]` whose settings take the place of the file's. A file that names code is refused unless `allow_code`.
        """
        found = read_toml(path, {**(settings or {}), **(sweep or {})}, allow_code=allow_code)
        found = at_scale(found, scale, str(path))
        runs = found.pop("runs", [])
        tables = {name: found.pop(name, {}) for name in ("comparison", "sweep", "figures")}
        whole = isinstance(runs, list) and all(isinstance(each, dict) for each in (*runs, *tables.values()))
        if not whole:
            raise BadData(f"experiment {path}: comparison, sweep and figures have to be tables, runs a list of tables")
        given = dict(settings or {})
        swept = {**{key: values for key, values in tables["sweep"].items() if key not in given}, **(sweep or {})}
        runs = [{key: v for key, v in run.items() if key not in given} for run in runs] or [{}]
        about = {name: found.pop(name, None) for name in ("paper", "picture")} | {"figures": tables["figures"]}
        said = {"title": Path(path).stem, **tables["comparison"], **(terms or {})}
        if scale not in (None, PAPER):
            # what is said of runs that this scale leaves out is passed over; a search claims nothing
            made = () if searched_for(scale) else _entries({**found, **given}, runs, swept)
            there = {entry.name: entry.labels for entry in made}
            about["figures"] = {name: row for name, row in about["figures"].items() if name in there}
            said["expect"] = [rule for rule in said.get("expect", ()) if is_of(rule, there)]
        return cls.make({**found, **given}, runs, sweep=swept, **about, **said)

    def cells(self, amount: float | None = None) -> list[Cell]:
        """Every run, seed by seed; all but the first entry's stop when they have spent that amount of the budget."""
        return [
            Cell(entry, seed, self._settings(entry, amount if number else None), self.terms.work)
            for seed in self.terms.seeds
            for number, entry in enumerate(self.entries)
        ]

    def pick(self, name: str, given: Mapping[str, Any] | None = None) -> Experiment:
        """The settings of the run of that name, with the first seed; those `given` override its own, too."""
        for entry in self.entries:
            if entry.name == name:
                settings = self._settings(entry, None) | dict(given or {})
                return Cell(entry, self.terms.seeds[0], settings).experiment
        raise UnknownName("run", name, [entry.name for entry in self.entries])

    @property
    def metric(self) -> str:
        """The metric that the budget limits."""
        return METRICS[self.terms.budget]

    @property
    def orders(self) -> list[Order]:
        """The orders that should come out, each of rows."""
        return orders_of(self.terms.expect, {entry.name: entry.labels for entry in self.entries})

    def column_of(self, order: Order) -> str:
        """The column that an order is about."""
        return order.column or self.terms.by or self.terms.score

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table: those that are asked for, else the paper's, else the score."""
        told = [column for row in self.figures.values() for column in row]
        return self.terms.columns or tuple(dict.fromkeys(told)) or (self.terms.score,)

    def only(self, names: Sequence[str]) -> Comparison:
        """Of these rows alone, or of all rows of these runs, and of what they are measured by.

        >>> made = Comparison.make({}, [{"name": name} for name in "abc"], expect=["a > *"]).only(["a", "c"])
        >>> [entry.name for entry in made.entries], [str(order) for order in made.orders]
        (['a', 'c'], ['a > c'])
        """
        known = {entry.name: entry.labels.get("run", entry.name) for entry in self.entries}
        for name in names:
            if name not in known and name not in known.values():
                raise UnknownName("run", name, list(dict.fromkeys([*known.values(), *known])))
        asked = [entry for entry in self.entries if {entry.name, known[entry.name]} & set(names)]
        kept = {other.name for entry in asked for other in (entry, *self._yardsticks(entry))}
        entries = tuple(entry for entry in self.entries if entry.name in kept)
        rows = {entry.name: entry.labels for entry in entries}
        expect = tuple(rule for rule in self.terms.expect if is_of(rule, rows))
        figures = {name: row for name, row in self.figures.items() if name in kept}
        terms = self.terms.model_copy(update={"expect": expect})
        return replace(self, terms=terms, entries=entries, figures=figures)

    def fingerprint(self, entry: Entry) -> str:
        """The same for rows whose figures may be put together: of the same run, measured alike, with whatever seeds."""
        told = self.terms.model_dump(include={"work", "budget", "amount", "score", "tail", "target", "hold"})
        runs = [self._settings(each, None) for each in (entry, *self._yardsticks(entry))]
        return hashlib.sha256(json.dumps([told, runs], sort_keys=True, default=str).encode()).hexdigest()[:16]

    def _yardsticks(self, entry: Entry) -> list[Entry]:
        """The runs that an entry's figures depend on: whose score is the target, whose spending the budget."""
        terms = self.terms
        if terms.work != "runs":
            return []
        if "at_equal_traffic" in self.columns:  # the run that sent least may be any of them
            return list(self.entries)
        found = []
        if terms.target in (None, "each") and any(c.endswith("_to_target") or c == "speedup" for c in self.columns):
            apart = {} if terms.target is None else {key: label for key, label in entry.labels.items() if key != "run"}
            found.append(next(each for each in self.entries if apart.items() <= each.labels.items()))
        if terms.budget in STOPS and terms.amount is None:
            found.append(self.entries[0])
        return found

    def _settings(self, entry: Entry, amount: float | None) -> dict[str, Any]:
        settings: dict[str, Any] = {**_of_budget(self.terms.budget), **self.shared, **entry.settings}
        stop = self.terms.amount if amount is None else amount
        if self.terms.budget in STOPS and stop is not None:
            settings[STOPS[self.terms.budget]] = stop
            settings["rounds"] = MOST * settings.get("rounds", Experiment.model_fields["rounds"].default)
        return settings

    def _check(self) -> None:
        """Names are told apart, orders name runs, and every setting is somebody's."""
        names = [entry.name for entry in self.entries]
        for name in names:
            if names.count(name) > 1:
                raise BadValue("name", name, "different for every run of a comparison")
        _ = self.orders  # or the sentence that says which of them names no run
        for name in self.figures:
            if name not in names:
                raise UnknownName("run in figures", name, names)
        keys = [self.terms.across, *((self.picture.panels, self.picture.heat) if self.picture else ())]
        for key in keys:
            if key is not None and key not in ("run", *self.sweep):
                raise UnknownName("swept setting", key, ["run", *self.sweep])
        if self.picture and self.picture.log and (self.picture.heat or self.picture.form == "stacks"):
            raise BadValue("log", True, "false for heat maps and stacks")
        if self.terms.work != "runs":
            for name in sorted(OF_ROUNDS & self.terms.model_fields_set):
                raise BadValue(name, getattr(self.terms, name), f"left out where {self.terms.work} are compared")
            return
        if self.terms.hold > 1 and not isinstance(self.terms.target, float):
            raise BadValue("hold", self.terms.hold, "1 unless target is a number")
        algorithms = {str({**self.shared, **entry.settings}.get("algorithm", "fedavg")) for entry in self.entries}
        known = {*Experiment.model_fields, *(field for name in algorithms for field in _fields(name))}
        for key in {*self.shared, *(key for entry in self.entries for key in entry.passed_over)}:
            if key not in known:
                raise UnknownName("setting", key, known)
        cells = self.cells()
        for cell in (*cells[: len(self.entries)], *cells[:: len(self.entries)]):  # every run, and every seed
            found = cell.experiment  # or the sentence that says what is wrong with it
            if self.terms.hold > 1 and (found.target_accuracy or found.target_own_accuracy):
                allowed = "1 where a run stops at target_accuracy or target_own_accuracy, as it has no further rounds"
                raise BadValue("hold", self.terms.hold, allowed)


def _figures(given: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    for name, row in given.items():
        if not isinstance(row, Mapping) or not all(isinstance(value, int | float) for value in row.values()):
            raise BadValue(f"figures.{name}", row, "a table of numbers by column, such as {accuracy = 0.85}")
    return {name: {column: float(value) for column, value in row.items()} for name, row in given.items()}


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


def _entries(shared: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], sweep: Mapping[str, Any]) -> Iterator[Entry]:
    choices = [_choices(key, values) for key, values in sweep.items()]
    for run in runs:
        if not isinstance(run, Mapping):
            raise BadValue("runs", run, "tables of settings, one per run")
        own = dict(run)
        name = str(own.pop("name", own.get("algorithm", shared.get("algorithm", "fedavg"))))
        for chosen in itertools.product(*choices):
            words = [word for word, _, _ in chosen]
            labels = {"run": name} | {key: label for key, (_, label, _) in zip(sweep, chosen, strict=True)}
            settings = {key: value for _, _, table in chosen for key, value in table.items()}
            single = {key for key in sweep if not isinstance(sweep[key], Mapping)}
            passed = frozenset(settings) - single - own.keys()
            title = ", ".join([name, *words] if len(runs) > 1 or not words else words)
            yield Entry(title, {**own, **settings}, labels, passed)


def _choices(key: str, values: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """What a swept setting can be: the word in the name, the label, the settings.

    >>> _choices("lr", [0.1]), _choices("data", {"FMNIST": {"data": "fashion-mnist", "rounds": 25}})
    ([('lr=0.1', '0.1', {'lr': 0.1})], [('FMNIST', 'FMNIST', {'data': 'fashion-mnist', 'rounds': 25})])
    """
    if isinstance(values, Mapping) and values and all(isinstance(table, Mapping) for table in values.values()):
        return [(label, label, dict(table)) for label, table in values.items()]
    if not isinstance(values, list | tuple) or not values:
        raise BadValue(f"sweep.{key}", values, "a list of values, or a table of settings for each")
    return [(f"{key}={value}", str(value), {key: value}) for value in values]


def _known_to(settings: dict[str, Any], own: Set[str]) -> dict[str, Any]:
    """The settings without shared ones that are of other algorithms."""
    fields = {*Experiment.model_fields, *_fields(str(settings.get("algorithm", "fedavg")))}
    return {key: value for key, value in settings.items() if key in fields or key in own}


def _fields(algorithm: str) -> list[str]:
    from covey.algorithms import ALGORITHMS

    return list(ALGORITHMS[algorithm].__dataclass_fields__)


def _of_budget(kind: str) -> dict[str, Any]:
    return {"seconds": {"network": NETWORK}, "cost": {"prices": PRICES}}.get(kind, {})
