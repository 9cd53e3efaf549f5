"""How small the thresholds of IHC-FL can be: below these values problem (1) has no answer.

The paper sets epsilon = max_i min_j delta_ij and gamma = 1.8 epsilon (section III-C); that gamma often leaves the
heads disconnected. What is computed here is necessary; for degree 2 it is nearly always sufficient as well, while
networks of higher degree often need more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from covey.grouping.ihc.problem import Flags, Floats, Integers, Pair, Problem


def paper_epsilon(deltas: Floats) -> float:
    """Section III-C: the largest distance of a client from the client most like it.

    >>> paper_epsilon(np.array([[0.0, 0.1, 0.5], [0.1, 0.0, 0.4], [0.5, 0.4, 0.0]]))
    0.4
    """
    if len(deltas) == 1:
        return 0.0
    return float(np.where(np.eye(len(deltas), dtype=bool), np.inf, deltas).min(axis=1).max())


def cover(may_follow: Flags, first: Floats) -> list[int]:
    """Heads that everybody can follow, picked greedily by whom they newly reach; `first` breaks ties.

    >>> cover(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool), np.zeros(3))
    [0, 2]
    """
    reaches = may_follow | np.eye(len(may_follow), dtype=bool)
    missing = np.ones(len(reaches), dtype=bool)
    heads: list[int] = []
    while missing.any():
        gain = reaches[missing].sum(axis=0)
        heads.append(int(np.lexsort((first, -gain))[0]))
        missing &= ~reaches[:, heads[-1]]
    return heads


def least_epsilon(problem: Problem, heads: int) -> float:
    """The smallest epsilon from the problem's own up with which a greedy choice of that many heads reaches all."""
    order = np.arange(problem.clients, dtype=np.float64)

    def enough(epsilon: float) -> bool:
        return len(cover(replace(problem, epsilon=epsilon).may_follow, order)) <= heads

    if enough(problem.epsilon):
        return problem.epsilon
    steps = np.unique(problem.deltas[problem.deltas > problem.epsilon])
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(float(steps[middle])) else (middle + 1, high)
    return float(steps[low])


def least_gamma(problem: Problem) -> float:
    """The smallest gamma from the problem's own up that two or more heads could be connected with.

    Where epsilon <= gamma, everybody is connected with its head by a pair within gamma, so the pairs within gamma
    connect all clients: gamma is at least the longest distance in the minimum spanning tree. Every pair of that tree
    parts the clients in two, and a network of even degree crosses between two parts at least twice.
    """
    if problem.epsilon > problem.gamma or problem.clients < 3:
        return problem.gamma
    deltas = np.where(np.eye(problem.clients, dtype=bool), np.inf, problem.deltas)
    for i, j in problem.forbidden:
        deltas[i, j] = deltas[j, i] = np.inf
    tree = _spanning_tree(deltas)
    least = max([problem.gamma, *(float(deltas[pair]) for pair in tree)])
    reach = np.sort(problem.may_follow.sum(axis=0) + 1)
    two_heads_may_do = reach[-2:].sum() >= problem.clients and problem.heads in (None, 2)
    if problem.degree % 2 == 0 and not two_heads_may_do:  # two heads have one link only
        for side in _sides(problem.clients, tree):
            least = max(least, _to_cross_twice(problem, deltas, side, least))
    return least if np.isfinite(least) else float(problem.deltas.max())


def _to_cross_twice(problem: Problem, deltas: Floats, side: Integers, enough: float) -> float:
    """The gamma with which a network can cross twice between `side` and the rest, or 0 if `enough` is enough."""
    rest = np.ones(problem.clients, dtype=bool)
    rest[side] = False
    follows_out: Flags = np.asarray((problem.may_follow[side] & rest).any(axis=1))
    if follows_out.all():  # no need for heads on this side
        return 0.0
    within = (deltas[side] <= enough) & rest
    if min(within.any(axis=1).sum(), within.any(axis=0).sum()) >= 2:
        return 0.0
    follows_in: Flags = problem.may_follow[np.ix_(rest, side)].any(axis=1)
    if follows_in.all():
        return 0.0
    across = deltas[np.ix_(side, rest)]
    if problem.degree > 2:  # one head may have both links
        return float(np.partition(across, 1, axis=None)[1])
    ways = [_two_disjoint(across)]
    for rows, inside, follows in ((across, side, follows_out), (across.T, np.flatnonzero(rest), follows_in)):
        within = problem.may_follow[np.ix_(inside, inside)] | np.eye(len(inside), dtype=bool)
        alone = (within | follows[:, None]).all(axis=0)  # as the only head of its side
        if rows.shape[1] > 1 and alone.any():
            ways.append(float(np.partition(rows[alone], 1, axis=1)[:, 1].min()))
    return min(ways)


def _two_disjoint(across: Floats) -> float:
    """The smallest limit within which two entries lie that share neither row nor column.

    >>> _two_disjoint(np.array([[1.0, 2.0], [4.0, 9.0]]))
    4.0
    """
    i, j = np.unravel_index(int(across.argmin()), across.shape)
    without_row, without_column = np.delete(across, i, axis=0), np.delete(across, j, axis=1)
    beside = np.delete(without_row, j, axis=1).min(initial=np.inf)
    instead = max(without_row[:, j].min(initial=np.inf), without_column[i].min(initial=np.inf))
    return float(min(beside, instead))


def _spanning_tree(deltas: Floats) -> list[Pair]:
    """Prim's algorithm on a full table, one row per step; pairs are (parent, child), parents first."""
    outside = np.ones(len(deltas), dtype=bool)
    outside[0] = False
    nearest, by = deltas[0].copy(), np.zeros(len(deltas), dtype=np.int64)
    tree = []
    for _ in range(len(deltas) - 1):
        left = np.flatnonzero(outside)
        child = int(left[nearest[left].argmin()])
        tree.append((int(by[child]), child))
        outside[child] = False
        closer = deltas[child] < nearest
        nearest, by = np.where(closer, deltas[child], nearest), np.where(closer, child, by)
    return tree


def _sides(clients: int, tree: list[Pair]) -> Iterator[Integers]:
    """For every pair of the tree the smaller of the two sides it connects."""
    below = [[i] for i in range(clients)]
    for parent, child in reversed(tree):
        below[parent] += below[child]
    for _, child in tree:
        side = np.array(below[child])
        yield side if 2 * len(side) <= clients else np.setdiff1d(np.arange(clients), side)
