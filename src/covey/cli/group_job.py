"""One grouping of a fleet from the command line: what it is expected to take, and what it gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.cli.group_inputs import value
from covey.errors import BadValue, CoveyError
from covey.grouping import EdgeHops, Grouping, choose_groups, how_many, keeps_to_edges, measure, options
from covey.grouping import group as form_groups
from covey.grouping.estimate import estimate, fitting, size_of
from covey.grouping.table import ClientTable
from covey.seeds import generator

PASSES = {"cov": 3, "kmedoids": 1}
"""Passes of search unless told, or as many as take no more than SEARCHING seconds."""

SEARCHING = 10.0
MINUTES = 60.0
"""What takes longer is left out of a comparison of all methods, unless asked for."""

HOURS = 3600.0
"""What takes longer is refused, unless asked for."""

GROUPINGS_OF_AUTO = 60
"""About how many groupings choosing the number of groups takes."""


@dataclass(frozen=True, eq=False)
class Result:
    """One method's groups, and the figures that `--json` prints."""

    method: str
    grouping: Grouping
    figures: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Job:
    """What every method is run on."""

    fleet: ClientTable
    min_size: int | None
    max_size: int | None
    groups: str | None
    within_edges: bool | None
    distances: NDArray[np.float64] | EdgeHops | None
    updates: NDArray[np.float64] | None
    chosen: dict[str, str]
    epsilon: float | None
    seed: int

    def run(self, method: str, *, lenient: bool = False) -> Result:
        """Group by that method and measure; `lenient` passes over options that the method does not have."""
        rng = generator(self.seed, "group")
        labels = self.fleet.labels
        if self.epsilon is not None:
            from covey.grouping.privacy import noised

            labels = noised(labels, epsilon=self.epsilon, rng=rng)
        given = self._given(method, lenient=lenient)
        _warm_up(method)
        began = time.perf_counter()
        count = self._count()
        if self.groups == "auto":
            count = choose_groups(labels, method=method, rng=rng, **given).groups
        grouping = form_groups(method, labels, groups=count, rng=rng, **given)
        seconds = time.perf_counter() - began
        figures = measure(grouping, self.fleet.labels, distances=self.distances, updates=self.updates).to_dict()
        if self.fleet.edges is not None:
            figures["crossing"] = _crossing(grouping, self.fleet.edges)
        if "search" in given:
            figures["search"] = given["search"]
        return Result(method, grouping, {"method": method, **figures, "seconds": seconds})

    def formed(self, method: str) -> Callable[[int], tuple[Grouping, float]]:
        """The groups of that method for a least size, and their CoV."""

        def form(min_size: int) -> tuple[Grouping, float]:
            found = replace(self, min_size=min_size).run(method)
            return found.grouping, float(found.figures["cov"])

        return form

    def seconds(self, method: str) -> float:
        """How long that is expected to take; 0 where nothing is known of it."""
        return self._seconds(method, self._given(method, lenient=True))

    def check_time(self, method: str) -> None:
        """Refuse what would take hours, and say how many clients would not."""
        expected = self.seconds(method)
        if expected <= HOURS:
            return
        size, times = self._size(self._given(method, lenient=True), method)
        most = fitting(method, size, lambda needs: needs.seconds * times * self._repeats <= HOURS)
        allowed = f"at most about {most:,} for grouping {method!r} in an hour (these take about {duration(expected)})"
        raise BadValue("clients", size.clients, f"{allowed}; --slow runs it all the same")

    def _given(self, method: str, *, lenient: bool) -> dict[str, Any]:
        """Everything the method is called with but labels, number of groups and generator."""
        inputs = {"edges": self.fleet.edges, "distances": self.distances, "updates": self.updates}
        given: dict[str, Any] = {name: table for name, table in inputs.items() if table is not None}
        given |= {"min_size": self.min_size, "max_size": self.max_size, "within_edges": self.within_edges}
        for name, text in self.chosen.items():
            if name in options(method) or not lenient:
                given[name] = value(method, name, text)
        if method in PASSES and "search" not in given:
            without = self._seconds(method, given)
            for passes in range(PASSES[method], 0, -1):
                if self._seconds(method, given | {"search": passes}) - without <= SEARCHING:
                    return given | {"search": passes}
        return given

    def _seconds(self, method: str, given: dict[str, Any]) -> float:
        needs = estimate(method, *self._size(given, method))
        return 0.0 if needs is None else needs.seconds * self._repeats

    @property
    def _repeats(self) -> int:
        return GROUPINGS_OF_AUTO if self.groups == "auto" else 1

    def _size(self, given: dict[str, Any], method: str) -> Any:
        n = len(self.fleet.names)
        inside = keeps_to_edges(method) if self.within_edges is None else self.within_edges
        count = how_many(n, self._count(), self.min_size, self.max_size)
        return size_of(self.fleet.labels.shape, count, places=self.fleet.edges if inside else None, **given)

    def _count(self) -> int | None:
        if self.groups is None or self.groups == "auto":
            return None
        if not (self.groups.isdecimal() and self.groups.isascii() and len(self.groups) < 16):
            raise BadValue("groups", self.groups, "a whole number from 1 up, or 'auto'")
        return int(self.groups)


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(0.2), duration(95), duration(7300)
    ('1 second', '2 minutes', '2 hours')
    """
    for unit, length in (("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= 1.5 * length or unit == "second":
            count = max(1, round(seconds / length))
            return f"{count:,} {unit}{'s' * (count > 1)}"
    raise AssertionError


def _crossing(grouping: Grouping, edges: NDArray[np.int64]) -> int:
    """How many groups have clients of more than one edge."""
    of = grouping.of(len(edges))
    pairs = np.unique(np.column_stack([of[of >= 0], edges[of >= 0]]), axis=0)
    return int((np.bincount(pairs[:, 0]) > 1).sum())


def _warm_up(method: str) -> None:
    """Group four made-up clients, so that the clock does not see what is imported at first use."""
    with suppress(CoveyError):
        made_up: dict[str, Any] = {"edges": [0, 0, 1, 1], "distances": 1 - np.eye(4), "updates": np.eye(4)}
        form_groups(method, 9 * np.eye(4, dtype=int), groups=2, rng=generator(0, "warm up"), **made_up)
