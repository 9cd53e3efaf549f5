"""Differential privacy for clients: updates are clipped, each counts alike, and the sum gets Gaussian noise.

McMahan et al., "Learning Differentially Private Recurrent Language Models", ICLR 2018, Algorithm 1. An update, buffers
included, longer than `norm` is scaled down to it; the server adds N(0, (noise x norm)^2) to the sum and divides by the
number of models that came. Neighbouring fleets differ in the update of one client being there or being zero, so that
numbers of clients are no secret. `covey.privacy` says which epsilon that comes to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import MERGES, CannotMerge, Gathering
from covey.merge.clip import shrink


def check_noise(name: str, norm: float, noise: float, delta: float) -> None:
    """Refuse what gives no privacy, or none that can be counted."""
    for field, value in (("norm", norm), ("noise", noise)):
        if not 0 < value < float("inf"):
            raise BadValue(f"{field} of {name}", value, "a number above 0")
    if not 0 < delta < 1:
        raise BadValue(f"delta of {name}", delta, "a number above 0 and below 1")


@MERGES.register("private", paper="McMahan et al. 2018")
@dataclass(frozen=True)
class Private:
    """The mean of clipped updates with Gaussian noise of `noise` x `norm` on their sum; epsilon is for `delta`.

    With `amplify`, epsilon assumes that everybody takes part in a round with the same chance and in secret.
    """

    innermost: ClassVar[bool] = True

    norm: float = 1.0
    noise: float = 1.0
    delta: float = 1e-5
    amplify: bool = False

    def __post_init__(self) -> None:
        check_noise("private", self.norm, self.noise, self.delta)

    def open(self, gathering: Gathering) -> _Noised:
        """Begin one merge."""
        return _Noised(self, gathering)


class _Noised:
    """The sum of clipped updates, streaming."""

    def __init__(self, settings: Private, gathering: Gathering) -> None:
        self._settings, self._gathering = settings, gathering
        self._sum: Tensor = torch.zeros_like(gathering.start, dtype=torch.float64)
        self._came = 0

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Take one more update in; every member counts alike."""
        update = (model - self._gathering.start)[None]
        factor = shrink(update, self._settings.norm)
        self._gathering.count("clipped_models", int((factor < 1).sum()))
        self._sum += update[0] * factor
        self._came += 1

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The mean, with noise, on top of the model that all started from."""
        if not self._came:
            raise CannotMerge("no model came in")
        rng = torch.Generator().manual_seed(self._gathering.key)
        deviation = self._settings.noise * self._settings.norm
        noisy = self._sum + deviation * torch.randn(self._sum.shape, generator=rng, dtype=torch.float64)
        merged: Tensor = self._gathering.start + (noisy / self._came).to(self._gathering.start.dtype)
        return merged
