"""FedMMD: two streams, the model that trains and the frozen one it came from, kept alike by what they say.

Yao et al., "Two-Stream Federated Learning: Reduce the Communication Costs", VCIP 2018: cross-entropy + lambda MMD^2
between the logits of the local and of the received model. The kernel is a sum of Gaussians exp(-d^2 / (2 s)) of many
widths s, and MMD^2 counts at least 1e-4, as in the authors' code; at the first step, where both streams are the same
model, it therefore pulls nowhere.

Departure: widths start at 1. The usual list goes down to 1e-6; the narrow ones pull several times as hard as the loss
itself (docs/algorithms/fedmmd.md). `kind` "l2" keeps the logits alike by their mean squared distance instead, which is
what runs in the authors' published code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.local.rule import RULES, Call, Params, Rule, mean_loss

WIDTHS = (1, 5, 10, 15, 20, 25, 30, 35, 100, 1e3, 1e4, 1e5, 1e6)
LEAST = 1e-4
KINDS = ("mmd", "l2")


@RULES.register("fedmmd", paper="Yao et al. 2018")
@dataclass(frozen=True)
class FedMmd(Rule):
    """Cross-entropy plus the discrepancy between local and received logits; weight 0 is plain SGD."""

    uses_received: ClassVar[bool] = True

    weight: float = 0.1
    kind: str = "mmd"

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise BadValue("weight", self.weight, "a number from 0 up")
        if self.kind not in KINDS:
            raise BadValue("kind", self.kind, f"one of {', '.join(KINDS)}")

    def loss(self, call: Call, params: Params, received: Params, x: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        """Cross-entropy + lambda max(1e-4, MMD^2), or + lambda ||local - received||^2."""
        local = call(params, x)
        with torch.no_grad():
            frozen = call(received, x)
        if self.kind == "l2":
            return mean_loss(local, y, mask) + self.weight * (_shares(local, mask) @ (local - frozen).square()).sum()
        return mean_loss(local, y, mask) + self.weight * discrepancy(local, frozen, mask).clamp(min=LEAST)


def discrepancy(a: Tensor, b: Tensor, mask: Tensor | None = None) -> Tensor:
    """MMD^2 between the rows of `a` and those of `b`: mean k(a, a') - 2 mean k(a, b) + mean k(b, b').

    `mask` says which rows count, in both alike.

    >>> rows = torch.tensor([[0.0], [1.0]])
    >>> float(discrepancy(rows, rows))
    0.0
    """
    share = _shares(a, mask)
    return share @ (_kernel(a, a) - 2 * _kernel(a, b) + _kernel(b, b)) @ share


def _shares(rows: Tensor, mask: Tensor | None) -> Tensor:
    """What every row counts in a mean."""
    return torch.full_like(rows[:, 0], 1 / len(rows)) if mask is None else mask / mask.sum().clamp(min=1)


def _kernel(a: Tensor, b: Tensor) -> Tensor:
    """The summed kernel between every row of `a` and every row of `b`."""
    distances = (a[:, None, :] - b[None, :, :]).square().sum(dim=-1)
    return torch.stack([torch.exp(distances / (-2 * width)) for width in WIDTHS]).sum(dim=0)
