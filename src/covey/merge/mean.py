"""The weighted mean, streaming: two models in memory however many are merged."""

from __future__ import annotations

from torch import Tensor

from covey.merge.merger import MERGES


@MERGES.register("mean", paper="McMahan et al. 2017")
class Mean:
    """The mean of the models, weighted (by samples unless the plan says otherwise).

    A single model comes out as it went in, to the bit, so that a Star of one child changes nothing.

    >>> import torch
    >>> mean = Mean()
    >>> mean.add(torch.tensor([1.0]), 1); mean.add(torch.tensor([4.0]), 3)
    >>> mean.result()
    tensor([3.2500])
    """

    def __init__(self) -> None:
        self._first: tuple[Tensor, float] | None = None
        self._sum: Tensor | None = None
        self._total = 0.0

    def add(self, model: Tensor, weight: float) -> None:
        """Take one more model in."""
        if self._first is None:
            self._first = (model, weight)
        else:
            if self._sum is None:
                self._sum = self._first[0] * self._first[1]
            self._sum.add_(model, alpha=weight)
        self._total += weight

    def result(self) -> Tensor:
        """The weighted mean of what was added."""
        if self._first is None:
            raise ValueError("nothing was added")
        return self._first[0].clone() if self._sum is None else self._sum / self._total
