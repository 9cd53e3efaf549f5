"""Norm clipping: no update is longer than a limit, so nobody moves the mean by more than its share of that.

Sun et al., "Can You Really Backdoor Federated Learning?", 2019. The update of a client is its model less the one it
started from; updates longer than `norm` are scaled down to it, then averaged with the weights of the plan. Without a
norm the limit is the median of the updates' lengths. Buffers are averaged as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import MERGES, CannotMerge, Gathering
from covey.merge.kept import weighted


@MERGES.register("clip", paper="Sun et al. 2019")
@dataclass(frozen=True)
class Clip:
    """The mean of updates scaled down to at most `norm`; to their median length if there is none."""

    norm: float | None = None

    def __post_init__(self) -> None:
        if self.norm is not None and not self.norm > 0:
            raise BadValue("norm of clip", self.norm, "a number above 0, or none for the median of the lengths")

    def open(self, gathering: Gathering) -> _Clipping:
        """Begin one merge."""
        return _Clipping(self.norm, gathering)


class _Clipping:
    """All updates; one alone is clipped too."""

    def __init__(self, norm: float | None, gathering: Gathering) -> None:
        self._norm, self._gathering = norm, gathering
        self._models: dict[int, tuple[Tensor, float]] = {}

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Keep one more model."""
        self._models[member] = (model, weight)

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The mean of the clipped updates, on top of the model they started from."""
        if not self._models:
            raise CannotMerge("no model came in")
        start, trained = self._gathering.start, self._gathering.trained
        kept = [self._models[member] for member in sorted(self._models)]
        updates = torch.stack([model - start for model, _ in kept])
        limit = lengths(updates[:, :trained]).median() if self._norm is None else torch.tensor(self._norm)
        factors = shrink(updates[:, :trained], float(limit))
        self._gathering.count("clipped_models", int((factors < 1).sum()))
        updates[:, :trained] *= factors[:, None]
        merged: Tensor = start + weighted(updates, torch.tensor([weight for _, weight in kept]))
        return merged


def lengths(updates: Tensor) -> Tensor:
    """The Euclidean length of every row."""
    long: Tensor = torch.linalg.vector_norm(updates, dim=1, dtype=torch.float64)
    return long


def shrink(updates: Tensor, limit: float) -> Tensor:
    """By what every row has to be multiplied to be no longer than the limit.

    >>> shrink(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([0.2000, 1.0000])
    """
    long = lengths(updates)
    return torch.where(long > limit, limit / long.clamp(min=1e-300), torch.ones_like(long)).to(updates.dtype)
