"""Swapping and moving clients between groups to lower the summed CoV (Liu et al., Group-FEL, Eq. 33).

Not in a paper: Group-FEL stops at its greedy algorithm. A pass tries, for every client in random order, to trade
places with each client of another group and takes the trade that lowers the summed CoV most, so sizes stay as
they are. The two groups' new label counts are G_a - L_c + L_d and G_b - L_d + L_c, and their CoVs for all d
together are two products of a matrix and a vector: O(K^2 m) a pass. The sum never rises; a pass that finds no
trade is the last, and with all candidates in view no single trade can then lower the sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import Grouping, Labels, check_labels
from covey.grouping.measures import cov_of
from covey.grouping.pool import probe, union_table, view

Floats = NDArray[np.float64]
LEAST_GAIN = 1e-9


def swap_search(
    labels: Labels,
    grouping: Grouping,
    *,
    passes: int = 3,
    moves: bool = False,
    min_size: int = 1,
    candidates: int | None = None,
    rng: np.random.Generator,
) -> Grouping:
    """Lower the summed CoV of a `grouping` by trading clients between groups, at the same group sizes.

    Every client is looked at `passes` times, or until nothing gets better.
    With `moves` a client may also change group alone, as long as the one it leaves keeps `min_size` clients.
    `candidates` is how many partners a client looks at (all up to 20,000 clients, else 1,000).

    >>> labels = np.array([[9, 0], [9, 0], [0, 9], [0, 9]])
    >>> better = swap_search(labels, Grouping(((0, 1), (2, 3))), rng=np.random.default_rng(0))
    >>> better.sums(labels).tolist()
    [[9, 9], [9, 9]]
    """
    if passes < 0:
        raise BadValue("passes", passes, "a whole number from 0 up")
    if passes == 0 or len(grouping) < 2:
        return grouping
    state = _State(check_labels(labels), grouping)
    look_at = view(state.clients, candidates)
    for _ in range(passes):
        changed = 0
        for c in rng.permutation(state.clients).tolist():
            start = 0 if look_at >= state.clients else int(rng.random() * (state.clients - look_at + 1))
            changed += state.trade(c, slice(start, start + look_at))
            if moves:
                changed += state.move(c, min_size)
        if not changed:
            break
    return state.grouping(grouping)


class _State:
    """Who is in which group now; `others[c]` is what c's group holds without c."""

    def __init__(self, labels: Labels, grouping: Grouping) -> None:
        of = grouping.of(len(labels))
        self.ids = np.flatnonzero(of >= 0)
        self.clients, self.m = len(self.ids), labels.shape[1]
        self.group = of[self.ids]
        position = np.cumsum(of >= 0) - 1
        self.members = [position[list(members)].tolist() for members in grouping]
        self.rows = labels[self.ids].astype(np.float64)
        self.sums = grouping.sums(labels).astype(np.float64)
        self.covs = cov_of(self.sums)
        self.others = self.sums[self.group] - self.rows
        self.totals, self.other_totals = self.rows.sum(axis=1), self.others.sum(axis=1)
        self.some_hold_nothing = bool((self.totals == 0).any())
        self.unions, self.other_unions = union_table(self.rows), union_table(self.others)

    def trade(self, c: int, window: slice) -> bool:
        """Trade c with the client in the window with which the summed CoV falls most, if it falls."""
        a = int(self.group[c])
        row, rest = self.rows[c], self.others[c]
        here = self._covs(probe(rest) @ self.unions[:, window], self.totals[window] + self.other_totals[c])
        there = self._covs(probe(row) @ self.other_unions[:, window], self.other_totals[window] + self.totals[c])
        group = self.group[window]
        change = here + there
        change -= self.covs[group]
        change[group == a] = np.inf
        best = int(change.argmin())
        if change[best] > self.covs[a] - LEAST_GAIN:
            return False
        d = window.start + best
        b = int(self.group[d])
        self._transfer(c, b)
        self._transfer(d, a)
        self._refresh(a, b)
        return True

    def move(self, c: int, min_size: int) -> bool:
        """Move c alone to the group where that lowers the summed CoV most, if it does."""
        a = int(self.group[c])
        if len(self.members[a]) <= min_size:
            return False
        joined = cov_of(self.sums + self.rows[c]) - self.covs
        joined[a] = np.inf
        b = int(joined.argmin())
        if joined[b] + float(cov_of(self.others[c])) > self.covs[a] - LEAST_GAIN:
            return False
        self._transfer(c, b)
        self._refresh(a, b)
        return True

    def _covs(self, squares: Floats, totals: Floats) -> Floats:
        """CoV from |counts|^2 and the sum of the counts, in place; the worst where there is no sample."""
        totals *= totals
        if self.some_hold_nothing:
            empty = totals == 0
            squares[empty] = totals[empty] = 1
        squares /= totals
        squares *= self.m
        squares -= 1
        np.maximum(squares, 0, out=squares)
        return np.sqrt(squares, out=squares)

    def _transfer(self, c: int, k: int) -> None:
        a = int(self.group[c])
        self.members[a].remove(c)
        self.members[k].append(c)
        self.group[c] = k
        self.sums[a] -= self.rows[c]
        self.sums[k] += self.rows[c]

    def _refresh(self, a: int, b: int) -> None:
        """Groups a and b have changed: so have their CoVs and what their members see of the others."""
        self.covs[[a, b]] = cov_of(self.sums[[a, b]])
        changed = self.members[a] + self.members[b]
        others = self.sums[self.group[changed]] - self.rows[changed]
        self.others[changed] = others
        self.other_totals[changed] = others.sum(axis=1)
        self.other_unions[:, changed] = union_table(others)

    def grouping(self, before: Grouping) -> Grouping:
        """The groups as they are now; who was left out stays out, and heads do not survive trades."""
        groups = tuple(tuple(self.ids[members].tolist()) for members in self.members)
        return Grouping(groups, left_out=before.left_out)
