"""FedFusion: FedAvg whose clients fuse their own features with those of the global model.

Yao et al., "Towards Faster and Better Federated Learning: A Feature Fusion Approach", ICIP 2019, Algorithm 1. What
clients do is `covey.local.fedfusion`; any algorithm takes it as `--local fedfusion:conv`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample
from covey.fleet import Fleet
from covey.plan import Plan, Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("fedfusion", paper="Yao et al. 2019")
@settings
class FedFusion(Algorithm):
    """A star whose clients train two streams of features, one of them frozen, and how to fuse them."""

    sketch: ClassVar[str] = "Star(Train)"

    fusion: Annotated[Literal["conv", "multi", "single"], Field(description="how features are fused")] = "conv"
    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """One star over the sampled clients."""
        return Star(Train(i) for i in sample_clients(fleet, self.sample, rng))

    def parts(self) -> dict[str, str]:
        """FedFusion's local rule."""
        return {"local": f"fedfusion:{self.fusion}"}
