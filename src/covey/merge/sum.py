"""The weighted sum: what Group-FEL's unbiased aggregation asks for, whose weights add up to one only on average."""

from __future__ import annotations

from torch import Tensor

from covey.merge.merger import MERGES


@MERGES.register("sum", paper="Liu et al., Group-FEL, Eq. 4")
class Sum:
    """The sum of weight x model, not divided by anything.

    >>> import torch
    >>> total = Sum()
    >>> total.add(torch.tensor([1.0]), 0.5); total.add(torch.tensor([4.0]), 0.25)
    >>> total.result()  # 0.5 x 1 + 0.25 x 4
    tensor([1.5000])
    """

    def __init__(self) -> None:
        self._sum: Tensor | None = None

    def add(self, model: Tensor, weight: float) -> None:
        """Take one more model in."""
        self._sum = model * weight if self._sum is None else self._sum.add_(model, alpha=weight)

    def result(self) -> Tensor:
        """The weighted sum of what was added."""
        if self._sum is None:
            raise ValueError("nothing was added")
        return self._sum
