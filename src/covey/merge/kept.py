"""Merges that compare models with each other: all are kept until the last has come; memory grows with their number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import CannotMerge, Gathering


class Kept:
    """All models of a merge, in the order of their members; `combine(models, weights)` makes one of two or more."""

    def __init__(self, combine: Callable[[Tensor, Tensor], Tensor]) -> None:
        self._combine = combine
        self._models: dict[int, tuple[Tensor, float]] = {}

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Keep one more model."""
        self._models[member] = (model, weight)

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """One of all; a single model comes out as it went in, since there is nothing to compare it with."""
        if not self._models:
            raise CannotMerge("no model came in")
        kept = [self._models[member] for member in sorted(self._models)]
        if len(kept) == 1:
            return kept[0][0].clone()
        return self._combine(torch.stack([model for model, _ in kept]), torch.tensor([weight for _, weight in kept]))


def weighted(models: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean of the rows.

    >>> weighted(torch.tensor([[1.0], [4.0]]), torch.tensor([1.0, 3.0]))
    tensor([3.2500])
    """
    return (weights / weights.sum()).to(models.dtype) @ models


def expected(share: float, models: int, gathering: Gathering) -> int:
    """How many of the models that share is, rounded down; where that is none, the merge counts as unguarded."""
    attackers = int(share * models + 1e-9)
    if attackers == 0:
        gathering.count("unguarded_merges", 1)
    return attackers


def check_share(name: str, share: float) -> None:
    """Refuse a share of attackers that no merge can stand."""
    if not 0 < share < 0.5:
        raise BadValue(name, share, "a share above 0 and below a half")
