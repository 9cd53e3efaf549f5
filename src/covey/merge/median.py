"""The coordinate-wise median.

Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018, Algorithm 1, Option
I. Of every value, buffers included, the middle one over the models; of an even number the mean of the middle two.
Weights do not count: an attacker would choose its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from covey.merge.base import MERGES, Gathering
from covey.merge.kept import Kept


@MERGES.register("median", paper="Yin et al. 2018")
@dataclass(frozen=True)
class Median:
    """Of every value the median over the models; weights do not count."""

    def open(self, gathering: Gathering) -> Kept:
        """Begin one merge."""
        return Kept(lambda models, _: median(models))


def median(models: Tensor) -> Tensor:
    """The median of every column.

    >>> median(torch.tensor([[1.0, 9.0], [2.0, 8.0], [90.0, 7.0]]))
    tensor([2., 8.])
    """
    ordered = models.sort(dim=0).values
    count = len(ordered)
    return torch.lerp(ordered[(count - 1) // 2], ordered[count // 2], 0.5)
