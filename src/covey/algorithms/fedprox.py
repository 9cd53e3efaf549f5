"""FedProx: FedAvg whose clients are held near the global model.

Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, Algorithm 2. What clients do is
`covey.local.fedprox`; any algorithm takes it as `--local fedprox:0.01`.

What departs: clients are sampled uniformly and averaged by samples, where Algorithm 2 samples by samples and averages
plainly.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from covey.algorithms.base import ALGORITHMS, settings
from covey.algorithms.fedavg import FedAvg


@ALGORITHMS.register("fedprox", paper="Li et al. 2020")
@settings
class FedProx(FedAvg):
    """A star whose clients minimise their loss plus (mu/2) times the squared distance from the global model."""

    mu: Annotated[float, Field(ge=0, description="strength of the pull; 0 is FedAvg")] = 0.01

    def parts(self) -> dict[str, str]:
        """FedProx's local rule."""
        return {"local": f"fedprox:{self.mu}"}
