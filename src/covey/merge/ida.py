"""IDA, inverse distance aggregation: models far from the others count less.

Yeganeh et al., "Inverse Distance Aggregation for Federated Learning with Non-IID Data", DART 2020, Eq. 3: the share of
model k is proportional to 1 / ||w_mean - w_k||. The mean is the weighted one, so that two models merge as they would
without IDA. All models are kept until the last has come: memory grows with their number.
"""

from __future__ import annotations

import torch
from torch import Tensor

from covey.merge.mean import Mean
from covey.merge.merger import MERGES

NEAREST = 1e-6  # of the largest distance: a model that is the mean itself does not count infinitely


@MERGES.register("ida", paper="Yeganeh et al. 2020")
class Ida:
    """The mean of the models, each weighted by the inverse of its distance from their weighted mean.

    >>> ida = Ida()
    >>> for value in (0.0, 1.0, 5.0): ida.add(torch.tensor([value]), 1)
    >>> ida.result()  # mean 2, distances 2, 1, 3: (0/2 + 1/1 + 5/3) / (1/2 + 1/1 + 1/3)
    tensor([1.4545])
    """

    def __init__(self) -> None:
        self._models: list[Tensor] = []
        self._mean = Mean()

    def add(self, model: Tensor, weight: float) -> None:
        """Take one more model in."""
        self._models.append(model)
        self._mean.add(model, weight)

    def result(self) -> Tensor:
        """The merged model; equal models give that model."""
        mean = self._mean.result()
        distances = torch.stack([torch.linalg.vector_norm(model - mean) for model in self._models])
        furthest = float(distances.max())
        if furthest == 0:
            return mean
        merged = Mean()
        for model, distance in zip(self._models, distances.clamp(min=NEAREST * furthest).tolist(), strict=True):
            merged.add(model, furthest / distance)
        return merged.result()
