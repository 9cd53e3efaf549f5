"""IDA, inverse distance aggregation: models far from the others count less.

Yeganeh et al., "Inverse Distance Aggregation for Federated Learning with Non-IID Data", DART 2020, Eq. 3: the share of
model k is proportional to 1 / ||w_mean - w_k||. The mean is the weighted one, so that two models merge as they would
without IDA. Distances are between parameters; buffers such as batch statistics are merged with the same shares. All
models are kept until the last has come: memory grows with their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from covey.merge.base import MERGES, Gathering
from covey.merge.mean import RunningMean

NEAREST = 1e-6  # of the largest distance: a model that is the mean itself does not count infinitely


@MERGES.register("ida", paper="Yeganeh et al. 2020")
@dataclass(frozen=True)
class Ida:
    """The mean of the models, each weighted by the inverse of its distance from their weighted mean.

    >>> ida = Ida().open(Gathering())
    >>> for member, value in enumerate((0.0, 1.0, 5.0)): ida.add(member, torch.tensor([value]), 1)
    >>> ida.close(())  # mean 2, distances 2, 1, 3: (0/2 + 1/1 + 5/3) / (1/2 + 1/1 + 1/3)
    tensor([1.4545])
    """

    def open(self, gathering: Gathering) -> _Distances:
        """Begin one merge."""
        return _Distances(gathering.trained)


class _Distances:
    """All models, and their mean."""

    def __init__(self, trained: int | None) -> None:
        self._trained = trained
        self._models: list[Tensor] = []
        self._mean = RunningMean()

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Take one more model in."""
        self._models.append(model)
        self._mean.add(member, model, weight)

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The merged model; equal models give that model."""
        mean = self._mean.close(missing)
        away = [torch.linalg.vector_norm((model - mean)[: self._trained]) for model in self._models]
        distances = torch.stack(away)
        furthest = float(distances.max())
        if furthest == 0:
            return mean
        merged = RunningMean()
        for model, distance in zip(self._models, distances.clamp(min=NEAREST * furthest).tolist(), strict=True):
            merged.add(0, model, furthest / distance)
        return merged.close(())
