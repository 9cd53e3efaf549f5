"""KLDG: give the next client to the group whose distance from even labels grows least.

The grouping of SHARE (Deng et al., "SHARE: Shaping Data Distribution at Edge for Communication-Efficient
Hierarchical Federated Learning"), as Liu et al., Group-FEL, Section 4.4, bring it to groups: one random client opens
each group; then, until nobody is left, the pair (client, group) with the least increase of KL(P_g || uniform) is
applied.

Literally that is O(K^4 m). Here a table keeps the increase of every pair; a step changes one group, so one row of
the table, and every group remembers its best client: O(K^2 m) logarithms, the same groups.

Departures: labels a group does not hold count as one sample, so the logarithm exists. SHARE knows no least size: ask
for `groups` alone to have it that way. Where `min_size` is given, groups short of it get the last clients; with
`drop=True` they are left out instead, as in Group-FEL's code. With `edges` every edge groups its own clients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.per_edge import Clients, per_edge
from covey.grouping.sizes import check_someone_is_left, filled_to, without_short

Floats = NDArray[np.float64]


def kldg(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64] | None = None,
    drop: bool = False,
) -> Grouping:
    """Groups grown together, always by the pair of client and group that costs least balance.

    Groups may differ much in size unless `min_size` is given; `drop` leaves out groups short of it instead of filling
    them up.

    >>> labels = np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    >>> sorted(kldg(labels, groups=2, rng=np.random.default_rng(1)).sums(labels).tolist())
    [[9, 9], [9, 9]]
    """
    filled, table = filled_to(min_size, drop=drop), check_labels(labels)

    def form(at: Clients, groups: int | None, least: int, rng: np.random.Generator) -> Grouping:
        count = how_many(len(at), groups, min_size, max_size)
        seeds = rng.choice(len(at), count, replace=False)
        found = _grow(table[at].astype(np.float64), seeds, filled, max_size or len(at))
        return without_short(found, least if drop else 1)

    everyone = np.arange(len(table))
    found = per_edge(form, everyone, edges=edges, groups=groups, min_size=min_size, max_size=max_size, rng=rng)
    return check_someone_is_left(found, "kldg") if drop else found


GROUPINGS.add("kldg", kldg, paper="Deng et al., SHARE; Liu et al., Group-FEL, Section 4.4")


def smoothed_kl(sums: Floats) -> Floats:
    """KL(shares || uniform) of every row, with empty labels counted as one sample.

    >>> smoothed_kl(np.array([[1.0, 0.0], [3.0, 1.0]])).round(4).tolist()
    [0.0, 0.1308]
    """
    counts = np.maximum(sums, 1.0)
    totals = counts @ np.ones(sums.shape[-1])
    # sum p log(m p) = sum c log(c) / t - log(t) + log(m)
    entropy = np.einsum("...j,...j->...", counts, np.log(counts)) / totals - np.log(totals)
    kl: Floats = entropy + np.log(sums.shape[-1])
    return kl


def _grow(rows: Floats, seeds: NDArray[np.int64], least: int, most: int) -> list[list[int]]:
    """From one client a group to all of them, one pair at a time, to at least `least` and at most `most` a group."""
    found = [[int(seed)] for seed in seeds]
    sums = rows[seeds]
    free = np.ones(len(rows), dtype=bool)
    free[seeds] = False
    increase = np.empty((len(seeds), len(rows)))
    best = np.empty(len(seeds), dtype=np.int64)
    cost = np.empty(len(seeds))

    def choose(k: int) -> None:
        best[k] = increase[k].argmin()
        cost[k] = increase[k, best[k]]

    def update(k: int, kl: float) -> None:
        open_ = free if len(found[k]) < most else False
        increase[k] = np.where(open_, smoothed_kl(sums[k] + rows) - kl, np.inf)
        choose(k)

    kls = smoothed_kl(sums)
    for k, kl in enumerate(kls):
        update(k, kl)
    short = (least - 1) * len(seeds)
    for left in range(len(rows) - len(seeds), 0, -1):
        short_only = left == short
        open_to = np.where([len(g) < least for g in found], cost, np.inf) if short_only else cost
        k = int(open_to.argmin())
        client = int(best[k])
        short -= len(found[k]) < least
        found[k].append(client)
        sums[k] += rows[client]
        kls[k] += cost[k]
        free[client] = False
        increase[:, client] = np.inf
        for other in np.flatnonzero(best == client).tolist():
            choose(other)
        update(k, kls[k])
    return found
