"""The clients that have no group yet, and how concentrated the labels of a growing group would be with each of them.

The concentration of a group is the sum of its squared label shares, sum_j p_j^2: CoV^2 + 1 = m times it, QCID = it -
1/m. With G the group's counts, L_c a client's, it is (|G|^2 + 2 G.L_c + |L_c|^2) / (n_G + n_c)^2 for the union: one
product of a vector and a matrix for all clients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import Labels

Floats = NDArray[np.float64]


def union_table(rows: Floats) -> Floats:
    """The (m + 2) x K table A for which `probe(g) @ A` is |g + row|^2 for each of the K rows.

    >>> rows = np.array([[3.0, 0.0], [1.0, 1.0]])
    >>> (probe(np.array([0.0, 4.0])) @ union_table(rows)).tolist()
    [25.0, 26.0]
    """
    return np.vstack([2 * rows.T, np.einsum("ij,ij->i", rows, rows), np.ones(len(rows))])


def probe(g: Floats) -> Floats:
    """The vector (g, 1, |g|^2)."""
    vector = np.empty(len(g) + 2)
    vector[:-2], vector[-2], vector[-1] = g, 1, g @ g
    return vector


def view(clients: int, candidates: int | None) -> int:
    """How many clients a greedy step looks at: `candidates`, else all up to 20,000 clients and 1,000 beyond.

    >>> view(500, None), view(500, 100), view(100_000, None)
    (500, 100, 1000)
    """
    if candidates is not None and candidates < 1:
        raise BadValue("candidates", candidates, "a whole number from 1 up")
    return candidates or (clients if clients <= 20_000 else 1_000)


class Pool:
    """Clients without a group, and the one group that is being built.

    Clients that have joined a group stay in the arrays, infinitely concentrated, until they are half of them.

    >>> pool = Pool(np.array([[2, 0], [0, 2], [1, 1]]))
    >>> pool.open()
    >>> pool.join(0), pool.concentrations().tolist()
    (0, [inf, 0.5, 0.625])
    """

    def __init__(self, labels: Labels) -> None:
        self.rows = labels.astype(np.float64)
        self.unions = union_table(self.rows)
        self.totals = self.rows.sum(axis=1)
        self.ids = np.arange(len(labels))
        self.free = np.ones(len(labels), dtype=bool)
        self.left = len(labels)
        self.scratch = np.empty((2, len(labels)))

    def open(self) -> None:
        """Start a new, empty group."""
        self.probe, self.total = probe(np.zeros(self.rows.shape[1])), 0.0
        self.counts = self.probe[:-2]

    @property
    def concentration(self) -> float:
        """The concentration of the group as it is."""
        return float(self.probe[-1]) / self.total**2 if self.total else 1.0

    def concentrations(self, window: slice | None = None) -> Floats:
        """The concentration of the group with each client (in the window); infinite for who is not free.

        The answer lasts until the next call, which writes over it.
        """
        unions, totals = self.unions, self.totals
        if window is not None:
            unions, totals = unions[:, window], totals[window]
        together, squares = self.scratch[0, : len(totals)], self.scratch[1, : len(totals)]
        self.probe.dot(unions, together)
        np.add(totals, self.total, out=squares)
        if self.total == 0:  # without a single sample: as concentrated as one label alone
            together[squares == 0] = np.maximum(together[squares == 0], 1)
            squares[squares == 0] = 1
        squares *= squares
        together /= squares
        return together

    def join(self, position: int) -> int:
        """Take the client at that position into the group and out of the pool; which client it is."""
        client = int(self.ids[position])
        self.counts += self.rows[client]
        self.probe[-1] = self.counts.dot(self.counts)
        self.total += float(self.totals[position])
        self.unions[-2, position] = np.inf
        self.free[client] = False
        self.left -= 1
        if self.left < len(self.ids) // 2:
            keep = self.free[self.ids]
            self.unions, self.totals, self.ids = self.unions[:, keep], self.totals[keep], self.ids[keep]
        return client
