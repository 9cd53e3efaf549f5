"""The eight architectures as one algorithm: star or ring, flat or in groups, with or without a global model.

Lee et al., "TornadoAggregate: Accurate and Scalable Federated Learning via the Ring-Based Architecture", 2020,
Definitions 1 to 8. tau1 is `tau1` local epochs; tau2 is `tau2` group rounds of stars.

A ring is passed once a round unless `hops` says how many nodes its chains visit; the order is a random permutation,
reshuffled after every full pass, and chain c is c nodes ahead. (Algorithm 2's (i_j + c) mod |N^k| need not be a member
of the group.) Chains that end in a star are merged there by the samples of the nodes they have just left; chains of a
global ring live on from round to round and only their mean is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.errors import BadValue
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Forest, Plan, Ring, Star, Train, edge
from covey.sampling import sample_clients

Shape = Literal["star", "ring", "star-stars", "star-rings", "ring-stars", "ring-rings", "stars", "rings"]
PAPER = "TornadoAggregate"


@ALGORITHMS.register("architecture", paper=PAPER)
@settings
class Architecture(Algorithm):
    """Any of the eight architectures over any grouping."""

    shape: Annotated[Shape, Field(description="which of the eight architectures")] = "star-stars"
    grouping: Annotated[str, Field(description="how clients are grouped")] = "random"
    groups: Annotated[int, Field(ge=1, description="number of groups |G|; grouping by edge ignores it")] = 5
    tau1: Annotated[int | None, Field(ge=1, description="local epochs; the run's setting unless given")] = None
    tau2: Annotated[int, Field(ge=1, description="rounds of a group's star in a global round")] = 1
    hops: Annotated[int | None, Field(ge=1, description="nodes a ring visits in a round; all unless given")] = None
    chains: Annotated[int, Field(ge=1, description="chains of a ring")] = 1
    sample: Annotated[float, Field(gt=0, le=1, description="share of the clients that take part in a round")] = 1.0

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Group once; keep a seed for the rings' orders."""
        if self.shape in ("star", "ring"):
            groups = [list(range(fleet.clients))]
        else:
            wanted = None if self.grouping == "edge" else min(self.groups, fleet.clients)
            found = group(self.grouping, fleet.labels, groups=wanted, rng=rng, edges=fleet.edge_of)
            groups = [list(members) for members in found]
        return {"groups": groups, "seed": int(rng.integers(2**31))}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """The outer architecture over the inner ones."""
        awake = set(sample_clients(fleet, self.sample, rng))
        groups = [[i for i in members if i in awake] for members in state["groups"]]
        inner = [self._inner(k, g, round, fleet, state["seed"]) for k, g in enumerate(groups) if g]
        slots = [k for k, g in enumerate(groups) if g]
        if self.shape == "star":
            return inner[0]
        if self.shape in ("stars", "rings"):
            return Forest(inner, slots=slots)
        if self.shape.startswith("star-"):
            return Star(inner)
        if self.shape == "ring":
            return _chains(inner[0].children) if isinstance(inner[0], Forest) else inner[0]
        chains = min(self.chains, len(inner))
        orders = [_visit(inner, round - 1 + c, len(inner), state["seed"], -1) for c in range(chains)]
        return _chains([Ring(order) for order in orders])

    def _inner(self, k: int, members: list[int], round: int, fleet: Fleet, seed: int) -> Plan:
        """What happens inside group k: a star, or a ring with its chains."""
        trains = [Train(i, self.tau1) for i in members]
        if self.shape in ("star", "stars") or self.shape.endswith("-stars"):
            flat = self.shape == "star"
            return Star(trains, rounds=self.tau2) if flat else Star(trains, rounds=self.tau2, at=edge(k))
        hops = len(members) if self.hops is None else self.hops
        chains = min(self.chains, len(members)) if self.shape != "ring-rings" else 1
        first = (round - 1) * hops
        rings = [Ring(_visit(trains, first + c, hops, seed, k)) for c in range(chains)]
        if chains == 1:
            return rings[0]
        if self.shape == "ring":
            return Forest(rings)
        left = [leaf.client for ring in rings for leaf in ring.children[-1:] if isinstance(leaf, Train)]
        return Star(rings, at=edge(k), weights=[int(fleet.sizes[i]) for i in left])


def _visit(nodes: Sequence[Plan], first: int, count: int, seed: int, k: int) -> list[Plan]:
    """The nodes at positions first, first + 1, … of a ring that is reshuffled after every full pass."""
    visited: list[Plan] = []
    for position in range(first, first + count):
        lap, spot = divmod(position, len(nodes))
        order = np.random.default_rng([seed, k + 1, lap]).permutation(len(nodes))
        visited.append(nodes[order[spot]])
    return visited


def _chains(rings: Sequence[Plan]) -> Plan:
    """One chain is a ring; several keep a model each."""
    return rings[0] if len(rings) == 1 else Forest(rings)


def _preset(name: Shape, summary: str) -> None:
    """Register an architecture under its own name, so that `covey run star-rings` needs no setting."""

    @settings
    class Preset(Architecture):
        shape: Annotated[Shape, Field(description="fixed by the name")] = name

        def __post_init__(self) -> None:
            if self.shape != name:
                raise BadValue("shape", self.shape, f"{name!r}, as the name says; 'architecture' takes any")

    Preset.__name__ = Preset.__qualname__ = "".join(part.title() for part in name.split("-")) + "Architecture"
    Preset.__doc__ = summary
    ALGORITHMS.add(name, Preset, paper=PAPER)


_preset("star", "STAR: everybody trains in parallel, the cloud averages.")
_preset("ring", "RING: the model is handed from client to client.")
_preset("star-stars", "STAR-stars: groups average tau2 times, then the cloud averages the groups.")
_preset("star-rings", "STAR-rings: a ring in every group, then the cloud averages the groups.")
_preset("ring-stars", "RING-stars: groups average, and hand the model on from group to group.")
_preset("ring-rings", "RING-rings: a ring in every group, and a ring of groups.")
_preset("stars", "stars: every group averages for itself, with no global model.")
_preset("rings", "rings: a ring in every group, with no global model.")
