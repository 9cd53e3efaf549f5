"""FedCLAR: federated training first, then clusters of clients whose last layers are alike, each with its own model.

Presotto et al., "FedCLAR: Federated Clustering for Personalized Sensor-Based Human Activity Recognition", PerCom 2022,
as Liu et al., Group-FEL, Section 6.1, compare with it: random groups under a cloud, and at a given round the clusters.
In that round every client trains alone; then the most similar pair of models (cosine of the last layer) is merged, by
samples, as long as its similarity reaches the threshold. The global accuracy is that of the clusters' mean.

What departs: clusters are sampled as the groups were; those that sit a round out keep their models.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.group_fel import form_groups, group_star
from covey.fleet import Fleet
from covey.grouping.updates import merge_similar
from covey.plan import Forest, Plan, Star, Train, cloud
from covey.sampling import group_odds, sample_groups


@ALGORITHMS.register("fedclar", paper="Presotto et al. 2022; Group-FEL")
@settings
class FedCLAR(Algorithm):
    """Random groups under a cloud, and from one round on a model for every cluster of similar clients."""

    sketch: ClassVar[str] = "Star(Star(Train)), then Forest(Star(Train))"

    cluster_at: Annotated[int, Field(ge=1, description="round in which clients train alone and are clustered")] = 100
    similarity: Annotated[float, Field(ge=-1, le=1, description="least cosine of two models that are merged")] = 0.995
    min_size: Annotated[int, Field(ge=1, description="least clients of a random group")] = 5
    sample: Annotated[float, Field(gt=0, le=1, description="share of the groups that take part in a round")] = 0.2
    group_rounds: Annotated[int, Field(ge=1, description="rounds of a group in a global round (K)")] = 5
    local_epochs: Annotated[int | None, Field(ge=1, description="local epochs (E); the run's unless given")] = None

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Random groups."""
        return {"groups": form_groups("random", fleet, self.min_size, rng)}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """Groups under a cloud; once everybody alone; then clusters, each for itself."""
        if round == self.cluster_at:
            return Forest(Train(i, self.local_epochs) for i in range(fleet.clients))
        groups = state["groups"]
        count = max(1, int(self.sample * len(groups) + 0.5))
        drawn = sample_groups(group_odds(np.ones(len(groups)), "uniform"), count, rng)
        if round < self.cluster_at:
            return Star(group_star(groups[k], fleet, self.group_rounds, self.local_epochs) for k in drawn)
        stars = [
            Star((Train(i, self.local_epochs) for i in groups[k]), rounds=self.group_rounds, at=cloud) for k in drawn
        ]
        return Forest(stars, slots=drawn)

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """After the round alone: clusters, and the mean model of each."""
        if outcome.round != self.cluster_at:
            return state
        sizes = outcome.fleet.sizes
        views = [outcome.layers(model) for model in outcome.models]
        names = list(views[0])
        last = [name for name in names if name.rpartition(".")[0] == names[-1].rpartition(".")[0]]
        layers = np.stack([torch.cat([view[name].reshape(-1) for name in last]).numpy() for view in views])
        clusters = merge_similar(layers, sizes, self.similarity)
        outcome.models = [_mean([outcome.models[i] for i in c], sizes[c]) for c in clusters]
        outcome.home = np.zeros(len(sizes), dtype=np.int64)
        for slot, members in enumerate(clusters):
            outcome.home[members] = slot
        return {"groups": clusters}

    def parts(self) -> dict[str, str]:
        """The cost of Eq. 5 is counted, with secure aggregation as the group operation."""
        return {"prices": "cifar-secure"}


def _mean(models: list[Tensor], sizes: NDArray[np.int64]) -> Tensor:
    weights = torch.from_numpy(np.maximum(sizes, 1e-9) / np.maximum(sizes, 1e-9).sum()).float()
    return weights @ torch.stack(models)
