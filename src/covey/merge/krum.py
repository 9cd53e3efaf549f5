"""Multi-Krum: the mean of the models that lie closest to their neighbours.

Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent", NeurIPS 2017, Section 4.
With n models of which f are expected to be attackers', the score of a model is the sum of its squared distances to the
n - f - 2 nearest others, and the n - f models with the smallest scores are averaged, buffers included. Weights do not
count: an attacker would choose its own. The paper's guarantee wants n >= 2 f + 3; with fewer models there is no merge.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import MERGES, CannotMerge, Gathering
from covey.merge.kept import Kept, check_share, expected


@MERGES.register("krum", paper="Blanchard et al. 2017")
@dataclass(frozen=True)
class Krum:
    """The mean of the models that lie closest to their neighbours, all but the `share` of expected attackers.

    `keep` models are averaged; 0 is all but the attackers, 1 is Krum itself.
    """

    share: float = 0.2
    keep: int = 0

    def __post_init__(self) -> None:
        check_share("share of krum", self.share)
        if self.keep < 0:
            raise BadValue("keep of krum", self.keep, "a whole number from 0 up")

    def open(self, gathering: Gathering) -> Kept:
        """Begin one merge."""

        def combine(models: Tensor, _: Tensor) -> Tensor:
            attackers = expected(self.share, len(models), gathering)
            if attackers and len(models) < 2 * attackers + 3:
                raise CannotMerge(
                    f"krum needs {2 * attackers + 3} models where {attackers} may be attackers'; {len(models)} came in"
                )
            kept = krum(models[:, : gathering.trained], attackers, self.keep)
            gathering.count("rejected_models", len(models) - len(kept))
            return models[kept].mean(dim=0)

        return Kept(combine)


def krum(models: Tensor, attackers: int, keep: int = 0) -> list[int]:
    """The rows with the smallest scores.

    With 2 neighbours each, the scores are 1 + 2.25, .25 + 1, .25 + .25, .25 + 1, 49 + 56.25.

    >>> krum(torch.tensor([[0.0], [1.0], [1.5], [2.0], [9.0]]), 1)
    [0, 1, 2, 3]
    """
    squared = torch.cdist(models, models, compute_mode="donot_use_mm_for_euclid_dist").double().square()
    nearest = max(1, len(models) - attackers - 2)
    scores = squared.sort(dim=1).values[:, 1 : 1 + nearest].sum(dim=1)
    order = scores.argsort(stable=True).tolist()
    return sorted(order[: min(keep, len(models)) or len(models) - attackers])
