"""The eight architectures as one algorithm: star or ring, flat or in groups, with or without a global model.

Lee et al., "TornadoAggregate: Accurate and Scalable Federated Learning via the Ring-Based Architecture", 2020,
Definitions 1 to 8. tau1 is `tau1` local epochs; tau2 is `tau2` group rounds of stars.

A ring is passed once a round unless `hops` says how many nodes its chains visit. Chains that end in a star are merged
there by the samples of the nodes they have just left; chains of a global ring live on from round to round and their
mean is evaluated. The cloud of STAR-rings weighs a group by the samples of its clients, |D^k|, however many of them its
ring has visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.common import Chains, GroupCount, Sample, Tau1, Tau2, model_per_group, sampled
from covey.algorithms.rings import evaluate_mean, samples_of, visited
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

    shape: Annotated[Shape, Field(description="which of the eight architectures")] = "star-stars"
    grouping: Annotated[str, Field(description="how clients are grouped")] = "random"
    groups: GroupCount = 5
    tau1: Tau1 = None
    tau2: Tau2 = 1
    hops: Annotated[int | None, Field(ge=1, description="nodes a ring visits in a round; all unless given")] = None
    chains: Chains = 1
    sample: Sample = 1.0
    once: Annotated[bool, Field(description="sample clients before the first round, for all rounds")] = False

    @property
    def sketch(self) -> str:
        """The plan of a round in short; chains of a group meet at its edge, those of all clients keep a model each."""
        plan = SKETCHES[self.shape]
        if self.chains == 1:
            return plan
        if self.shape in ("star-rings", "rings"):
            return plan.replace("Ring(Train)", "Star(Ring(Train))")
        return f"Forest({plan})" if plan.startswith("Ring") else plan

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Group once; keep a seed for the rings' orders and, with `once`, who is sampled."""
        if self.shape in ("star", "ring"):
            groups = [list(range(fleet.clients))]
        else:
            given = self.grouping == "edge" or self.grouping.startswith("file:")
            wanted = None if given else min(self.groups, fleet.clients)
            found = group(self.grouping, fleet.labels, groups=wanted, rng=rng, edges=fleet.edge_of, names=fleet.called)
            groups = [list(members) for members in found]
        state: State = {"groups": groups, "seed": int(rng.integers(2**31))}
        return {**state, "sampled": sampled(groups, fleet, self.sample, rng)} if self.once else state

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """The outer architecture over the inner ones."""
        groups = state["sampled"] if self.once else sampled(state["groups"], fleet, self.sample, rng)
        slots = [k for k, members in enumerate(groups) if members]
        if self.shape == "ring":
            trains = [Train(i, self.tau1) for i in groups[0]]
            return _chained(self._rings(trains, groups[0], 0, round, fleet, state))
        inner = [self._inner(k, groups[k], round, fleet, state) for k in slots]
        if self.shape == "star":
            return inner[0]
        if self.shape in ("stars", "rings"):
            return Forest(inner, slots=slots)
        if self.shape == "star-stars":
            return Star(inner)
        if self.shape == "star-rings":
            return Star(inner, weights=samples_of([groups[k] for k in slots], fleet))
        return _chained(self._rings(inner, None, 0, round, fleet, state))

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """A model per group where groups keep to themselves; chains of a global ring are tested by their mean."""
        if self.shape in ("stars", "rings") and outcome.round == 0:
            model_per_group(outcome, state["groups"])
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


def _named(shape: Shape, summary: str) -> None:
    """Register a shape under its own name, so that `covey run star-rings` needs no setting."""
    ALGORITHMS.add(shape, Architecture, summary=summary, paper=PAPER, settings={"shape": shape}, fixed=("shape",))


_named("star", "STAR: everybody trains in parallel, the cloud averages.")
_named("ring", "RING: the model is handed from client to client.")
_named("star-stars", "STAR-stars: groups average tau2 times, then the cloud averages the groups.")
_named("star-rings", "STAR-rings: a ring in every group, then the cloud averages the groups.")
_named("ring-stars", "RING-stars: groups average, and hand the model on from group to group.")
_named("ring-rings", "RING-rings: a ring in every group, and a ring of groups.")
_named("stars", "stars: every group averages for itself, with no global model.")
_named("rings", "rings: a ring in every group, with no global model.")


def _table_4(name: str, shape: Shape, summary: str, **given: Any) -> None:
    """Register what TornadoAggregate's Tables 2 and 4 make of a system it compares with; 100 clients are sampled."""
    ALGORITHMS.add(
        f"tornado-{name}",
        Architecture,
        summary=f"TornadoAggregate's {summary}",
        paper=PAPER,
        settings={"shape": shape, "sample": 100, **given},
        fixed=("shape",),
    )


_table_4("fedavg", "star", "FedAvg: STAR, 100 local epochs.", tau1=100)
_table_4("hierfavg", "star-stars", "HierFAVG: STAR-stars over 5 random groups.", groups=5, tau1=10, tau2=10)
_table_4(
    "astraea",
    "star-rings",
    "Astraea: STAR-rings over 2 IID groups, no augmentation.",
    grouping="emd-iid",
    groups=2,
    tau1=10,
    hops=10,
)
_table_4(
    "mm-psgd",
    "ring-stars",
    "MM-PSGD: RING-stars over 10 clusters, one per round.",
    grouping="emd-cluster",
    groups=10,
    tau1=10,
    tau2=10,
    hops=1,
)
_table_4(
    "ifca",
    "stars",
    "IFCA: stars over 10 clusters that stay as they are, clients sampled once.",
    grouping="emd-cluster",
    groups=10,
    tau1=100,
    once=True,
)
_table_4(
    "semicyclic",
    "rings",
    "SemiCyclic: rings over 5 random groups, clients sampled once, one node per round.",
    groups=5,
    tau1=100,
    hops=1,
    once=True,
)
