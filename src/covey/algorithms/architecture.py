"""The eight architectures as one algorithm: star or ring, flat or in groups, with or without a global model.

Lee et al., "TornadoAggregate: Accurate and Scalable Federated Learning via the Ring-Based Architecture", 2020,
Definitions 1 to 8. tau1 is `tau1` local epochs; tau2 is `tau2` group rounds of stars.

A ring is passed once a round unless `hops` says how many nodes its chains visit. Chains that end in a star are merged
there by the samples of the nodes they have just left; chains of a global ring live on from round to round and their
mean is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.common import Chains, Groups, Sample, Tau1, Tau2, awake
from covey.algorithms.rings import evaluate_mean, visited
from covey.errors import BadValue
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Forest, Plan, Ring, Star, Train, edge

Shape = Literal["star", "ring", "star-stars", "star-rings", "ring-stars", "ring-rings", "stars", "rings"]
PAPER = "TornadoAggregate"
SKETCHES: dict[Shape, str] = {
    "star": "Star(Train)",
    "ring": "Ring(Train)",
    "star-stars": "Star(Star(Train))",
    "star-rings": "Star(Ring(Train))",
    "ring-stars": "Ring(Star(Train))",
    "ring-rings": "Ring(Ring(Train))",
    "stars": "Forest(Star(Train))",
    "rings": "Forest(Ring(Train))",
}


@ALGORITHMS.register("architecture", paper=PAPER)
@settings
class Architecture(Algorithm):
    """Any of the eight architectures over any grouping."""

    sketch: ClassVar[str] = "any of the eight"

    shape: Annotated[Shape, Field(description="which of the eight architectures")] = "star-stars"
    grouping: Annotated[str, Field(description="how clients are grouped")] = "random"
    groups: Groups = 5
    tau1: Tau1 = None
    tau2: Tau2 = 1
    hops: Annotated[int | None, Field(ge=1, description="nodes a ring visits in a round; all unless given")] = None
    chains: Chains = 1
    sample: Sample = 1.0

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
        groups = awake(state["groups"], fleet, self.sample, rng)
        slots = [k for k, members in enumerate(groups) if members]
        if self.shape == "ring":
            trains = [Train(i, self.tau1) for i in groups[0]]
            return _chained(self._rings(trains, groups[0], 0, round, fleet, state))
        inner = [self._inner(k, groups[k], round, fleet, state) for k in slots]
        if self.shape == "star":
            return inner[0]
        if self.shape in ("stars", "rings"):
            return Forest(inner, slots=slots)
        if self.shape.startswith("star-"):
            return Star(inner)
        return _chained(self._rings(inner, None, 0, round, fleet, state))

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Chains of a global ring are tested by their mean."""
        nodes = outcome.fleet.clients if self.shape == "ring" else len(state["groups"])
        if self.shape.startswith("ring") and self.shape != "rings" and min(self.chains, nodes) > 1:
            evaluate_mean(outcome, min(self.chains, nodes))
        return state

    def _inner(self, k: int, members: list[int], round: int, fleet: Fleet, state: State) -> Plan:
        """What happens inside group k: a star, or a ring with its chains."""
        trains = [Train(i, self.tau1) for i in members]
        if self.shape == "star":
            return Star(trains, rounds=self.tau2)
        if self.shape.endswith("stars"):
            return Star(trains, rounds=self.tau2, at=edge(k))
        rings = self._rings(trains, members, k + 1, round, fleet, state)
        if self.shape == "ring-rings":
            return rings[0]
        return merged_chains(rings, fleet, k)

    def _rings(
        self,
        nodes: Sequence[Plan],
        members: list[int] | None,
        ring: int,
        round: int,
        fleet: Fleet,
        state: State,
    ) -> list[Ring]:
        """The chains of one ring in this round; a ring of clients follows the sun."""
        windows = None if members is None or fleet.window_of is None else fleet.window_of[members]
        count = len(nodes) if self.hops is None else self.hops
        return [
            Ring(
                visited(
                    nodes, first=(round - 1) * count, count=count, chain=c, key=[state["seed"], ring], windows=windows
                )
            )
            for c in range(min(self.chains, len(nodes)))
        ]


def merged_chains(rings: Sequence[Ring], fleet: Fleet, k: int) -> Plan:
    """One chain is a ring; several meet at the edge of group k, weighted by the samples of the nodes they left."""
    if len(rings) == 1:
        return rings[0]
    left = [leaf.client for ring in rings for leaf in ring.children[-1:] if isinstance(leaf, Train)]
    return Star(rings, at=edge(k), weights=[max(1, int(fleet.sizes[i])) for i in left])


def _chained(rings: Sequence[Ring]) -> Plan:
    """One chain is a ring; several keep a model each."""
    return rings[0] if len(rings) == 1 else Forest(rings)


def _preset(
    name: str,
    fixed: Shape,
    summary: str,
    *,
    grouping_: str = "random",
    groups_: int = 5,
    hops_: int | None = None,
) -> None:
    """Register an architecture under a name of its own, so that `covey run star-rings` needs no setting."""

    @settings
    class Preset(Architecture):
        shape: Annotated[Shape, Field(description="fixed by the name")] = fixed
        grouping: Annotated[str, Field(description="how clients are grouped")] = grouping_
        groups: Groups = groups_
        hops: Annotated[int | None, Field(ge=1, description="nodes a ring visits in a round; all if none")] = hops_

        def __post_init__(self) -> None:
            if self.shape != fixed:
                raise BadValue("shape", self.shape, f"{fixed!r}, as the name says; 'architecture' takes any")

    Preset.__name__ = Preset.__qualname__ = "".join(part.title() for part in name.split("-")) + "Architecture"
    Preset.__doc__ = summary
    Preset.sketch = SKETCHES[fixed]
    ALGORITHMS.add(name, Preset, paper=PAPER)


_preset("star", "star", "STAR: everybody trains in parallel, the cloud averages.")
_preset("ring", "ring", "RING: the model is handed from client to client.")
_preset("star-stars", "star-stars", "STAR-stars: groups average tau2 times, then the cloud averages the groups.")
_preset("star-rings", "star-rings", "STAR-rings: a ring in every group, then the cloud averages the groups.")
_preset("ring-stars", "ring-stars", "RING-stars: groups average, and hand the model on from group to group.")
_preset("ring-rings", "ring-rings", "RING-rings: a ring in every group, and a ring of groups.")
_preset("stars", "stars", "stars: every group averages for itself, with no global model.")
_preset("rings", "rings", "rings: a ring in every group, with no global model.")

# what TornadoAggregate's Tables 2 and 4 make of the systems it compares with
_preset("tornado-hierfavg", "star-stars", "TornadoAggregate's HierFAVG: STAR-stars over 5 random groups.")
_preset(
    "tornado-astraea",
    "star-rings",
    "TornadoAggregate's Astraea: STAR-rings over 2 IID groups, no augmentation.",
    grouping_="emd-iid",
    groups_=2,
)
_preset(
    "tornado-mm-psgd",
    "ring-stars",
    "TornadoAggregate's MM-PSGD: RING-stars over 10 clusters, one a round.",
    grouping_="emd-cluster",
    groups_=10,
    hops_=1,
)
_preset(
    "tornado-ifca",
    "stars",
    "TornadoAggregate's IFCA: stars over 10 clusters that stay as they are.",
    grouping_="emd-cluster",
    groups_=10,
)
_preset("tornado-semicyclic", "rings", "TornadoAggregate's SemiCyclic: rings over 5 random groups.")
