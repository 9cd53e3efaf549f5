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

Floats = NDArray[np.float64]
ALL_UP_TO, SAMPLED = 20_000, 1_000
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
    """Lower the summed CoV by trading clients between groups, at the same group sizes.

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
    look_at = candidates or (SAMPLED if state.clients > ALL_UP_TO else state.clients)
    for _ in range(passes):
        changed = 0
        for c in rng.permutation(state.clients).tolist():
            start = 0 if look_at >= state.clients else int(rng.integers(state.clients - look_at + 1))
            changed += state.trade(c, slice(start, start + look_at))
            if moves:
                changed += state.move(c, min_size)
        if not changed:
            break
    return state.grouping(grouping)


class _State:
    """Rows are the grouped clients in random order; `others[d]` is what d's group holds without d."""

    def __init__(self, labels: Labels, grouping: Grouping) -> None:
        of = grouping.of(len(labels))
        self.ids = np.flatnonzero(of >= 0)
        self.clients, self.m = len(self.ids), labels.shape[1]
        self.rows = np.ascontiguousarray(labels[self.ids], dtype=np.float64)
        self.group = of[self.ids]
        self.totals = self.rows.sum(axis=1)
        self.norms = _squares(self.rows)
        self.sums = grouping.sums(labels).astype(np.float64)
        self.covs = cov_of(self.sums)
        self.members = [np.flatnonzero(self.group == k).tolist() for k in range(len(grouping))]
        self.others = self.sums[self.group] - self.rows
        self.other_totals = self.others.sum(axis=1)
        self.other_norms = _squares(self.others)

    def trade(self, c: int, window: slice) -> bool:
        """Trade c with the client in the window with which the summed CoV falls most, if it falls."""
        a, row = int(self.group[c]), self.rows[c]
        rest, rest_total = self.others[c], float(self.other_totals[c])
        here = self._covs(
            self.rows[window] @ rest,
            self.norms[window],
            float(self.other_norms[c]),
            self.totals[window] + rest_total,
        )
        there = self._covs(
            self.others[window] @ row,
            self.other_norms[window],
            float(self.norms[c]),
            self.other_totals[window] + float(self.totals[c]),
        )
        group = self.group[window]
        gain = here + there - self.covs[group]
        gain[group == a] = np.inf
        best = int(gain.argmin())
        if gain[best] > self.covs[a] - LEAST_GAIN:
            return False
        d = window.start + best
        b = int(self.group[d])
        in_a, in_b = rest + self.rows[d], self.others[d] + row
        self._transfer(c, b)
        self._transfer(d, a)
        self._set(a, in_a)
        self._set(b, in_b)
        return True

    def move(self, c: int, min_size: int) -> bool:
        """Move c alone to the group where that lowers the summed CoV most, if it does."""
        a = int(self.group[c])
        if len(self.members[a]) <= min_size:
            return False
        joined = cov_of(self.sums + self.rows[c]) - self.covs
        joined[a] = np.inf
        b = int(joined.argmin())
        rest = self.others[c].copy()
        if joined[b] + float(cov_of(rest)) > self.covs[a] - LEAST_GAIN:
            return False
        self._transfer(c, b)
        self._set(a, rest)
        self._set(b, self.sums[b] + self.rows[c])
        return True

    def _covs(self, cross: Floats, own: Floats, fixed: float, totals: Floats) -> Floats:
        """CoV of |x + y|^2 = own + 2 cross + fixed over totals^2, the worst where there is no sample."""
        cross *= 2
        cross += own
        cross += fixed
        totals *= totals
        empty = totals == 0
        if empty.any():
            cross[empty] = totals[empty] = 1
        cross /= totals
        cross *= self.m
        cross -= 1
        np.maximum(cross, 0, out=cross)
        return np.sqrt(cross, out=cross)

    def _transfer(self, c: int, k: int) -> None:
        self.members[self.group[c]].remove(c)
        self.members[k].append(c)
        self.group[c] = k

    def _set(self, k: int, total: Floats) -> None:
        """Group k now holds `total`; refresh what its members see of the others."""
        self.sums[k] = total
        self.covs[k] = cov_of(total)
        members = self.members[k]
        others = total - self.rows[members]
        self.others[members] = others
        self.other_totals[members] = others.sum(axis=1)
        self.other_norms[members] = _squares(others)

    def grouping(self, before: Grouping) -> Grouping:
        """The groups as they are now; who was left out stays out."""
        groups = tuple(tuple(self.ids[members].tolist()) for members in self.members)
        return Grouping(groups, left_out=before.left_out)


def _squares(rows: Floats) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", rows, rows)
    return squares
