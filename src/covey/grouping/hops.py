"""Hops between clients of whom only the edge is known, without a table of all pairs.

`distances` may be such an object in place of a table: 1,000,000 clients take 8 MB where a table would take 8 TB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue


@dataclass(frozen=True, eq=False)
class EdgeHops:
    """Hops through a shared edge (`near`) or through the cloud (`far`).

    >>> EdgeHops(np.array([0, 0, 1])).table().tolist()
    [[0.0, 2.0, 4.0], [2.0, 0.0, 4.0], [4.0, 4.0, 0.0]]
    """

    edge_of: NDArray[np.int64]
    near: float = 2.0
    far: float = 4.0

    def __post_init__(self) -> None:
        if not 0 <= self.near <= self.far:
            raise BadValue("near", self.near, f"a number from 0 to {self.far}, the hops between edges")

    def __repr__(self) -> str:
        return f"hops of {len(self.edge_of)} clients"

    def taken(self, at: NDArray[np.int64]) -> EdgeHops:
        """The same for some of the clients."""
        return EdgeHops(self.edge_of[at], self.near, self.far)

    def table(self) -> NDArray[np.float64]:
        """Clients x clients, for methods that need all pairs."""
        distances = np.where(self.edge_of[:, None] == self.edge_of, self.near, self.far)
        np.fill_diagonal(distances, 0)
        return distances

    def to_server(self, members: Sequence[int], server: int | None = None) -> float:
        """The hops of all members to the server, or to the member for whom they are fewest: one at the commonest edge.

        >>> hops = EdgeHops(np.array([0, 0, 1]))
        >>> hops.to_server((0, 1, 2)), hops.to_server((0, 1, 2), server=2)  # 2 + 4, 4 + 4
        (6.0, 8.0)
        """
        edges = self.edge_of[list(members)]
        beside = int(np.unique(edges, return_counts=True)[1].max()) if server is None else 0
        if server is not None:
            beside = int((edges == self.edge_of[server]).sum())
        return self.near * (beside - 1) + self.far * (len(edges) - beside)


def table_of(distances: EdgeHops | NDArray[np.float64]) -> NDArray[np.float64]:
    """All pairs, whichever way they are given."""
    return distances.table() if isinstance(distances, EdgeHops) else np.asarray(distances, dtype=np.float64)
