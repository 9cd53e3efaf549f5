"""Who takes part: how many samples of each label every client holds, at which edge it sits, when it is awake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue

if TYPE_CHECKING:
    from covey.data.partition import Partition

Counts = NDArray[np.int64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FleetData:
    """The samples behind a fleet: one pool, and for every client which of them it trains and tests on.

    `x` is float32 (images, sound) or int64 (characters), `y` is int64. `test_x`, `test_y` are the global test set, of
    which no client holds anything. `train_of[i]` and `test_of[i]` index into the pool and do not overlap.
    """

    name: str
    x: NDArray[Any]
    y: NDArray[np.int64]
    test_x: NDArray[Any]
    test_y: NDArray[np.int64]
    train_of: tuple[Indices, ...]
    test_of: tuple[Indices, ...]
    classes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.x.shape[1:])


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients 0 to n-1.

    `labels[i, c]` is how many training samples of class c client i holds; `edge_of[i]` is the edge it is attached to
    (all at edge 0 unless told); `window_of[i]`, where given, is the part of the day in which it is awake.

    >>> fleet = Fleet(np.array([[3, 0], [1, 2]]))
    >>> fleet.clients, fleet.sizes.tolist(), fleet.edges
    (2, [3, 3], [[0, 1]])
    """

    labels: Counts
    edge_of: Indices | None = None
    names: tuple[str, ...] | None = None
    window_of: Indices | None = None
    data: FleetData | None = None

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        if labels.ndim != 2 or 0 in labels.shape:
            raise BadValue("labels", labels.shape, "a table of at least one client by at least one class")
        if (labels < 0).any():
            raise BadValue("labels", int(labels.min()), "counts from 0 up")
        object.__setattr__(self, "labels", labels.astype(np.int64))
        for name in ("edge_of", "window_of"):
            given = getattr(self, name)
            if given is not None:
                given = np.asarray(given, dtype=np.int64)
                if given.shape != (len(labels),) or (given < 0).any():
                    raise BadValue(name, given.tolist(), f"{len(labels)} numbers from 0 up, one a client")
                object.__setattr__(self, name, given)

    @classmethod
    def load(
        cls,
        data: str,
        *,
        clients: int,
        partition: Partition | str = "iid",
        edges: int = 1,
        seed: int = 0,
        **options: Any,
    ) -> Fleet:
        """A fleet on a named data set, split by a named partition; see `covey.data.load_fleet`."""
        from covey.data import load_fleet

        return load_fleet(data, clients=clients, partition=partition, edges=edges, seed=seed, **options)

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.labels)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.labels.shape[1])

    @property
    def sizes(self) -> Counts:
        """Training samples per client."""
        sizes: Counts = self.labels.sum(axis=1)
        return sizes

    @property
    def edges(self) -> list[list[int]]:
        """The clients of every edge that has any."""
        if self.edge_of is None:
            return [list(range(self.clients))]
        return [np.flatnonzero(self.edge_of == e).tolist() for e in np.unique(self.edge_of)]

    def edge(self, client: int) -> int:
        """The edge that client is attached to."""
        return 0 if self.edge_of is None else int(self.edge_of[client])

    def with_edges(self, edge_of: Sequence[int] | Indices) -> Fleet:
        """The same clients attached to other edges."""
        return replace(self, edge_of=np.asarray(edge_of, dtype=np.int64))
