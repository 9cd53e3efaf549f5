"""What a round cost, by whatever measure: seconds on a network, joules, Group-FEL's cost, a privacy budget."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Protocol

from covey.plan import Place, Plan, epochs


@dataclass(frozen=True, eq=False)
class Ran:
    """A round that ran: its plan, from models at the places `where`.

    `failed` are trainings that came to nothing, as (client, visit); `spent` is what all rounds before had cost.
    """

    round: int
    plan: Plan
    where: tuple[Place | None, ...] = (None,)
    failed: Set[tuple[int, int]] = frozenset()
    spent: Mapping[str, float] = field(default_factory=dict)


class Meter(Protocol):
    """Looks at every round that ran, also at one that is tried again."""

    def after(self, ran: Ran) -> Mapping[str, float]:
        """What all rounds up to this one have cost, by name; stored with the round's metrics."""


class EpochMeter:
    """The epochs that have been trained one after another, over which papers draw accuracy; `usual`: of a Train."""

    def __init__(self, usual: int) -> None:
        self.usual = usual

    def after(self, ran: Ran) -> dict[str, float]:
        """The epochs with this round's."""
        return {"epochs": ran.spent.get("epochs", 0.0) + epochs(ran.plan, self.usual)}
