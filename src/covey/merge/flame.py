"""FLAME: clients whose model points elsewhere are left out, updates are clipped, and noise covers what is left.

Nguyen et al., "FLAME: Taming Backdoors in Federated Learning", USENIX Security 2022, Algorithm 1. HDBSCAN on the cosine
distances of the local models finds a cluster of more than half of them; updates are clipped to the median length over
all clients and averaged, each alike: an attacker would choose its own weight; noise is N(0, (lambda x median)^2).
Symbols: `noise` is lambda. Distances and clipping are of the parameters; buffers are averaged over the models kept.

`of` says what the cosines are between: the paper's local models, or the updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import MERGES, Gathering
from covey.merge.clip import lengths, shrink
from covey.merge.kept import Kept


@MERGES.register("flame", paper="Nguyen et al. 2022")
@dataclass(frozen=True)
class Flame:
    """Leaves out models that point elsewhere, clips updates to their median length, and adds noise."""

    noise: float = 0.001
    of: Literal["models", "updates"] = "models"

    def __post_init__(self) -> None:
        if not self.noise >= 0:
            raise BadValue("noise of flame", self.noise, "a number from 0 up")

    def open(self, gathering: Gathering) -> Kept:
        """Begin one merge."""

        def combine(models: Tensor, _: Tensor) -> Tensor:
            start, trained = gathering.start, gathering.trained
            updates = models - start
            params = updates[:, :trained]
            kept = majority(models[:, :trained] if self.of == "models" else params)
            gathering.count("rejected_models", len(models) - len(kept))
            limit = float(lengths(params).median())
            params *= shrink(params, limit)[:, None]
            merged: Tensor = start + updates[kept].mean(dim=0)
            rng = torch.Generator().manual_seed(gathering.key)
            merged[:trained] += self.noise * limit * torch.randn(merged[:trained].shape, generator=rng)
            return merged

        return Kept(combine)


def majority(models: Tensor) -> list[int]:
    """The rows, more than half of them, that point the same way.

    >>> majority(torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.05], [-1.0, 1.0]]))
    [0, 1, 2]
    """
    from sklearn.cluster import HDBSCAN

    unit = models.double()
    unit = unit / torch.linalg.vector_norm(unit, dim=1, keepdim=True).clamp(min=1e-300)
    distances = (1 - unit @ unit.T).clamp(min=0).numpy()
    np.fill_diagonal(distances, 0.0)
    most = len(models) // 2 + 1
    found = HDBSCAN(
        min_cluster_size=most, min_samples=1, allow_single_cluster=True, metric="precomputed", copy=True
    ).fit_predict(distances)
    kept = [j for j, label in enumerate(found) if label == 0]
    return kept or list(range(len(models)))
