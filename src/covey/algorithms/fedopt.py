"""FedAdagrad, FedAdam and FedYogi: FedAvg whose server takes adaptive steps.

Reddi et al., "Adaptive Federated Optimization", ICLR 2021, Algorithm 2. What the server does is `covey.merge.adaptive`;
any algorithm takes it as `--server adam:0.01`.

The paper tunes the rate per task; the defaults are 0.1 for Adagrad and 0.01 for Adam and Yogi.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from pydantic import Field

from covey.algorithms.base import ALGORITHMS, settings
from covey.algorithms.fedavg import FedAvg

Rate: TypeAlias = Annotated[float, Field(gt=0, description="the server's learning rate (eta)")]


@settings
class FedOpt(FedAvg):
    """A star whose server takes the mean change of the clients as a gradient."""

    optimiser: ClassVar[str]

    rate: Rate = 0.01

    def parts(self) -> dict[str, str]:
        """The server step."""
        return {"server": f"{self.optimiser}:{self.rate}"}


@ALGORITHMS.register("fedadagrad", paper="Reddi et al. 2021")
@settings
class FedAdagrad(FedOpt):
    """FedAvg whose server divides by the root of all squared changes so far."""

    optimiser: ClassVar[str] = "adagrad"

    rate: Rate = 0.1


@ALGORITHMS.register("fedadam", paper="Reddi et al. 2021")
@settings
class FedAdam(FedOpt):
    """FedAvg whose server divides by the root of a moving mean of squared changes."""

    optimiser: ClassVar[str] = "adam"

    rate: Rate = 0.01


@ALGORITHMS.register("fedyogi", paper="Reddi et al. 2021")
@settings
class FedYogi(FedOpt):
    """As FedAdam, with a moving mean that grows more gently."""

    optimiser: ClassVar[str] = "yogi"

    rate: Rate = 0.01
