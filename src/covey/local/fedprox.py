"""FedProx: clients are held near the model they got.

Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, Algorithm 2: client k minimises
F_k(w) + (mu/2) ||w - w^t||^2. Its gradient, mu (w - w^t), is added to the step's direction.

Departure: the paper lets devices solve this inexactly, each as well as it can; here all take the run's epochs of SGD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from covey.errors import BadValue
from covey.local.rule import RULES, Params, Rule


@RULES.register("fedprox", paper="Li et al. 2020")
@dataclass(frozen=True)
class FedProx(Rule):
    """A pull of strength mu towards the received model; mu = 0 is plain SGD."""

    uses_received: ClassVar[bool] = True

    mu: float = 0.01

    def __post_init__(self) -> None:
        if not self.mu >= 0:
            raise BadValue("mu", self.mu, "a number from 0 up")

    def direction(self, grads: Params, params: Params, received: Params, own: Params, shared: Params) -> Params:
        """The gradient of F_k(w) + (mu/2) ||w - w^t||^2."""
        return {name: g + self.mu * (params[name] - received[name]) for name, g in grads.items()}
