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
