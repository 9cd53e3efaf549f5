"""What a test knows and a type cannot say, checked: a value is not None, a plan is a Star, a fleet has data."""

from __future__ import annotations

from typing import TypeVar

from covey.fleet import Fleet, FleetData
from covey.plan import Plan, Train

T = TypeVar("T")


def known(value: T | None) -> T:
    """That value, which is not None."""
    assert value is not None
    return value


def a(kind: type[T], thing: object) -> T:
    """That thing, which is of that kind: `a(Star, plan)`."""
    assert isinstance(thing, kind), thing
    return thing


def trains(plan: Plan) -> list[Train]:
    """The children of a plan whose children all are Trains."""
    return [a(Train, child) for child in plan.children]


def order(plan: Plan) -> list[int]:
    """The clients of a plan whose children all are Trains, in their order."""
    return [train.client for train in trains(plan)]


def samples(fleet: Fleet) -> FleetData:
    """The data of a fleet that has some."""
    return known(fleet.data)
