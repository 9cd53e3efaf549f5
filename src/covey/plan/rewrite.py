"""Plans rewritten as data: combined aggregation, leaving out clients that are not there, epoch by epoch."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from covey.plan.count import starts_at
from covey.plan.nodes import Forest, Mesh, Place, Plan, Ring, Star, Train, edge


class AtEdges(Protocol):
    """Whoever knows the edge of every client: a `Fleet`, for one."""

    def edge(self, client: int) -> int:
        """The edge that client is attached to."""


def combine(plan: Plan, fleet: AtEdges) -> Plan:
    """Combined aggregation (FedAvg-IC, App. B): what meets in a Star and sits at one edge is averaged there first.

    The same weighted mean with fewer models between edges and the Star's place, both ways. Stars that merge in another
    way than by the mean stay as they are.

    >>> from covey.fleet import Fleet
    >>> fleet = Fleet(labels=[[1], [1], [1]], edge_of=[0, 0, 1])
    >>> print(combine(Star([Train(0), Train(1), Train(2)]), fleet))
    Star at cloud
    ├─ Star at edge 0
    │  └─ Train 0, 1
    └─ Train 2
    """
    if isinstance(plan, Train):
        return plan
    children = tuple(combine(child, fleet) for child in plan.children)
    if not isinstance(plan, Star) or plan.merge not in (None, "mean"):
        return _with_children(plan, children)
    by_edge: dict[int, list[int]] = {}
    for j, child in enumerate(children):
        by_edge.setdefault(_edge(starts_at(child), fleet, alone=-2 - j), []).append(j)
    home = _edge(plan.at, fleet, alone=-1)
    merged: list[Plan] = []
    weights: list[float] = []
    for e, members in by_edge.items():
        shares = [plan.weights[j] for j in members] if plan.weights else None
        if len(members) == 1 or e == home or (shares and not sum(shares)):
            merged += [children[j] for j in members]
            weights += shares or []
        else:
            merged.append(Star([children[j] for j in members], at=edge(e), weights=shares, merge=plan.merge))
            weights.append(sum(shares or ()))
    shares = weights if plan.weights else None
    return Star(merged, rounds=plan.rounds, at=plan.at, weights=shares, merge=plan.merge)


def _edge(place: Place, fleet: AtEdges, *, alone: int) -> int:
    """The edge a place belongs to; the cloud shares an edge with nobody and gets the number `alone`."""
    if place.kind == "client":
        return fleet.edge(place.number)
    return place.number if place.kind == "edge" else alone


def without(plan: Plan, absent: Collection[int]) -> Plan | None:
    """The plan without some clients; nodes left empty vanish, and with the last client the plan itself.

    >>> print(without(Star([Ring([Train(0), Train(1)]), Train(2)]), {0, 2}))
    Star at cloud
    └─ Ring
       └─ Train 1
    """
    if isinstance(plan, Train):
        return None if plan.client in absent else plan
    rewritten = [without(child, absent) for child in plan.children]
    kept = [j for j, child in enumerate(rewritten) if child is not None]
    children = tuple(child for child in rewritten if child is not None)
    if not children:
        return None
    if isinstance(plan, Ring):
        return Ring(children, via=plan.via)
    if isinstance(plan, Star):
        weights = [plan.weights[j] for j in kept] if plan.weights else None
        if weights is not None and sum(weights) <= 0:
            return None
        return Star(children, rounds=plan.rounds, at=plan.at, weights=weights, merge=plan.merge)
    slots = [plan.slots[j] for j in kept]
    if isinstance(plan, Forest):
        return Forest(children, slots=slots, at=plan.at)
    number = {j: new for new, j in enumerate(kept)}
    links = [(number[a], number[b]) for a, b in plan.links if a in number and b in number]
    shares = [plan.weights[j] for j in kept] if isinstance(plan.weights, tuple) else plan.weights
    if isinstance(shares, list) and not sum(shares):  # those who had a share are gone: nobody is left to mix with
        return Mesh(children, (), slots=slots, at=plan.at)
    return Mesh(children, links, weights=shares, slots=slots, at=plan.at)


def _with_children(plan: Star | Ring | Mesh | Forest, children: tuple[Plan, ...]) -> Plan:
    if isinstance(plan, Ring):
        return Ring(children, via=plan.via)
    if isinstance(plan, Forest):
        return Forest(children, slots=plan.slots, at=plan.at)
    if isinstance(plan, Mesh):
        return Mesh(children, plan.links, weights=plan.weights, slots=plan.slots, at=plan.at)
    return Star(children, rounds=plan.rounds, at=plan.at, weights=plan.weights, merge=plan.merge)


def by_epoch(plan: Plan, usual: int) -> Plan:
    """The plan with every training of several epochs as a Ring of trainings of one; `usual` where a Train names none.

    What is learned is the same but for the order of batches, and for optimisers that remember something between steps.

    >>> by_epoch(Train(3, 2), usual=1)
    Ring(children=(Train(client=3, epochs=1, rate=1.0), Train(client=3, epochs=1, rate=1.0)), via=None)
    """
    if isinstance(plan, Train):
        count = plan.epochs or usual
        return (
            Train(plan.client, 1, plan.rate)
            if count == 1
            else Ring(Train(plan.client, 1, plan.rate) for _ in range(count))
        )
    return _with_children(plan, tuple(by_epoch(child, usual) for child in plan.children))
