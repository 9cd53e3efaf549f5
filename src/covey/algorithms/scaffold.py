"""SCAFFOLD: FedAvg with control variates against the drift of clients.

Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020, Algorithm 1, with
eta_g = 1. What clients do is `covey.local.scaffold`; any algorithm takes it as `--local scaffold`.

What departs: models are averaged by samples, where Algorithm 1 averages plainly.
"""

from __future__ import annotations

from covey.algorithms.base import ALGORITHMS, settings
from covey.algorithms.fedavg import FedAvg


@ALGORITHMS.register("scaffold", paper="Karimireddy et al. 2020")
@settings
class SCAFFOLD(FedAvg):
    """A star whose clients step along their gradient less their own variate plus the server's."""

    def parts(self) -> dict[str, str]:
        """SCAFFOLD's local rule."""
        return {"local": "scaffold"}
