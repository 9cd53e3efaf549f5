"""What a client does to samples as it trains on them: every time another random view of each.

A word names it, with + between several: `crop:4+flip` is what photographs are usually trained with (Krizhevsky et al.
2012, He et al. 2016), Group-FEL's on CIFAR-10 too. Every sample has draws of its own in every epoch, which come from
(seed, round, client, visit, epoch), so that a client sees the same views whoever trains it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from covey import words
from covey.errors import BadValue
from covey.registry import Registry, own_class

NONE = "none"


class Augmentation(Protocol):
    """Makes views of samples."""

    def apply(self, x: Tensor, draws: Tensor) -> Tensor:
        """A view of every sample, in the shape and type of `x`, whose first dimension counts samples.

        `draws` has a whole number for each, even over 0 to 2^63 - 1; nothing else may be drawn.
        """


_OWN = "a class with apply(x, draws), which gives views of the samples x"

AUGMENTATIONS: Registry[Callable[..., Augmentation]] = Registry("augmentation", own_class(_OWN, "apply"))


@AUGMENTATIONS.register("crop", paper="Krizhevsky et al. 2012")
@dataclass(frozen=True)
class Crop:
    """Pictures moved by up to `pad` pixels, black where nothing was: cut out of the picture with a black border."""

    pad: int = 4

    def __post_init__(self) -> None:
        if self.pad < 1:
            raise BadValue("pad of crop", self.pad, "a whole number from 1 up")

    def apply(self, x: Tensor, draws: Tensor) -> Tensor:
        """Every picture moved down and right, each way by -pad to pad pixels."""
        height, width = _sides(x, "crop")
        if self.pad >= min(height, width):
            raise BadValue("pad of crop", self.pad, f"less than the sides of pictures, which are {height} x {width}")
        steps = 2 * self.pad + 1
        down, right = draws % steps - self.pad, draws // steps % steps - self.pad
        rows = torch.arange(height, device=x.device) - down[:, None]
        columns = torch.arange(width, device=x.device) - right[:, None]
        there = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
        pixels = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
        flat = x.reshape(*x.shape[:2], -1)
        moved = flat.gather(2, pixels.reshape(len(x), 1, -1).expand(-1, x.shape[1], -1))
        return moved.reshape(x.shape) * there[:, None]


@AUGMENTATIONS.register("flip", paper="Krizhevsky et al. 2012")
@dataclass(frozen=True)
class Flip:
    """Every other picture, by chance, with left and right exchanged."""

    def apply(self, x: Tensor, draws: Tensor) -> Tensor:
        """The mirror image where the draw is odd."""
        _sides(x, "flip")
        return torch.where((draws % 2 == 1).view(-1, 1, 1, 1), x.flip(-1), x)


def make_augmentations(word: str) -> tuple[Augmentation, ...]:
    """What a word such as `crop:4+flip` names, in its order; none of `none`.

    >>> make_augmentations("crop:2+flip"), make_augmentations("none")
    ((Crop(pad=2), Flip()), ())
    """
    if word == NONE:
        return ()
    return tuple(words.make(AUGMENTATIONS, part, field="augment") for part in word.split("+"))


def _sides(x: Tensor, who: str) -> tuple[int, int]:
    """Height and width of pictures; what is none is refused."""
    if x.dim() != 4:
        shape = " x ".join(map(str, x.shape[1:]))
        raise BadValue("augment", who, f"none for samples of shape {shape}, which are no pictures")
    return x.shape[-2], x.shape[-1]
