"""How many floating-point operations a model takes for one sample, counted by torch and not estimated.

Counted are matrix products and convolutions, two operations a multiply-add; what is done element by element (ReLU,
pooling, normalisation, the optimiser) is not. Counting runs on meta tensors, which have shapes and no numbers:
nothing is computed, and LSTMs, which torch's CPU kernels hide from its counter, are counted too.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Flops:
    """Operations per sample."""

    forward: float
    backward: float

    @property
    def training(self) -> float:
        """Forward and backward."""
        return self.forward + self.backward


def count_flops(model: nn.Module, batch: Tensor, *, device: str = "meta") -> Flops:
    """Operations per sample of `model` on a batch of that shape and type.

    `device="cpu"` is for models that look at their numbers, which meta tensors do not have.

    >>> import torch
    >>> count_flops(torch.nn.Linear(784, 10), torch.zeros(4, 784))  # 2 x 784 x 10, and again for the weights' gradient
    Flops(forward=15680.0, backward=15680.0)
    """
    from torch.utils.flop_counter import FlopCounterMode  # here, for networks alone do not need torch

    model, batch = copy.deepcopy(model).to(device).eval(), batch.to(device)  # a single sample has no statistics
    with FlopCounterMode(display=False) as counter:
        out = model(batch)
        forward = counter.get_total_flops()
        if out.requires_grad:
            out.sum().backward()
        total = counter.get_total_flops()
    return Flops(forward / len(batch), (total - forward) / len(batch))
