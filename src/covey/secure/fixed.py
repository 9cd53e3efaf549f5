"""Fixed-point numbers: what secure aggregation adds up instead of floating-point ones.

A value x in [-clip, clip] becomes the whole number round(x / resolution), kept modulo 2^32, with resolution
2 clip / levels. Sums of several such numbers are read back right as long as numbers x levels < 2^32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue

Words = NDArray[np.uint32]
MODULUS = 2**32


@dataclass(frozen=True)
class FixedPoint:
    """Values in [-clip, clip] in this many levels.

    >>> fixed = FixedPoint(clip=8, levels=2**22)
    >>> words, clipped = fixed.encode([0.5, -9.0])
    >>> fixed.decode(words).tolist(), clipped
    ([0.5, -8.0], 1)
    """

    clip: float = 8.0
    levels: int = 2**22

    def __post_init__(self) -> None:
        if not 0 < self.clip < float("inf"):
            raise BadValue("clip", self.clip, "a number above 0")
        if not 2 <= self.levels < MODULUS:
            raise BadValue("levels", self.levels, "a whole number from 2 up and below 2^32")

    @classmethod
    def fitting(cls, clip: float, numbers: int) -> FixedPoint:
        """As many levels, a power of two, as sums of this many numbers leave room for.

        >>> FixedPoint.fitting(8.0, 20).levels == 2**27  # 20 x 2^27 < 2^32 < 20 x 2^28
        True
        """
        if not 1 <= numbers < MODULUS // 2:
            raise BadValue("numbers", numbers, "a whole number from 1 up and below 2^31")
        return cls(clip, 1 << (((MODULUS - 1) // numbers).bit_length() - 1))

    @property
    def resolution(self) -> float:
        """The step from one level to the next."""
        return 2 * self.clip / self.levels

    def room(self, numbers: int) -> bool:
        """Whether the sum of this many numbers is read back right, whatever they are."""
        return numbers * self.levels < MODULUS

    def encode(self, values: ArrayLike, scale: float = 1.0) -> tuple[Words, int]:
        """The values, clipped, then multiplied by `scale` (at most 1), as whole numbers; and how many were clipped."""
        given = np.asarray(values, dtype=np.float64)
        if not np.isfinite(given).all():
            raise BadValue("values", "not finite", "finite numbers")
        inside = np.clip(given, -self.clip, self.clip)
        clipped = int(np.count_nonzero(inside != given))
        inside *= scale / self.resolution
        return np.rint(inside, out=inside).astype(np.int64).astype(np.uint32), clipped

    def decode(self, words: Words) -> NDArray[np.float64]:
        """The values of whole numbers, or of sums of them."""
        return words.view(np.int32).astype(np.float64) * self.resolution
