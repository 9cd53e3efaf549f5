"""Grouping by insertion: nodes join one by one the group where they add least cost, around medoids that move.

What FedAvg-IC's NODE_GROUPING (Algorithm 1, lines 16 to 22) and TornadoAggregate's Group (Algorithm 3) share. Random
medoids open the groups; all other nodes are inserted in random order; every group picks its best medoid; again, until
the cost stands still. A cost is a sum of terms, and every term keeps running sums, so that trying all groups for a
node takes one pass over them.

Departures: the best grouping met is returned, not the last one. Not in the papers: `relocation` then moves nodes one at
a time to where the whole costs least. Insertion sees a node's part of the cost when groups are half empty, relocation
when they are full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.sizes import check_count

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEADY = 0.01
"""A pass that lowers the cost by no more than this share has not improved it."""

TIE = 1e-12
"""Costs (the whole is about 1) that differ by no more than this are equal: sums are rounded."""


class Term(Protocol):
    """One part of what a grouping costs."""

    def open(self, medoids: Integers) -> None:
        """Forget all groups; group k now holds `medoids[k]` alone."""

    def increase(self, node: int) -> Floats:
        """What the cost of every group would grow by, were the node in it."""

    def add(self, node: int, group: int) -> None:
        """Put the node there."""

    def remove(self, node: int, group: int) -> None:
        """Take the node out of its group, which keeps others."""

    def measure(self, group_of: Integers) -> tuple[float, Floats]:
        """What a whole grouping costs, and what every node would cost as the medoid of its group."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """A term with its weights: in the cost of a grouping, and in that of a medoid."""

    term: Term
    assign: float = 1.0
    update: float = 1.0


def insertion(
    terms: Sequence[Weighted],
    nodes: int,
    groups: int,
    *,
    rng: np.random.Generator,
    steady: int = 1,
    min_size: int = 1,
    max_size: int | None = None,
    random_ties: bool = False,
) -> tuple[Integers, Integers]:
    """The group of every node and the medoid of every group.

    `steady`: passes in a row without improvement after which to stop, 0 after the first pass; `min_size`, `max_size`:
    the least and the most nodes of a group; `random_ties`: draw among the groups that cost the same, else the first.
    """
    if not (isinstance(steady, int | np.integer) and steady >= 0):
        raise BadValue("steady", steady, "a whole number from 0 up")
    most = nodes if max_size is None else max_size
    check_count(nodes, groups, min_size, most)
    medoids: Integers = rng.choice(nodes, groups, replace=False)
    best, best_groups, best_medoids = np.inf, medoids, medoids
    waited = -1
    while waited < steady:
        group_of = _assign(terms, nodes, medoids, min_size, most, rng if random_ties else None, rng)
        cost, medoids = measured(terms, group_of, groups)
        waited = 0 if cost < (1 - STEADY) * best else waited + 1
        if cost < best:
            best, best_groups, best_medoids = cost, group_of, medoids
    return best_groups, best_medoids


def relocation(
    terms: Sequence[Weighted],
    group_of: Integers,
    groups: int,
    *,
    passes: int,
    min_size: int = 1,
    max_size: int | None = None,
    rng: np.random.Generator,
) -> Integers:
    """Move nodes one by one, in random order, to the group where the whole costs least, within the limits of sizes.

    A pass in which nobody moves is the last; the cost never rises.
    """
    group_of = group_of.copy()
    sizes = np.bincount(group_of, minlength=groups)
    medoids = np.unique(group_of, return_index=True)[1]  # the first node of every group
    for term in terms:
        term.term.open(medoids)
    for node in np.setdiff1d(np.arange(len(group_of)), medoids).tolist():
        _put(terms, node, int(group_of[node]))
    for _ in range(passes):
        moved = False
        for node in rng.permutation(len(group_of)).tolist():
            here = int(group_of[node])
            if sizes[here] <= min_size:
                continue
            for term in terms:
                term.term.remove(node, here)
            sizes[here] -= 1
            cost = np.where(sizes < (max_size or len(group_of)), 0.0, np.inf) + _increase(terms, node)
            there = int(cost.argmin())
            there = there if cost[there] < cost[here] - TIE else here
            _put(terms, node, there)
            sizes[there] += 1
            group_of[node] = there
            moved |= there != here
        if not moved:
            break
    return group_of


def measured(terms: Sequence[Weighted], group_of: Integers, groups: int) -> tuple[float, Integers]:
    """What the grouping costs, and the best medoids of its groups."""
    found = [term.term.measure(group_of) for term in terms]
    cost = sum(term.assign * total for term, (total, _) in zip(terms, found, strict=True))
    as_medoid = sum(term.update * each for term, (_, each) in zip(terms, found, strict=True))
    return cost, best_of_groups(np.broadcast_to(as_medoid, group_of.shape), group_of, groups)


def group_sums(rows: Floats, group_of: Integers) -> Floats:
    """The rows of every group, added up; no group is empty.

    >>> group_sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0])).tolist()
    [[5.0], [2.0]]
    """
    order, starts = _blocks(group_of)
    sums: Floats = np.add.reduceat(rows[order], starts, axis=0)
    return sums


def best_of_groups(cost: Floats, group_of: Integers, groups: int) -> Integers:
    """The node of least cost of every group.

    >>> best_of_groups(np.array([3.0, 1.0, 2.0]), np.array([0, 1, 0]), 2).tolist()
    [2, 1]
    """
    order = np.lexsort((cost, group_of))
    return order[np.searchsorted(group_of[order], np.arange(groups))]


def _blocks(group_of: Integers) -> tuple[Integers, Integers]:
    """Nodes in the order of their groups, and where every group begins."""
    order = np.argsort(group_of, kind="stable")
    return order, np.flatnonzero(np.diff(group_of[order], prepend=-1))


def _assign(
    terms: Sequence[Weighted],
    nodes: int,
    medoids: Integers,
    min_size: int,
    max_size: int,
    ties: np.random.Generator | None,
    rng: np.random.Generator,
) -> Integers:
    """One pass: the medoids open the groups, everybody else joins one, in random order.

    Once as many nodes are left as small groups need, all others are closed.
    """
    group_of = np.full(nodes, -1, dtype=np.int64)
    group_of[medoids] = np.arange(len(medoids))
    sizes, limit = np.ones(len(medoids), dtype=np.int64), max_size
    closed = np.where(sizes < limit, 0.0, np.inf)
    left, short = nodes - len(medoids), (min_size - 1) * len(medoids)
    for term in terms:
        term.term.open(medoids)
    for node in rng.permutation(np.flatnonzero(group_of < 0)).tolist():
        if left == short and limit != min_size:
            limit = min_size
            closed = np.where(sizes < limit, 0.0, np.inf)
        cost = closed + _increase(terms, node)
        k = int(cost.argmin())
        if ties is not None:
            equal = np.flatnonzero(cost <= cost[k] + TIE)
            k = int(equal[0] if len(equal) == 1 else ties.choice(equal))
        group_of[node] = k
        left -= 1
        short -= int(sizes[k] < min_size)
        sizes[k] += 1
        if sizes[k] >= limit:
            closed[k] = np.inf
        _put(terms, node, k)
    return group_of


def _increase(terms: Sequence[Weighted], node: int) -> Floats:
    return np.asarray(sum(term.assign * term.term.increase(node) for term in terms))


def _put(terms: Sequence[Weighted], node: int, group: int) -> None:
    for term in terms:
        term.term.add(node, group)
