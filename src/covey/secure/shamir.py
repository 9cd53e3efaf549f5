"""Shamir's secret sharing: any `threshold` of the shares give the secret back, fewer tell nothing about it.

A secret of 32 bytes is cut into 9 limbs of 30 bits; each limb is the value at 0 of its own random polynomial of degree
threshold - 1 over the integers modulo the prime 2^31 - 1, and the share of point x is the polynomials' values at x. So
shares for all points and all limbs are a few array operations, with products that fit into 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue

Entropy = Callable[[int], bytes]
"""Gives this many random bytes, as `secrets.token_bytes` does."""

PRIME = 2**31 - 1
SECRET_BYTES = 32
LIMB_BITS = 30
LIMBS = -(-8 * SECRET_BYTES // LIMB_BITS)
SHARE_BYTES = 4 * LIMBS


def split(secret: bytes, points: Sequence[int], threshold: int, entropy: Entropy) -> dict[int, bytes]:
    """The share of every point, a whole number from 1 up.

    >>> from secrets import token_bytes
    >>> shares = split(bytes(range(32)), [1, 2, 3], 2, token_bytes)
    >>> combine({1: shares[1], 3: shares[3]}) == bytes(range(32))
    True
    """
    if len(secret) != SECRET_BYTES:
        raise BadValue("secret", f"{len(secret)} bytes", f"{SECRET_BYTES} bytes")
    if not 1 <= threshold <= len(points):
        raise BadValue("threshold", threshold, f"a whole number from 1 to the number of shares, {len(points)}")
    if len(set(points)) < len(points) or not all(0 < x < PRIME for x in points):
        raise BadValue("points", list(points), "different whole numbers from 1 up")
    x = np.array(points, dtype=np.uint64)[:, None]
    values = np.zeros((len(points), LIMBS), dtype=np.uint64)
    for row in _random(threshold - 1, entropy):
        values = (values * x + row) % PRIME
    values = (values * x + _limbs(secret)) % PRIME
    return {point: share.astype("<u4").tobytes() for point, share in zip(points, values, strict=True)}


def combine(shares: Mapping[int, bytes]) -> bytes:
    """The secret that these shares, as many as the threshold, come from; other shares give other bytes."""
    if not shares:
        raise BadValue("shares", 0, "at least one")
    for share in shares.values():
        if len(share) != SHARE_BYTES:
            raise BadValue("share", f"{len(share)} bytes", f"{SHARE_BYTES} bytes")
    values = np.array([np.frombuffer(share, dtype="<u4") for share in shares.values()], dtype=np.uint64)
    limbs = (values % PRIME * _weights(tuple(shares))[:, None] % PRIME).sum(axis=0) % PRIME
    number = sum(int(limb) << (LIMB_BITS * j) for j, limb in enumerate(limbs))
    return (number % (1 << 8 * SECRET_BYTES)).to_bytes(SECRET_BYTES, "little")


def _limbs(secret: bytes) -> NDArray[np.uint64]:
    number = int.from_bytes(secret, "little")
    return np.array([(number >> (LIMB_BITS * j)) % (1 << LIMB_BITS) for j in range(LIMBS)], dtype=np.uint64)


def _random(rows: int, entropy: Entropy) -> NDArray[np.uint64]:
    """Rows of limbs, uniform modulo the prime: 31 random bits each, drawn again where they are the prime itself."""
    drawn = np.frombuffer(entropy(4 * rows * LIMBS), dtype="<u4") & np.uint32(PRIME)
    while (again := np.flatnonzero(drawn == PRIME)).size:
        drawn[again] = np.frombuffer(entropy(4 * again.size), dtype="<u4") & np.uint32(PRIME)
    return drawn.astype(np.uint64).reshape(rows, LIMBS)


@lru_cache(maxsize=4096)
def _weights(points: tuple[int, ...]) -> NDArray[np.uint64]:
    """Lagrange's weights at 0: the product of x_j / (x_j - x_i) over all j but i."""
    x = np.array(points, dtype=np.int64)
    above, below = np.ones(len(x), dtype=np.int64), np.ones(len(x), dtype=np.int64)
    for j, other in enumerate(points):
        mine = np.arange(len(x)) != j
        above = np.where(mine, above * other % PRIME, above)
        below = np.where(mine, below * ((other - x) % PRIME) % PRIME, below)
    inverses = np.array([pow(int(value), -1, PRIME) for value in below], dtype=np.int64)
    return (above * inverses % PRIME).astype(np.uint64)
