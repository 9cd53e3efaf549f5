"""Every random number comes from (seed, round, purpose): no global seed, and resuming needs no generator state."""

from __future__ import annotations

import hashlib

import numpy as np


def key(seed: int, *purpose: int | str) -> int:
    """A 63-bit number that depends on the seed and on every word of the purpose.

    >>> key(0, 1, "plan") == key(0, 1, "plan"), key(0, 1, "plan") == key(0, 2, "plan")
    (True, False)
    """
    text = "\x1f".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def generator(seed: int, *purpose: int | str) -> np.random.Generator:
    """A numpy generator for one purpose.

    >>> float(generator(0, 3, "sampling").random()) == float(generator(0, 3, "sampling").random())
    True
    """
    return np.random.default_rng(key(seed, *purpose))


def mix(base: int | np.ndarray, *words: int | np.ndarray) -> np.ndarray:
    """64-bit hashes of a base number and words, elementwise (splitmix64): one array operation for a whole wave."""
    with np.errstate(over="ignore"):
        state = np.asarray(base, dtype=np.uint64)
        for word in words:
            state = state ^ np.asarray(word).astype(np.uint64)
            state = state + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state
