"""Backdoors: the model does its work, except on images with a certain pattern.

Gu et al., "BadNets: Identifying Vulnerabilities in the Machine Learning Model Supply Chain", 2017: attackers stamp a
bright square into the lower right corner of some of their images and call them `target`. Bagdasaryan et al., "How To
Backdoor Federated Learning", AISTATS 2020: the attacker also makes its update so much longer that the mean becomes the
attacker's model (model replacement).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.attack.base import ATTACKS, Attack, Trial
from covey.errors import BadValue
from covey.execute.effects import Answer, Job
from covey.fleet import FleetData


@ATTACKS.register("backdoor", paper="Gu et al. 2017")
@dataclass(frozen=True)
class Backdoor(Attack):
    """Attackers stamp a square of `size` pixels into `poison_share` of their images and call them `target`.

    It works as often as a stamped test image of another class is called `target`.
    """

    target: int = 0
    poison_share: float = 0.5
    size: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.poison_share <= 1:
            raise BadValue("poison_share of the attack", self.poison_share, "a number above 0 and at most 1")
        if self.size < 1:
            raise BadValue("size of the attack", self.size, "a whole number of pixels from 1 up")

    def poison(self, data: FleetData, attackers: Sequence[int], rng: np.random.Generator) -> FleetData:
        """Some of the attackers' training images, stamped and called `target`."""
        self._check(data)
        x, y = data.x.copy(), data.y.copy()
        for client in attackers:
            own = data.train_of[client]
            chosen = rng.choice(own, max(1, round(self.poison_share * len(own))), replace=False) if len(own) else own
            x[chosen] = stamped(x[chosen], self.size, float(data.x.max()))
            y[chosen] = self.target
        return replace(data, x=x, y=y)

    def trial(self, data: FleetData) -> Trial:
        """Test images of other classes, stamped."""
        others = data.test_x[data.test_y != self.target]
        return Trial(stamped(others, self.size, float(data.x.max())), np.full(len(others), self.target, dtype=np.int64))

    def _check(self, data: FleetData) -> None:
        if len(data.shape) < 2 or data.x.dtype.kind != "f":
            raise BadValue("attack", "a pattern in images", f"one of other kinds, since {data.name} has no images")
        if min(data.shape[-2:]) < self.size + 1:
            raise BadValue("size of the attack", self.size, f"below {min(data.shape[-2:])}, the images' size")
        if not 0 <= self.target < data.classes:
            raise BadValue("target of the attack", self.target, f"a label from 0 to {data.classes - 1}")


@ATTACKS.register("replacement", paper="Bagdasaryan et al. 2020")
@dataclass(frozen=True)
class Replacement(Backdoor):
    """A backdoor by attackers who stretch their updates by `boost`; 0 is far enough to make the mean theirs."""

    boost: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.boost >= 0:
            raise BadValue("boost of the attack", self.boost, "a number from 0 up")

    def answer(self, job: Job, answer: Answer, attackers: frozenset[int]) -> Answer:
        """The boosted update. All attackers of a group together replace its mean."""
        cohort = job.cohort or (job.client,)
        boost = self.boost or len(cohort) / len(attackers.intersection(cohort))
        return replace(answer, model=job.model + boost * (answer.model - job.model), finite=None)


def stamped(images: NDArray[Any], size: int, bright: float) -> NDArray[Any]:
    """Images with a bright square, one pixel from the lower right corner.

    >>> stamped(np.zeros((1, 4, 4)), 2, 1.0)[0].astype(int).tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    images = images.copy()
    images[..., -size - 1 : -1, -size - 1 : -1] = bright
    return images
