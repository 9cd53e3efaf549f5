"""Discrete Gaussian noise, whole numbers k with chance proportional to exp(-k^2 / 2 sigma^2).

Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, Algorithm 3, for a whole
vector at once: discrete Laplace numbers of scale floor(sigma) + 1, each kept with the chance that makes it Gaussian.
Two departures: chances are computed in double precision, and the random bits are ChaCha20's.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.secure.keys import mask


def discrete_gaussian(sigma: float, count: int, seed: bytes) -> NDArray[np.int64]:
    """This many numbers, from a seed of 32 bytes that is used once.

    >>> drawn = discrete_gaussian(3.0, 10_000, bytes(32))
    >>> bool(abs(drawn.mean()) < 0.15), bool(abs(drawn.std() / 3 - 1) < 0.03)
    (True, True)
    """
    if not 0 < sigma < 2**40:
        raise BadValue("noise", sigma, "a standard deviation above 0 and below 2^40 levels")
    scale = math.floor(sigma) + 1
    kept: list[NDArray[np.int64]] = []
    missing, block = count, 0
    while missing > 0:
        tries = 2 * missing + 64
        uniform = _uniform(seed, block, 3 * tries).reshape(3, tries)
        block += 1
        laplace = np.floor(-scale * np.log(uniform[0])) - np.floor(-scale * np.log(uniform[1]))
        chance = np.exp(-((np.abs(laplace) - sigma**2 / scale) ** 2) / (2 * sigma**2))
        found = laplace[uniform[2] < chance][:missing].astype(np.int64)
        kept.append(found)
        missing -= len(found)
    return np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)


def _uniform(seed: bytes, block: int, count: int) -> NDArray[np.float64]:
    """Numbers above 0 and at most 1, in steps of 2^-53; every block of a seed has its own."""
    own = bytes(a ^ b for a, b in zip(seed, block.to_bytes(len(seed), "little"), strict=True))
    bits = mask(np.zeros(2 * count, dtype=np.uint32), own).view(np.uint64) >> np.uint64(11)
    return (bits + 1).astype(np.float64) * 2.0**-53
