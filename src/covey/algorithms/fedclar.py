"""FedCLAR: federated training first, then clusters of clients whose last layers are alike, each with its own model.

Presotto et al., "FedCLAR: Federated Clustering for Personalized Sensor-Based Human Activity Recognition", PerCom 2022,
as Liu et al., Group-FEL, Section 6.1, compare with it: random groups under a cloud, and at a given round the clusters.
In that round every client trains alone, as long as a group would (K times E epochs); then every edge merges the most
similar pair of its clients' models (cosine of the last layer), by samples, as long as the similarity reaches the
threshold and no cluster has more than 2 MinGS clients. From then on all clusters train in every round, each at its
edge. The global accuracy is that of the clusters' mean.

Clients that are like nobody train no more, as in the code of Group-FEL's authors (`singletons`); they are tested with
the cluster whose last layer is most like theirs.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.group_fel import form_groups, group_star
from covey.errors import RunFailed
from covey.fleet import Fleet
from covey.grouping.updates import cosines, merge_similar
from covey.plan import Forest, Ring, Star, Train, edge
from covey.sampling import group_odds, sample_groups


@ALGORITHMS.register("fedclar", paper="Presotto et al. 2022; Group-FEL")
@settings
class FedCLAR(Algorithm):
    """Random groups under a cloud, and from one round on a model for every cluster of similar clients."""

    sketch: ClassVar[str] = "Star(Star(Train)), then Forest(Star(Train))"

    cluster_at: Annotated[int, Field(ge=1, description="round in which clients train alone and are clustered")] = 100
    similarity: Annotated[float, Field(ge=-1, le=1, description="least cosine of two models that are merged")] = 0.995
    min_size: Annotated[
        int, Field(ge=1, description="least clients of a random group; a cluster above twice as many ends the merging")
    ] = 5
    singletons: Annotated[
        Literal["drop", "keep"], Field(description="whether clients that are like nobody train no more, or alone")
    ] = "drop"
    sample: Annotated[float, Field(gt=0, le=1, description="share of the random groups that take part in a round")] = (
        0.2
    )
    group_rounds: Annotated[int, Field(ge=1, description="rounds of a group in a global round (K)")] = 5
    local_epochs: Annotated[int | None, Field(ge=1, description="local epochs (E); the run's unless given")] = None

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Random groups."""
        return {"groups": form_groups("random", fleet, self.min_size, rng)}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star | Forest:
        """Groups under a cloud; once everybody alone; then clusters, each for itself."""
        if round == self.cluster_at:
            return Forest(Ring([Train(i, self.local_epochs)] * self.group_rounds) for i in range(fleet.clients))
        stars = [group_star(members, fleet, self.group_rounds, self.local_epochs) for members in state["groups"]]
        if round > self.cluster_at:
            return Forest(stars)
        count = max(1, int(self.sample * len(stars) + 0.5))
        drawn = sample_groups(group_odds(np.ones(len(stars)), "uniform"), count, rng)
        return Star(stars[k] for k in drawn)

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """After the round alone: clusters, the mean model of each, and what was sent for it."""
        if outcome.round != self.cluster_at:
            return state
        fleet, alone = outcome.fleet, outcome.models
        layers = np.stack([_last_layer(outcome, model) for model in alone])
        edge_of = np.array([fleet.edge(i) for i in range(fleet.clients)])
        found = merge_similar(layers, fleet.sizes, self.similarity, stop_above=2 * self.min_size, edges=edge_of)
        clusters = [members for members in found if len(members) > 1 or self.singletons == "keep"]
        if not clusters:
            raise RunFailed(
                f"round {outcome.round}: no two clients of an edge are as alike as similarity {self.similarity}, "
                "and who is like nobody is left out; lower similarity, or set singletons to keep"
            )
        outcome.models = [_mean([alone[i] for i in members], fleet.sizes[members]) for members in clusters]
        alike = cosines([*layers, *(_last_layer(outcome, model) for model in outcome.models)])
        outcome.home = alike[: fleet.clients, fleet.clients :].argmax(axis=1)
        for slot, members in enumerate(clusters):
            outcome.home[members] = slot
        outcome.where = [edge(edge_of[members[0]]) for members in clusters]
        outcome.traffic += Counter({("client", "edge"): len(set(outcome.trained))})  # the models to be compared
        if outcome.round == 1:  # in later rounds the plan sends everybody the model from the cloud
            outcome.traffic += Counter({("cloud", "client"): fleet.clients})
        return {"groups": clusters}

    def parts(self) -> dict[str, str]:
        """The cost of Eq. 5 is counted, with secure aggregation as the group operation."""
        return {"prices": "cifar-secure"}


def _last_layer(outcome: Outcome, model: Tensor) -> NDArray[np.float32]:
    """The parameters of a model's last layer, flat."""
    named = outcome.layers(model)
    layer = list(named)[-1].rpartition(".")[0]
    parts = [values.reshape(-1) for name, values in named.items() if name.rpartition(".")[0] == layer]
    flat: NDArray[np.float32] = torch.cat(parts).numpy()
    return flat


def _mean(models: list[Tensor], sizes: NDArray[np.int64]) -> Tensor:
    weights = torch.from_numpy(np.maximum(sizes, 1e-9) / np.maximum(sizes, 1e-9).sum()).float()
    return weights @ torch.stack(models)
