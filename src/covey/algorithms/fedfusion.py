"""FedFusion: FedAvg whose clients fuse their own features with those of the global model.

Yao et al., "Towards Faster and Better Federated Learning: A Feature Fusion Approach", ICIP 2019, Algorithm 1. What
clients do is `covey.local.fedfusion`; any algorithm takes it as `--local fedfusion:conv`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from covey.algorithms.base import ALGORITHMS, settings
from covey.algorithms.fedavg import FedAvg


@ALGORITHMS.register("fedfusion", paper="Yao et al. 2019")
@settings
class FedFusion(FedAvg):
    """A star whose clients train two streams of features, one of them frozen, and how to fuse them."""

    fusion: Annotated[Literal["conv", "multi", "single"], Field(description="how features are fused")] = "conv"

    def parts(self) -> dict[str, str]:
        """FedFusion's local rule."""
        return {"local": f"fedfusion:{self.fusion}"}
