"""Groups that came out too small are filled up with the clients who lose least by the move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def fill_up(group_of: Integers, distances: Floats, min_size: int) -> Integers:
    """`group_of` with clients moved until every group has `min_size` of them.

    `distances[i, k]` is how far client i is from group k; whoever is infinitely far from all but its own group
    stays. One at a time the move is made that adds least distance, out of groups that can spare a client.

    >>> fill_up(np.array([0, 0, 0, 1]), np.array([[0, 9], [0, 5], [0, 7], [9, 0.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    group_of = group_of.copy()
    count = distances.shape[1]
    clients = np.arange(len(group_of))
    while True:
        sizes = np.bincount(group_of, minlength=count)
        small = sizes < min_size
        if not small.any():
            return group_of
        extra = distances - distances[clients, group_of][:, None]
        possible = small[None, :] & (sizes[group_of] > min_size)[:, None] & np.isfinite(extra)
        i, k = np.unravel_index(int(np.where(possible, extra, np.inf).argmin()), extra.shape)
        group_of[i] = k
