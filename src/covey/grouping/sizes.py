"""Groups of the sizes that were asked for: clients move from large groups to small ones, or groups are left out."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import Grouping

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def fit(group_of: Integers, distances: Floats, least: int, most: int | None = None) -> Integers:
    """`group_of` with clients moved until every group has `least` to `most` of them.

    `distances[i, k]` is how far client i is from group k; whoever is infinitely far from all but its own group
    stays. One at a time the move is made that adds least distance, into a group that is too small or out of one that
    is too large.

    >>> fit(np.array([0, 0, 0, 1]), np.array([[0, 9], [0, 5], [0, 7], [9, 0.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    group_of = group_of.copy()
    n, count = distances.shape
    most = n if most is None else most
    check_count(n, count, least, most)
    clients = np.arange(n)
    while True:
        sizes = np.bincount(group_of, minlength=count)
        small, large = sizes < least, sizes > most
        if not (small.any() or large.any()):
            return group_of
        extra = distances - distances[clients, group_of][:, None]
        possible = (sizes > least)[group_of][:, None] & (sizes < most) & (small | large[group_of][:, None])
        i, k = np.unravel_index(int(np.where(possible, extra, np.inf).argmin()), extra.shape)
        group_of[i] = k


def check_count(clients: int, groups: int, least: int, most: int) -> None:
    """Refuse a number of groups that cannot all have `least` to `most` clients."""
    if not groups * least <= clients:
        raise BadValue("min_size", least, f"at most {clients // groups}: {clients} clients came into {groups} groups")
    if not groups * most >= clients:
        raise BadValue("max_size", most, f"at least {-(-clients // groups)}: {clients} clients in {groups} groups")


def evened(groups: list[list[int]], least: int, most: int | None = None) -> list[list[int]]:
    """The groups after the largest have given their last clients to the smallest, until all have `least` to `most`.

    >>> evened([[0, 1, 2], [3], [4, 5]], 2)
    [[0, 1], [3, 2], [4, 5]]
    """
    most = max(map(len, groups)) if most is None else most
    sizes = [min(max(len(members), least), most) for members in groups]
    excess = sum(sizes) - sum(map(len, groups))
    step = -1 if excess > 0 else 1  # too many places: take them from the largest; too few: give the smallest more
    queue = [(step * size, k) for k, size in enumerate(sizes)]
    heapify(queue)
    for _ in range(abs(excess)):
        size, k = queue[0]
        heapreplace(queue, (size + 1, k))
        sizes[k] += step
    spare = [i for members, size in zip(groups, sizes, strict=True) for i in members[size:]]
    kept = [members[:size] for members, size in zip(groups, sizes, strict=True)]
    left = iter(spare)
    for members, size in zip(kept, sizes, strict=True):
        members += islice(left, size - len(members))
    return kept


def filled_to(min_size: int | None, *, drop: bool) -> int:
    """How many clients a group is filled up to, where groups short of `min_size` are not dropped instead."""
    if drop and min_size is None:
        raise BadValue("drop", drop, "False without a min_size: no group is too small then")
    return 1 if min_size is None or drop else min_size


def without_short(found: Sequence[Sequence[int]], least: int) -> Grouping:
    """The groups of at least that many clients; the clients of all others are left out.

    It is what the code of Group-FEL's authors does after every grouping.

    >>> without_short([[0, 3], [1], [2, 4]], 2)
    Grouping(groups=((0, 3), (2, 4)), left_out=(1,), heads=None, links=None)
    """
    whole = tuple(tuple(members) for members in found if len(members) >= least)
    return Grouping(whole, left_out=tuple(i for members in found if len(members) < least for i in members))


def check_someone_is_left(grouping: Grouping, method: str) -> Grouping:
    """The grouping, or `BadValue` where every group was too small."""
    if not len(grouping):
        raise BadValue("drop", True, f"False for this fleet, or a lower min_size: no group of {method} is large enough")
    return grouping
