"""FL+HC: FedAvg, then one hierarchical clustering of the clients' updates, then FedAvg in every cluster.

Briggs, Fan, Andras, "Federated learning with hierarchical clustering of local updates to improve training on non-IID
data", IJCNN 2020, Algorithm 1. n is `after`. HFL is what IHC-FL (Shih, Kuo, Sheu 2023) compares with: the same, and
every `global_every` rounds all cluster models are averaged.

Departures: the update that is clustered is that of the last common round, where the paper trains everybody once more.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.common import Sample, sampled
from covey.algorithms.updates import rows
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Forest, Mesh, Star, Train


@ALGORITHMS.register("fl-hc", paper="Briggs et al. 2020")
@settings
class FLHC(Algorithm):
    """A star until the clients are clustered, then a star per cluster."""

    sketch: ClassVar[str] = "Forest(Star(Train))"

    keeps_updates: ClassVar[bool] = True

    after: Annotated[int, Field(ge=1, description="rounds of FedAvg before clients are clustered")] = 10
    metric: Annotated[
        Literal["l1", "l2", "cosine"], Field(description="distance between updates: l1, l2 or cosine")
    ] = "l1"
    linkage: Annotated[
        Literal["ward", "complete", "average", "single"],
        Field(description="distance between clusters: ward, complete, average or single"),
    ] = "complete"
    threshold: Annotated[
        float | None, Field(gt=0, description="clusters farther apart stay apart; `clusters` decides unless given")
    ] = None
    clusters: Annotated[int, Field(ge=1, description="number of clusters")] = 4
    sample: Sample = 1.0
    global_every: Annotated[int, Field(ge=0, description="rounds between global averages; 0 is never")] = 0

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Everybody in one cluster."""
        return {"clusters": [list(range(fleet.clients))]}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Mesh | Forest:
        """FedAvg in every cluster; all mixed with all where a global average is due."""
        share = 1.0 if round == self.after else self.sample
        groups = sampled(state["clusters"], fleet, share, rng)
        slots = [k for k, members in enumerate(groups) if members]
        stars = [Star(Train(i) for i in groups[k]) for k in slots]
        if self.global_every and round % self.global_every == 0:
            return Mesh(stars, [(a, b) for b in range(len(stars)) for a in range(b)], weights="samples", slots=slots)
        return Forest(stars, slots=slots)

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Cluster once; every cluster goes on from the common model."""
        if outcome.round != self.after:
            return state
        fleet = outcome.fleet
        by = {"threshold": self.threshold} if self.threshold else {"groups": min(self.clusters, fleet.clients)}
        found = group(
            "fl-hc",
            fleet.labels,
            updates=rows(outcome, range(fleet.clients)),
            metric=self.metric,
            linkage=self.linkage,
            rng=rng,
            **by,
        )
        outcome.models = outcome.models[:1] * len(found)
        outcome.home = found.of(fleet.clients)
        return {"clusters": [list(members) for members in found]}


ALGORITHMS.add(
    "hfl",
    FLHC,
    summary="FL+HC with a global average every `global_every` rounds.",
    paper="IHC-FL's baseline, after Briggs et al. 2020",
    settings={"global_every": 5},
)
