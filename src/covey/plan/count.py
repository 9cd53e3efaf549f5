"""Counting off a plan: who takes part, how often clients train, how many models travel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from covey.errors import BadPlan
from covey.plan.nodes import Forest, Mesh, Place, Plan, Ring, Star, Train, client, cloud


def leaves(plan: Plan) -> Iterator[Train]:
    """Every Train in the tree, left to right, once however many rounds it is run."""
    if isinstance(plan, Train):
        yield plan
    else:
        for child in plan.children:
            yield from leaves(child)


def clients(plan: Plan) -> set[int]:
    """Who takes part.

    >>> sorted(clients(Star([Train(4), Ring([Train(1), Train(4)])])))
    [1, 4]
    """
    return {leaf.client for leaf in leaves(plan)}


def trainings(plan: Plan) -> int:
    """How many times a client trains in this plan.

    >>> trainings(Star([Star([Train(0), Train(1)], rounds=3), Train(2)], rounds=2))
    14
    """
    if isinstance(plan, Train):
        return 1
    return getattr(plan, "rounds", 1) * sum(map(trainings, plan.children))


def epochs(plan: Plan, usual: int) -> int:
    """The local epochs of the longest chain of trainings one after another; a Train that names none has `usual`.

    >>> epochs(Star([Ring([Train(0, 2), Train(1)]), Train(2)], rounds=5), usual=1)  # 5 x (2 + 1)
    15
    """
    if isinstance(plan, Train):
        return plan.epochs or usual
    inside = [epochs(child, usual) for child in plan.children]
    if isinstance(plan, Ring):
        return sum(inside)
    return max(inside) * getattr(plan, "rounds", 1)


def starts_at(plan: Plan) -> Place:
    """Where a model must be for this plan to start on it."""
    if isinstance(plan, Train):
        return client(plan.client)
    return starts_at(plan.children[0]) if isinstance(plan, Ring) else plan.at


def ends_at(plan: Plan) -> Place:
    """Where this plan leaves its model."""
    if isinstance(plan, Train):
        return client(plan.client)
    return ends_at(plan.children[-1]) if isinstance(plan, Ring) else plan.at


def transfers(plan: Plan) -> Counter[tuple[str, str]]:
    """How many models travel within one round, by kind of place they leave and reach, both ways.

    What stays where it is costs nothing: a head that trains for its own group sends itself no model. The models of a
    Mesh or Forest at the root stay where their children are; inside another node they come from and go to its `at`.

    >>> transfers(Star([Train(0), Train(1)], rounds=5))
    Counter({('cloud', 'client'): 10, ('client', 'cloud'): 10})
    """
    count: Counter[tuple[str, str]] = Counter()
    _transfers(plan, 1, count, root=True)
    return +count


def _transfers(plan: Plan, times: int, count: Counter[tuple[str, str]], *, root: bool = False) -> None:
    def send(source: Place, target: Place) -> None:
        if source != target:
            count[source.kind, target.kind] += times

    if isinstance(plan, Train):
        return
    if isinstance(plan, Ring):
        for before, after in pairwise(plan.children):
            source, target = ends_at(before), starts_at(after)
            if plan.via is not None and source != target:
                send(source, plan.via)
                source = plan.via
            send(source, target)
    if isinstance(plan, Mesh):
        for a, b in plan.links:
            send(ends_at(plan.children[a]), ends_at(plan.children[b]))
            send(ends_at(plan.children[b]), ends_at(plan.children[a]))
    if isinstance(plan, Star):
        times *= plan.rounds
    if isinstance(plan, Star) or (isinstance(plan, Mesh | Forest) and not root):
        for child in plan.children:
            send(plan.at, starts_at(child))
            send(ends_at(child), plan.at)
    for child in plan.children:
        _transfers(child, times, count)


def check(plan: Plan, fleet_size: int) -> None:
    """Refuse a plan that names a client the fleet does not have, to train, to relay models or where models meet."""
    at = getattr(plan, "via" if isinstance(plan, Ring) else "at", None) or cloud
    place = client(plan.client) if isinstance(plan, Train) else at
    if place.kind == "client" and place.number >= fleet_size:
        raise BadPlan(f"the plan names client {place.number}; the fleet has clients 0 to {fleet_size - 1}")
    for child in plan.children:
        check(child, fleet_size)
