"""FedMMD: FedAvg whose clients keep saying what the global model says.

Yao et al., "Two-Stream Federated Learning: Reduce the Communication Costs", VCIP 2018. What clients do is
`covey.local.fedmmd`; any algorithm takes it as `--local fedmmd:0.1`.
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


@ALGORITHMS.register("fedmmd", paper="Yao et al. 2018")
@settings
class FedMMD(Algorithm):
    """A star whose clients minimise their loss plus lambda times MMD^2 between local and global logits."""

    sketch: ClassVar[str] = "Star(Train)"

    weight: Annotated[float, Field(ge=0, description="lambda, the weight of MMD^2; 0 is FedAvg")] = 0.1
    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """One star over the sampled clients."""
        return Star(Train(i) for i in sample_clients(fleet, self.sample, rng))

    def parts(self) -> dict[str, str]:
        """FedMMD's local rule."""
        return {"local": f"fedmmd:{self.weight}"}
