"""SCAFFOLD: FedAvg with control variates against the drift of clients.

Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020, Algorithm 1, with
eta_g = 1. What clients do is `covey.local.scaffold`; any algorithm takes it as `--local scaffold`.

What departs: models are averaged by samples, where Algorithm 1 averages plainly.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample
from covey.fleet import Fleet
from covey.plan import Plan, Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("scaffold", paper="Karimireddy et al. 2020")
@settings
class SCAFFOLD(Algorithm):
    """A star whose clients step along their gradient less their own variate plus the server's."""

    sketch: ClassVar[str] = "Star(Train)"

    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """One star over the sampled clients."""
        return Star(Train(i) for i in sample_clients(fleet, self.sample, rng))

    def parts(self) -> dict[str, str]:
        """SCAFFOLD's local rule."""
        return {"local": "scaffold"}
