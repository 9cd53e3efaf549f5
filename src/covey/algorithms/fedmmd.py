"""FedMMD: FedAvg whose clients keep saying what the global model says.

Yao et al., "Two-Stream Federated Learning: Reduce the Communication Costs", VCIP 2018. What clients do is
`covey.local.fedmmd`; any algorithm takes it as `--local fedmmd:0.1`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from covey.algorithms.base import ALGORITHMS, settings
from covey.algorithms.fedavg import FedAvg


@ALGORITHMS.register("fedmmd", paper="Yao et al. 2018")
@settings
class FedMMD(FedAvg):
    """A star whose clients minimise their loss plus lambda times MMD^2 between local and global logits."""

    weight: Annotated[float, Field(ge=0, description="lambda, the weight of MMD^2; 0 is FedAvg")] = 0.1

    def parts(self) -> dict[str, str]:
        """FedMMD's local rule."""
        return {"local": f"fedmmd:{self.weight}"}
