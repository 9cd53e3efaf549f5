"""The coordinate-wise trimmed mean.

Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018, Algorithm 1, Option
II. Of every value, buffers included, the `share` largest and the `share` smallest over the models are left out, and the
rest is averaged. Weights do not count: an attacker would choose its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from covey.merge.base import MERGES, Gathering
from covey.merge.kept import Kept, check_share, expected


@MERGES.register("trimmed-mean", paper="Yin et al. 2018")
@dataclass(frozen=True)
class TrimmedMean:
    """Of every value the mean without the `share` largest and smallest over the models; weights do not count."""

    share: float = 0.2

    def __post_init__(self) -> None:
        check_share("share of trimmed-mean", self.share)

    def open(self, gathering: Gathering) -> Kept:
        """Begin one merge."""
        return Kept(lambda models, _: trimmed_mean(models, expected(self.share, len(models), gathering)))


def trimmed_mean(models: Tensor, trim: int) -> Tensor:
    """The mean of every column without its `trim` largest and smallest values.

    >>> import torch
    >>> trimmed_mean(torch.tensor([[1.0], [2.0], [4.0], [90.0]]), 1)  # (2 + 4) / 2
    tensor([3.])
    """
    return models.sort(dim=0).values[trim : len(models) - trim].mean(dim=0)
