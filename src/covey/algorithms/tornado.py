"""TornadoAggregate: rings with low variance, by grouping, small rings and many chains.

Lee et al., "TornadoAggregate: Accurate and Scalable Federated Learning via the Ring-Based Architecture", 2020,
Algorithms 1 and 2 and Appendix D; defaults are those of Table 4. |G| is `groups`, C is `chains`; a global round is
tau1 tau2 epochs: every chain of Tornado spends it in one group, every chain of Tornadoes and Tornado-rings passes
`tau2` nodes of its own. 100 clients are sampled a round, for Tornado-rings once; groups are formed of all.

Departures: a group has at most ceil(N/|G|) nodes (IID grouping can collapse without that). Algorithm 2 line 12 would
average models of nodes that did not train: only chains vote, by the samples of the node each has just left. Chains of
Tornado-rings meet once a round in their group, where the letter never lets them meet. Clients that are awake in
windows only are visited window by window; Tornado then forms its groups within the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from covey.algorithms.architecture import merged_chains
from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.common import Chains, GroupCount, Sample, Tau1, Tau2, model_per_group, sampled, some_of
from covey.algorithms.rings import evaluate_mean, samples_of, visited
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Forest, Plan, Ring, Star, Train, edge

PAPER = "TornadoAggregate"


@ALGORITHMS.register("tornado", paper=PAPER)
@settings
class Tornado(Algorithm):
    """RING-stars: IID groups that average tau2 times and hand the model on; as many chains as groups."""

    sketch: ClassVar[str] = "Forest(Star(Train))"

    groups: GroupCount = 2
    chains: Chains = 2
    tau1: Tau1 = 10
    tau2: Tau2 = 10
    sample: Sample = 100

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Group_By_IID, and a seed for the ring."""
        return {"groups": _grouped("emd-iid", self.groups, fleet, rng), "seed": int(rng.integers(2**31))}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Forest:
        """Algorithm 1: chain c is in the group c places ahead on the ring of groups."""
        groups, key = state["groups"], [state["seed"], 0]
        windows = None if fleet.window_of is None else np.array([fleet.window_of[members[0]] for members in groups])
        stars = []
        for c in range(min(self.chains, len(groups))):
            (k,) = visited(range(len(groups)), first=round - 1, count=1, chain=c, key=key, windows=windows)
            taken = some_of(groups[k], fleet, self.sample, rng)
            stars.append(Star((Train(i, self.tau1) for i in taken), rounds=self.tau2, at=edge(k)))
        return Forest(stars)

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Chains live on; their mean is tested."""
        evaluate_mean(outcome, min(self.chains, len(state["groups"])))
        return state


@ALGORITHMS.register("tornadoes", paper=PAPER)
@settings
class Tornadoes(Algorithm):
    """STAR-rings: many small rings of similar clients, many chains on each, and a global mean."""

    sketch: ClassVar[str] = "Star(Star(Ring(Train)))"

    groups: GroupCount = 10
    chains: Chains = 10
    tau1: Tau1 = 10
    tau2: Tau2 = 10
    sample: Sample = 100

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Cluster, and a seed for the rings."""
        return {"groups": _grouped("emd-cluster", self.groups, fleet, rng), "seed": int(rng.integers(2**31))}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """Algorithm 2: the chains of every group start from the global model and meet again after tau2 nodes."""
        groups = sampled(state["groups"], fleet, self.sample, rng)
        rings = [self.rings(k, g, round, fleet, state) for k, g in enumerate(groups) if g]
        return Star(rings, weights=samples_of([g for g in groups if g], fleet))

    def rings(self, k: int, members: Sequence[int], round: int, fleet: Fleet, state: State) -> Plan:
        """The chains of group k in this round, merged where they are several."""
        trains = [Train(i, self.tau1) for i in members]
        windows = None if fleet.window_of is None else fleet.window_of[list(members)]
        first, key = (round - 1) * self.tau2, [state["seed"], k + 1]
        return merged_chains(
            [
                Ring(visited(trains, first=first, count=self.tau2, chain=c, key=key, windows=windows))
                for c in range(min(self.chains, len(trains)))
            ],
            fleet,
            k,
        )


@ALGORITHMS.register("tornado-rings", paper=PAPER)
@settings
class TornadoRings(Tornadoes):
    """rings: as Tornadoes without the global mean; every group keeps a model of its own."""

    sketch: ClassVar[str] = "Forest(Star(Ring(Train)))"

    tau1: Tau1 = 100
    tau2: Tau2 = 1

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Cluster; clients are sampled once."""
        state = super().start(fleet, rng)
        return {**state, "sampled": sampled(state["groups"], fleet, self.sample, rng)}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Forest:
        """Algorithm 2 without its lines 12 and 13."""
        slots = [k for k, g in enumerate(state["sampled"]) if g]
        rings = [self.rings(k, state["sampled"][k], round, fleet, state) for k in slots]
        return Forest(rings, slots=slots)

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Every group has a model from the start, and its clients are tested with it, sampled or not."""
        if outcome.round == 0:
            model_per_group(outcome, state["groups"])
        return state


def _grouped(name: str, groups: int, fleet: Fleet, rng: np.random.Generator) -> list[list[int]]:
    """The groups of all clients, or, for IID groups of clients that are awake in windows, of every window's."""
    if fleet.window_of is None or name == "emd-cluster":
        found = group(name, fleet.labels, groups=min(groups, fleet.clients), rng=rng)
        return [list(members) for members in found]
    windows = [np.flatnonzero(fleet.window_of == w) for w in np.unique(fleet.window_of)]
    each = max(1, groups // len(windows))
    parts = [group(name, fleet.labels[w], groups=min(each, len(w)), rng=rng).renamed(w) for w in windows]
    return [list(members) for part in parts for members in part]
