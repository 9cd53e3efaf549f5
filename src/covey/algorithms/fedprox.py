"""FedProx: FedAvg whose clients are held near the global model.

Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, Algorithm 2. What clients do is
`covey.local.fedprox`; any algorithm takes it as `--local fedprox:0.01`.

What departs: clients are sampled uniformly and averaged by samples, where Algorithm 2 samples by samples and averages
plainly.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample
from covey.fleet import Fleet
from covey.plan import Plan, Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("fedprox", paper="Li et al. 2020")
@settings
class FedProx(Algorithm):
    """A star whose clients minimise their loss plus (mu/2) times the squared distance from the global model."""

    sketch: ClassVar[str] = "Star(Train)"

    mu: Annotated[float, Field(ge=0, description="strength of the pull; 0 is FedAvg")] = 0.01
    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """One star over the sampled clients."""
        return Star(Train(i) for i in sample_clients(fleet, self.sample, rng))

    def parts(self) -> dict[str, str]:
        """FedProx's local rule."""
        return {"local": f"fedprox:{self.mu}"}
