"""SCAFFOLD: control variates that undo the drift of clients.

Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020, Algorithm 1:
y <- y - eta (g - c_i + c); after H steps c_i+ = c_i - c + (x - y) / (H eta) (option II); the server adds
|S|/N x mean of (c_i+ - c_i) to c.

(x - y) / (H eta) is the mean direction of the steps. With momentum beta a step is longer than eta x direction, so that
the divisor is eta x sum over k <= H of (1 - beta^k) / (1 - beta); with Adam, whose steps are not in proportion to their
direction, the mean direction itself is kept.

Departure: a client that trains several times a round (in group rounds) renews c_i every time, and c takes in all of
it at the round's end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from covey.local.rule import RULES, Params, Rule


@RULES.register("scaffold", paper="Karimireddy et al. 2020")
@dataclass(frozen=True)
class Scaffold(Rule):
    """Steps corrected by what all clients do against what this one does."""

    remembers: ClassVar[tuple[str, ...]] = ("variate",)

    def direction(self, grads: Params, params: Params, received: Params, own: Params, shared: Params) -> Params:
        """The gradient less the client's variate plus the server's."""
        return {name: g - own[f"variate/{name}"] + shared[f"variate/{name}"] for name, g in grads.items()}

    def remember(self, own: Params, shared: Params, direction: Tensor) -> Params:
        """The mean gradient on the way just gone, as the client's next variate."""
        return {"variate": own["variate"] - shared["variate"] + direction}
