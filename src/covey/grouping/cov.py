"""CoV-Grouping: groups whose label counts vary little, built greedily, one client at a time.

Liu et al., "Group Formation and Sampling in Group-based Hierarchical Federated Learning" (Group-FEL), Section 4,
Algorithm 2. Symbols: MinGS is `min_size`, MaxCoV is `max_cov`, L is `labels`.

CoV is standard deviation over mean of a group's label counts. With G the group's counts, c a candidate's and m
the number of labels, CoV(g + c)^2 + 1 = m (|G|^2 + 2 G.L_c + |L_c|^2) / (n_g + n_c)^2, so that trying every
candidate is one product of a matrix and a vector: O(K^2 m) in all where the pseudo-code takes O(K^3 m), for the
same groups.

Departures: Eq. 31 as printed is divided by sqrt(m), here it is not (MaxCoV = 1 would never bind). A last group
short of MinGS joins the group it helps most, so that Eq. 35 holds (`rest="drop"` leaves it out). Above 20,000
clients each step looks at 1,000 candidates rather than at all. `groups` asks for that many groups of even size,
for which MaxCoV has no say.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, even_sizes
from covey.grouping.local_search import swap_search
from covey.grouping.measures import cov_of
from covey.grouping.per_edge import per_edge

ALL_UP_TO, SAMPLED = 20_000, 1_000


def cov(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64] | None = None,
    max_cov: float = 1.0,
    rest: Literal["merge", "drop"] = "merge",
    candidates: int | None = None,
    search: int = 0,
) -> Grouping:
    """Grow one group after the other by the client that lowers its coefficient of variation most.

    `candidates` is how many clients each step looks at (all up to 20,000 clients, else 1,000); `search` is how
    many passes of swaps lower the summed CoV afterwards, at the same group sizes.

    >>> labels = np.array([[8, 0, 0], [0, 8, 0], [0, 0, 8], [4, 4, 0], [0, 0, 8], [4, 4, 0]])
    >>> cov(labels, min_size=3, rng=np.random.default_rng(0)).sums(labels).tolist()
    [[8, 8, 8], [8, 8, 8]]
    """
    if not max_cov >= 0:
        raise BadValue("max_cov", max_cov, "a number from 0 up")
    if rest not in ("merge", "drop"):
        raise BadValue("rest", rest, "'merge' or 'drop'")
    if candidates is not None and candidates < 1:
        raise BadValue("candidates", candidates, "a whole number from 1 up")

    def form(labels: Labels, groups: int | None, min_size: int, rng: np.random.Generator) -> Grouping:
        look_at = candidates or (SAMPLED if len(labels) > ALL_UP_TO else len(labels))
        if groups is None:
            found = _greedy(labels, repeat(min_size), max_cov, look_at, rng)
            grouping = _settle_rest(labels, found, min_size, rest)
        else:
            found = _greedy(labels, iter(even_sizes(len(labels), groups)), np.inf, look_at, rng)
            grouping = Grouping(tuple(map(tuple, found)))
        return swap_search(labels, grouping, passes=search, candidates=candidates, rng=rng)

    return per_edge(form, check_labels(labels), edges=edges, groups=groups, min_size=min_size, rng=rng)


GROUPINGS.add("cov", cov, paper="Liu et al., Group-FEL, Algorithm 2")


def _greedy(
    labels: Labels, least: Iterator[int], max_cov: float, look_at: int, rng: np.random.Generator
) -> list[list[int]]:
    """Algorithm 2; the k-th group has at least the k-th of `least` clients, the last what is left."""
    m = labels.shape[1]
    pool = _Pool(labels, rng.permutation(len(labels)))
    highest = (max_cov**2 + 1) / m
    found: list[list[int]] = []
    while pool.left:
        members = [pool.open_group()]
        least_size = next(least)
        while pool.left and (len(members) < least_size or pool.concentration > highest):
            position, concentration = pool.best(look_at, rng)
            if len(members) >= least_size and concentration >= pool.concentration:
                break
            members.append(pool.join(position, concentration))
        found.append(members)
    return found


class _Pool:
    """Clients without a group, and the counts of the group being built.

    The measure compared is the concentration sum_j p_j^2 = (CoV^2 + 1) / m of the group's label shares p. Clients
    that have joined a group stay in the arrays with an infinite norm until half of them have, then are dropped.
    """

    def __init__(self, labels: Labels, picks: NDArray[np.int64]) -> None:
        self.rows = np.ascontiguousarray(labels, dtype=np.float64)
        self.totals = self.rows.sum(axis=1)
        self.norms = np.einsum("ij,ij->i", self.rows, self.rows)
        self.ids = np.arange(len(labels))
        self.where = np.arange(len(labels))
        self.left = len(labels)
        self.picks = iter(picks.tolist())
        self.free = np.ones(len(labels), dtype=bool)

    def open_group(self) -> int:
        """Start a new group with the first client in the order of `picks` that is free."""
        client = next(c for c in self.picks if self.free[c])
        self.sum, self.total = np.zeros(self.rows.shape[1]), 0.0
        position = int(self.where[client])
        return self.join(position, _worst_if_empty(self.norms[position], self.totals[position]))

    def best(self, look_at: int, rng: np.random.Generator) -> tuple[int, float]:
        """The free client that makes the group least concentrated: its position and that concentration."""
        start = 0 if look_at >= len(self.ids) else int(rng.integers(len(self.ids) - look_at + 1))
        position, concentration = self._best_in(slice(start, start + look_at))
        if concentration == np.inf:  # nobody free in this window
            position, concentration = self._best_in(slice(0, len(self.ids)))
            return position, concentration
        return start + position, concentration

    def _best_in(self, window: slice) -> tuple[int, float]:
        squares = self.rows[window] @ self.sum
        squares *= 2
        squares += self.norms[window]
        squares += self.sum @ self.sum
        totals = self.totals[window] + self.total
        if self.total == 0:  # a group without a single sample counts as the worst there is
            squares[(totals == 0) & np.isfinite(squares)] = 1
            totals[totals == 0] = 1
        totals *= totals
        squares /= totals
        position = int(squares.argmin())
        return position, float(squares[position])

    def join(self, position: int, concentration: float) -> int:
        """Take the client at that position into the group and out of the pool."""
        client = int(self.ids[position])
        self.sum = self.sum + self.rows[position]
        self.total += float(self.totals[position])
        self.concentration = concentration
        self.norms[position] = np.inf
        self.free[client] = False
        self.left -= 1
        if self.left < len(self.ids) // 2:
            self._compact()
        return client

    def _compact(self) -> None:
        keep = np.isfinite(self.norms)
        self.rows, self.totals, self.norms, self.ids = (
            array[keep] for array in (self.rows, self.totals, self.norms, self.ids)
        )
        self.where[self.ids] = np.arange(len(self.ids))


def _worst_if_empty(norm: float, total: float) -> float:
    return float(norm / total**2) if total else 1.0


def _settle_rest(labels: Labels, found: list[list[int]], least: int, rest: str) -> Grouping:
    """Merge a last group short of `least` into the group whose CoV that lowers most, or leave it out."""
    *whole, last = found
    if len(last) >= least or not whole:
        return Grouping(tuple(map(tuple, found)))
    if rest == "drop":
        return Grouping(tuple(map(tuple, whole)), left_out=tuple(last))
    before = np.array([labels[members].sum(axis=0) for members in whole])
    after = before + labels[last].sum(axis=0)
    whole[int(np.argmin(cov_of(after) - cov_of(before)))] += last
    return Grouping(tuple(map(tuple, whole)))
