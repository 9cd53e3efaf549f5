"""IFCA: k models compete, every client trains the one that fits it best.

Ghosh et al., "An Efficient Framework for Clustered Federated Learning", NeurIPS 2020, Algorithm 1 (model averaging).
theta_j is model j; a client picks argmin_j F_i(theta_j), and a cluster's model becomes the mean of its clients'. An
empty cluster keeps its model.

Departures: the k first models are the run's model and k - 1 models with the values inside every tensor of it shuffled,
where the paper draws k models; the distribution of the values is the same.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.common import Sample
from covey.fleet import Fleet
from covey.plan import Forest, Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("ifca", paper="Ghosh et al. 2020")
@settings
class IFCA(Algorithm):
    """k models; every round every client trains the one with the least loss on its data."""

    sketch: ClassVar[str] = "Forest(Star(Train))"

    k: Annotated[int, Field(ge=1, description="number of models")] = 4
    weighted: Annotated[bool, Field(description="weigh clients by their samples; the paper does not")] = False
    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Forest:
        """One star per model that anybody picked."""
        taken = sample_clients(fleet, self.sample, rng)
        members = [[i for i in taken if state["pick"][i] == j] for j in range(self.k)]
        slots = [j for j in range(self.k) if members[j]]
        stars = [Star((Train(i) for i in members[j]), weights=None if self.weighted else "uniform") for j in slots]
        return Forest(stars, slots=slots)

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Everybody picks its model of the next round."""
        if outcome.round == 0:
            first = outcome.models[0]
            outcome.models = [first, *(outcome.shuffled(first, rng) for _ in range(self.k - 1))]
        losses = outcome.losses()
        pick = np.where(np.isfinite(losses), losses, np.inf).argmin(axis=1)
        outcome.home = pick
        # a client gets all models to pick from; the plan counts the one it trains
        outcome.traffic += Counter({("cloud", "client"): (self.k - 1) * len(outcome.trained)})
        return {"pick": pick.tolist()}
