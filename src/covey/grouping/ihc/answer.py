"""What is asked of IHC-FL's problem (1), and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from covey.errors import BadValue
from covey.grouping.base import Grouping

EQUAL = 1e-6
"""Costs that differ by less than this part are taken as equal."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options of `topology`, which says what each means."""

    groups: int | None
    min_size: int | None
    max_size: int | None
    method: Literal["search", "exact", "paper"]
    degree: int
    epsilon: float | None
    gamma: float | None
    between: Literal["clusters", "heads"]
    once: bool
    seconds: float

    def __post_init__(self) -> None:
        if self.method not in ("search", "exact", "paper"):
            raise BadValue("method", self.method, "'search', 'exact' or 'paper'")
        if self.between not in ("clusters", "heads"):
            raise BadValue("between", self.between, "'clusters' or 'heads'")
        if self.degree < 2:
            raise BadValue("degree", self.degree, "a whole number from 2 up")
        for name, threshold in (("epsilon", self.epsilon), ("gamma", self.gamma)):
            if threshold is not None and not threshold >= 0:
                raise BadValue(name, threshold, "a number from 0 up")
        if not self.seconds > 0:
            raise BadValue("seconds", self.seconds, "a number above 0")


@dataclass(frozen=True)
class Topology:
    """Clusters, heads and links, and how good they are.

    `objective` is the sum of all costs, `bound` what no answer with the same thresholds costs less than (a rough one
    for fleets solved in blocks). `gamma` is the threshold that was used: `asked_gamma`, or more where that has no
    answer. `far_links` counts links between clusters that, averaged, are farther apart than gamma.
    """

    grouping: Grouping
    objective: float
    bound: float
    epsilon: float
    gamma: float
    asked_gamma: float
    far_links: int
    method: str

    @property
    def gap(self) -> float:
        """By which part of the objective it could be lower at most."""
        return max(self.objective - self.bound, 0.0) / self.objective if self.objective else 0.0

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """`optimal` if nothing is left to gain, else `feasible`."""
        return "optimal" if self.gap <= EQUAL else "feasible"
