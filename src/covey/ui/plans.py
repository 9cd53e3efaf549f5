"""The plan editor: a tree of Star, Ring, Mesh and Forest from the page, drawn, counted and priced."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, count
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from covey.errors import BadValue
from covey.plan import Forest, Mesh, Place, Plan, Ring, Star, Train, client, cloud, edge, leaves, sketch, trainings
from covey.plan import transfers as transfers_of
from covey.report.tree import tree

MOST_CLIENTS, MOST_TRAININGS, DEEPEST = 1000, 20_000, 6


class Node(BaseModel):
    """A node of the tree, `times` of it side by side; every Train is a client of its own."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["train", "star", "ring", "mesh", "forest"]
    times: int = Field(1, ge=1, le=MOST_CLIENTS)
    rounds: int = Field(1, ge=1, le=100)
    at: Literal["cloud", "edge", "head"] = "cloud"
    links: Literal["ring", "all"] = "ring"
    epochs: int | None = Field(None, ge=1, le=1000)
    children: list[Node] = Field(default_factory=list, max_length=20)


class Asked(BaseModel):
    """A plan, and what it is priced on."""

    model_config = ConfigDict(extra="forbid")

    plan: Node
    network: str = Field("star", max_length=40, pattern=r"^[a-z-]+(:[0-9.,]+)?$")
    link: str = Field("10MB/s,1ms", max_length=40)
    device: str = Field("phone-5gflops", max_length=60, pattern=r"^[A-Za-z0-9.-]+$")
    samples: int = Field(100, ge=1, le=10**6)
    parameters: int = Field(100_000, ge=1, le=10**10)
    flops: float = Field(1e6, gt=0, le=1e15)


def priced(asked: Asked) -> dict[str, Any]:
    """The drawing, the traffic and the price."""
    if asked.plan.times != 1:
        raise BadValue("times", asked.plan.times, "1 at the root: a round has one plan")
    (plan,) = _nodes(asked.plan, count(), count(), 0)
    clients = max(leaf.client for leaf in leaves(plan)) + 1
    if trainings(plan) > MOST_TRAININGS:
        raise BadValue("trainings", trainings(plan), f"at most {MOST_TRAININGS:,} a round here")
    drawn = tree(plan)
    return {
        "sketch": sketch(plan),
        "text": str(plan),
        "drawing": drawn.svg(),
        "clients": clients,
        "trainings": trainings(plan),
        "transfers": {f"{a} to {b}": number for (a, b), number in sorted(transfers_of(plan).items())},
        "bytes": 4 * asked.parameters * transfers_of(plan).total(),
        **_cost(plan, clients, asked),
    }


def _cost(plan: Plan, clients: int, asked: Asked) -> dict[str, Any]:
    from covey.fleet import Fleet
    from covey.network.price import price
    from covey.network.site import make_site
    from covey.report.wires import load, timeline

    edges = 1 + max((place.number for place in _places(plan) if place.kind == "edge"), default=0)
    edge_of = np.arange(clients) * min(edges, clients) // clients
    fleet = Fleet(np.full((clients, 1), asked.samples), edge_of=edge_of)
    site = make_site(
        fleet,
        network=asked.network,
        link=asked.link,
        device=asked.device,
        flops=asked.flops,
        model_bytes=4.0 * asked.parameters,
    )
    cost = price(plan, site, timeline=True)
    network = load(site.placement, cost.carried)
    order = (leaf.client for leaf in leaves(plan))
    return {
        "price": cost.figures(),
        "timeline": timeline(cost.timeline, order, cost.seconds).svg(),
        "network": None if network is None else network.svg(),
    }


def _nodes(node: Node, clients: Iterator[int], edges: Iterator[int], depth: int) -> list[Plan]:
    """The node, as often as it says."""
    if depth > DEEPEST:
        raise BadValue("depth", depth, f"at most {DEEPEST}")
    made: list[Plan] = []
    for _ in range(node.times):
        if node.kind == "train":
            number = next(clients)
            if number >= MOST_CLIENTS:
                raise BadValue("clients", number + 1, f"at most {MOST_CLIENTS:,} here")
            made.append(Train(number, epochs=node.epochs))
            continue
        if not node.children:
            raise BadValue(node.kind, "empty", "one with something inside")
        here = edge(next(edges)) if node.kind == "star" and node.at == "edge" else cloud
        inside = [plan for child in node.children for plan in _nodes(child, clients, edges, depth + 1)]
        made.append(_made(node, inside, here))
    return made


def _made(node: Node, inside: list[Plan], here: Place) -> Plan:
    if node.kind == "ring":
        return Ring(inside)
    if node.kind == "forest":
        return Forest(inside)
    if node.kind == "mesh":
        near = [(k, (k + 1) % len(inside)) for k in range(len(inside))]
        pairs = combinations(range(len(inside)), 2) if node.links == "all" else near
        return Mesh(inside, links=sorted({(min(a, b), max(a, b)) for a, b in pairs if a != b}))
    if node.at == "head":
        here = client(next(leaves(inside[0])).client)
    return Star(inside, rounds=node.rounds, at=here)


def _places(plan: Plan) -> Iterator[Place]:
    if isinstance(plan, Train):
        return
    if isinstance(plan, Star):
        yield plan.at
    for child in plan.children:
        yield from _places(child)
