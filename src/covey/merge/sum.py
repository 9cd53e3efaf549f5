"""Weighted sums: what Group-FEL's unbiased aggregation asks for, whose weights add up to one only on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from covey.merge.base import MERGES, CannotMerge, Gathering


@MERGES.register("sum", paper="Liu et al., Group-FEL, Eq. 4")
@dataclass(frozen=True)
class Sum:
    """The sum of weight x model, not divided by anything.

    >>> import torch
    >>> total = Sum().open(Gathering())
    >>> total.add(0, torch.tensor([1.0]), 0.5); total.add(1, torch.tensor([4.0]), 0.25)
    >>> total.close(())  # 0.5 x 1 + 0.25 x 4
    tensor([1.5000])
    """

    averages: ClassVar[bool] = True

    def open(self, gathering: Gathering) -> RunningSum:
        """Begin one sum."""
        return RunningSum(None)


@MERGES.register("updates", paper="Liu et al., Group-FEL, Eq. 4")
@dataclass(frozen=True)
class SumOfUpdates:
    """The starting model plus the sum of weight x update: weights that do not add up to one scale no model.

    >>> import torch
    >>> total = SumOfUpdates().open(Gathering(start=torch.tensor([1.0])))
    >>> total.add(0, torch.tensor([2.0]), 0.5); total.add(1, torch.tensor([5.0]), 0.25)
    >>> total.close(())  # 1 + 0.5 x (2 - 1) + 0.25 x (5 - 1)
    tensor([2.5000])
    """

    averages: ClassVar[bool] = True

    def open(self, gathering: Gathering) -> RunningSum:
        """Begin one sum."""
        return RunningSum(gathering.start)


class RunningSum:
    """A sum under way, of models or, where they start from one, of their changes to it."""

    def __init__(self, start: Tensor | None) -> None:
        self._start, self._sum = start, None if start is None else start.clone()
        self._any = False

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Take one more model in."""
        part = model if self._start is None else model - self._start
        self._sum = part * weight if self._sum is None else self._sum.add_(part, alpha=weight)
        self._any = True

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The weighted sum of what was added."""
        if self._sum is None or not self._any:
            raise CannotMerge("no model came in")
        return self._sum
