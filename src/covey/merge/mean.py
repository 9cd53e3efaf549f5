"""The weighted mean, streaming: two models in memory however many are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from covey.merge.base import MERGES, CannotMerge, Gathering


@MERGES.register("mean", paper="McMahan et al. 2017")
@dataclass(frozen=True)
class Mean:
    """The mean of the models, weighted (by samples unless the plan says otherwise).

    >>> import torch
    >>> mean = Mean().open(Gathering())
    >>> mean.add(0, torch.tensor([1.0]), 1); mean.add(1, torch.tensor([4.0]), 3)
    >>> mean.close(())
    tensor([3.2500])
    """

    averages: ClassVar[bool] = True

    def open(self, gathering: Gathering) -> RunningMean:
        """Begin one mean."""
        return RunningMean()


class RunningMean:
    """A mean under way. A single model comes out as it went in, to the bit: a Star of one child changes nothing."""

    def __init__(self) -> None:
        self._first: tuple[Tensor, float] | None = None
        self._sum: Tensor | None = None
        self._total = 0.0

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Take one more model in."""
        if self._first is None:
            self._first = (model, weight)
        else:
            if self._sum is None:
                self._sum = self._first[0] * self._first[1]
            self._sum.add_(model, alpha=weight)
        self._total += weight

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The weighted mean of what was added."""
        if self._first is None:
            raise CannotMerge("no model came in")
        return self._first[0].clone() if self._sum is None else self._sum / self._total
