"""CoV-Grouping: groups whose label counts vary little, built greedily, one client at a time.

Liu et al., "Group Formation and Sampling in Group-based Hierarchical Federated Learning" (Group-FEL), Section 4,
Algorithm 2. Symbols: MinGS is `min_size`, MaxCoV is `max_cov`, L is `labels`.

CoV is standard deviation over mean of a group's label counts. Trying every candidate is one product of a vector
and a matrix (see `pool`): O(K^2 m) in all where the pseudo-code takes O(K^3 m), for the same groups.

Departures: Eq. 31 as printed is divided by sqrt(m), here it is not (MaxCoV = 1 would never bind). A last group
short of MinGS joins the group it helps most, so that Eq. 35 holds and nobody is left out. Above 20,000
clients each step looks at 1,000 candidates rather than at all. `groups` asks for that many groups of even size,
for which MaxCoV has no say. `drop=True` is the rule of the authors' code, which gives Table 1: a group that nobody
improves is closed even below MinGS, and groups below MinGS are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, even_sizes
from covey.grouping.local_search import swap_search
from covey.grouping.measures import cov_of
from covey.grouping.per_edge import Clients, per_edge
from covey.grouping.pool import Pool, view
from covey.grouping.sizes import check_someone_is_left, without_short


def cov(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64] | None = None,
    max_cov: float = 1.0,
    drop: bool = False,
    candidates: int | None = None,
    search: int = 0,
) -> Grouping:
    """Grow one group after the other by the client that lowers its coefficient of variation most.

    `max_cov` is the CoV at which a group that is large enough stops growing; `drop` closes groups that nobody improves
    and leaves out those short of `min_size`; `candidates` is how many clients each step looks at (all up to 20,000
    clients, else 1,000); `search` is how many passes of swaps lower the summed CoV afterwards, at the same group sizes.

    >>> labels = np.array([[8, 0, 0], [0, 8, 0], [0, 0, 8], [4, 4, 0], [0, 0, 8], [4, 4, 0]])
    >>> cov(labels, min_size=3, rng=np.random.default_rng(0)).sums(labels).tolist()
    [[8, 8, 8], [8, 8, 8]]
    """
    if not max_cov >= 0:
        raise BadValue("max_cov", max_cov, "a number from 0 up")
    if drop and groups is not None:
        raise BadValue("drop", drop, "False where groups is given: groups of even size are never too small")

    table = check_labels(labels)

    def form(at: Clients, groups: int | None, least: int, rng: np.random.Generator) -> Grouping:
        labels = table[at]
        look_at, most = view(len(at), candidates), max_size or len(at)
        if groups is None:
            found = _greedy(labels, repeat(least), max_cov, look_at, rng, most=most, close_early=drop)
            grouping = without_short(found, least) if drop else _settle_rest(labels, found, least, most)
        else:
            found = _greedy(labels, iter(even_sizes(len(at), groups)), np.inf, look_at, rng)
            grouping = Grouping(tuple(map(tuple, found)))
        return swap_search(labels, grouping, passes=search, candidates=candidates, rng=rng)

    everyone = np.arange(len(table))
    found = per_edge(form, everyone, edges=edges, groups=groups, min_size=min_size, max_size=max_size, rng=rng)
    return check_someone_is_left(found, "cov") if drop else found


GROUPINGS.add("cov", cov, paper="Liu et al., Group-FEL, Algorithm 2")


def _greedy(
    labels: Labels,
    least: Iterator[int],
    max_cov: float,
    look_at: int,
    rng: np.random.Generator,
    *,
    most: int | None = None,
    close_early: bool = False,
) -> list[list[int]]:
    """Algorithm 2; the k-th group has at least the k-th of `least` clients, the last what is left.

    No group has more than `most`; with `close_early` a group that nobody improves is closed at any size.

    Concentrations (see `pool`) are compared in place of CoVs: they fall and rise together.
    """
    pool = Pool(labels)
    highest = (max_cov**2 + 1) / labels.shape[1]
    found: list[list[int]] = []
    for first in rng.permutation(len(labels)).tolist():
        if not pool.free[first]:
            continue
        pool.open()
        members = [pool.join(int(np.searchsorted(pool.ids, first)))]
        concentration = pool.concentration
        least_size = next(least)
        while pool.left and (len(members) < least_size or concentration > highest) and len(members) != most:
            position, lowest = _best(pool, look_at, rng)
            if (close_early or len(members) >= least_size) and lowest >= concentration:
                break
            members.append(pool.join(position))
            concentration = lowest
        found.append(members)
    return found


def _best(pool: Pool, look_at: int, rng: np.random.Generator) -> tuple[int, float]:
    """The position of the free client that leaves the group least concentrated, and that concentration."""
    if look_at < len(pool.ids):
        start = int(rng.random() * (len(pool.ids) - look_at + 1))
        together = pool.concentrations(slice(start, start + look_at))
        position = int(together.argmin())
        if together[position] < np.inf:  # else nobody in this window is free
            return start + position, float(together[position])
    together = pool.concentrations()
    position = int(together.argmin())
    return position, float(together[position])


def _settle_rest(labels: Labels, found: list[list[int]], least: int, most: int) -> Grouping:
    """Merge a last group short of `least` into the group whose CoV that lowers most and that has room.

    Where no group has room for all of it, its clients go one by one; where there is too little room for them, they stay
    together and get clients of groups that can spare them.
    """
    *whole, last = found
    if len(last) >= least or not whole:
        return Grouping(tuple(map(tuple, found)))
    room = [most - len(members) for members in whole]
    if max(room) >= len(last):
        whole[_best_place(labels, whole, last, len(last), most)] += last
    elif sum(room) >= len(last):
        for client in last:
            whole[_best_place(labels, whole, [client], 1, most)].append(client)
    else:
        while len(last) < least:
            last.append(_spared(labels, whole, last, least))
        whole.append(last)
    return Grouping(tuple(map(tuple, whole)))


def _best_place(labels: Labels, whole: list[list[int]], clients: list[int], count: int, most: int) -> int:
    """The group whose CoV falls most with these clients, among those that have room."""
    before = np.array([labels[members].sum(axis=0) for members in whole])
    change = cov_of(before + labels[clients].sum(axis=0)) - cov_of(before)
    full = np.array([len(members) + count > most for members in whole])
    return int(np.where(full, np.inf, change).argmin())


def _spared(labels: Labels, whole: list[list[int]], last: list[int], least: int) -> int:
    """The client of a group larger than `least` whose move to `last` costs least balance; it leaves its group."""
    own = labels[last].sum(axis=0)
    moves = []
    for k, members in enumerate(whole):
        if len(members) > least:
            rows, sums = labels[members], labels[members].sum(axis=0)
            change = cov_of(sums - rows) - cov_of(sums) + cov_of(own + rows)
            best = int(change.argmin())
            moves.append((float(change[best]), k, best))
    _, k, best = min(moves)
    return whole[k].pop(best)
