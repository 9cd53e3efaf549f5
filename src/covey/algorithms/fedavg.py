"""FedAvg: every client trains the global model, the cloud takes the mean.

McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", AISTATS 2017, Algorithm 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample
from covey.fleet import Fleet
from covey.plan import Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("fedavg", paper="McMahan et al. 2017")
@settings
class FedAvg(Algorithm):
    """A star: clients train in parallel, the cloud averages."""

    sketch: ClassVar[str] = "Star(Train)"

    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star:
        """One star over the sampled clients."""
        return Star(Train(i) for i in sample_clients(fleet, self.sample, rng))
