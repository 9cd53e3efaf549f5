"""The geometric median: the point with the smallest weighted sum of distances to the models.

Pillutla et al., "Robust Aggregation for Federated Learning", IEEE TSP 2022, Algorithm 2: the smoothed Weiszfeld
iteration. Starting from the weighted mean, the next point is the mean with weights divided by the distance to the last
one, but by no less than `smoothing` of the largest. Distances are between parameters; buffers are merged with the same
final weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import MERGES, Gathering
from covey.merge.kept import Kept, weighted


@MERGES.register("geometric-median", paper="Pillutla et al. 2022")
@dataclass(frozen=True)
class GeometricMedian:
    """The point with the smallest weighted sum of distances to the models, in at most this many `steps`."""

    steps: int = 100
    smoothing: float = 1e-6
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise BadValue("steps of geometric-median", self.steps, "a whole number from 1 up")
        for name in ("smoothing", "tolerance"):
            if not 0 < getattr(self, name) < 1:
                raise BadValue(f"{name} of geometric-median", getattr(self, name), "a number above 0 and below 1")

    def open(self, gathering: Gathering) -> Kept:
        """Begin one merge."""

        def combine(models: Tensor, weights: Tensor) -> Tensor:
            return weighted(models, self.shares(models[:, : gathering.trained], weights.double()))

        return Kept(combine)

    def shares(self, models: Tensor, weights: Tensor) -> Tensor:
        """The weights whose mean is the geometric median.

        >>> shares = GeometricMedian().shares(torch.tensor([[0.0], [1.0], [90.0]]), torch.ones(3))
        >>> torch.round(weighted(torch.tensor([[0.0], [1.0], [90.0]]), shares), decimals=3)  # on a line, the median
        tensor([1.])
        """
        shares = weights / weights.sum()
        for _ in range(self.steps):
            distances = torch.linalg.vector_norm(models - weighted(models, shares), dim=1, dtype=torch.float64)
            furthest = distances.max()
            if furthest == 0:
                break
            following = weights / distances.clamp(min=self.smoothing * furthest)
            following /= following.sum()
            moved = (following - shares).abs().sum()
            shares = following
            if moved < self.tolerance:
                break
        return shares
