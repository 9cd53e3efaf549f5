"""What a partition is: a rule that deals a pool of samples to clients, and clients to edges.

By name, as in `dirichlet:0.1,min=20,max=200`, or in Python, as in `covey.data.dirichlet(0.1, min=20, max=200)`. The
rules themselves are in `schemes.py` and `diversity.py`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.fleet import EDGES
from covey.ragged import Indices, Ragged
from covey.registry import Registry, own_class
from covey.words import make, spelled

Rng = np.random.Generator


class Partition(ABC):
    """A frozen dataclass of settings that can `split` a pool.

    `name` and `example` are what a person types. Calling a partition checks the numbers that go in, and that nobody
    comes out empty.
    """

    name: ClassVar[str]
    example: ClassVar[str]

    @abstractmethod
    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Sequence[Indices]:
        """For every client the numbers of its samples in the pool.

        `y` are the samples' classes and `owners`, where known, their owners; `clients` is how many clients there are to
        be (None: as many as there are owners), at this many `edges`.
        """

    def __call__(
        self,
        y: Indices,
        *,
        clients: int | None,
        edges: int | None = None,
        owners: Indices | None = None,
        rng: Rng,
    ) -> tuple[Ragged, Indices]:
        """The samples of every client, and the edge of every client; no clients or 0 means all there are to know of.

        `edges` None is five edges, or one per client where there are fewer clients, unless the partition knows who sits
        where.
        """
        if edges is not None:
            whole("edges", edges, 1)
        if clients:
            whole("clients", clients, 1)
            if clients > len(y):
                raise BadValue("clients", clients, f"at most {len(y)}, one sample each")
            if edges is not None and edges > clients:
                raise BadValue("edges", edges, f"at most {clients}, one client each")
        many = edges or min(EDGES, clients or EDGES)
        parts = self._checked(self.split(y, clients, many, owners, rng), clients, len(y))
        if empty := int((parts.sizes == 0).sum()):
            raise BadValue(
                "partition",
                str(self),
                f"one that leaves no client empty, but {empty} of {len(parts)} would get none of {len(y)} samples",
            )
        if (known := self.places()) is not None:
            if edges is not None:
                raise BadValue("edges", edges, f"left out beside {str(self)!r}, which says who sits at which edge")
            return parts, known
        if edges is not None and edges > len(parts):
            raise BadValue("edges", edges, f"at most {len(parts)}, one client each")
        return parts, edge_of(len(parts), edges or min(EDGES, len(parts)))

    def everybody(self) -> bool:
        """Whether the partition itself knows how many clients there are."""
        return False

    def places(self) -> Indices | None:
        """The edge of every client, where the partition knows it."""
        return None

    def names(self) -> Sequence[str] | None:
        """What clients are called, where the partition knows it."""
        return None

    def pool(self, y: Indices) -> int | None:
        """How many samples of endless data it takes, the classes of whose samples are `y` over and over."""
        return None

    def _checked(self, given: object, clients: int | None, samples: int) -> Ragged:
        """What `split` gave, if it is a list of different samples for each of the clients."""
        try:
            parts = given if isinstance(given, Ragged) else _ragged(given)
        except (TypeError, ValueError):
            parts = None
        if (
            parts is None
            or (clients and len(parts) != clients)
            or (len(parts.flat) and not 0 <= parts.flat.min() <= parts.flat.max() < samples)
            or (len(parts.flat) and np.bincount(parts.flat).max() > 1)
        ):
            wanted = f"one that gives {clients or 'its'} clients lists of different samples from 0 to {samples - 1}"
            raise BadValue("partition", str(self), wanted)
        return parts

    def __str__(self) -> str:
        """What a person types to get this partition."""
        return spelled(getattr(self, "name", type(self).__name__), self)


_OWN = "a class with split(y, clients, edges, owners, rng), which gives every client's samples"

PARTITIONS: Registry[Callable[..., Partition]] = Registry("partition", own_class(_OWN, "split", Partition))


def edge_of(clients: int, edges: int) -> Indices:
    """Clients in contiguous parts, as equal as can be.

    >>> edge_of(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    return np.arange(clients) * edges // clients


def parse_partition(text: str | Partition) -> Partition:
    """The partition a word names (`covey.words`), or the partition itself.

    >>> parse_partition("dirichlet:0.1,max=200").alpha
    0.1
    >>> str(parse_partition("dirichlet:0.10,min=1"))
    'dirichlet:0.1'
    >>> parse_partition("dirichlet:a lot")
    Traceback (most recent call last):
    covey.errors.BadValue: alpha of dirichlet is 'a lot'; allowed is a number
    """
    return text if isinstance(text, Partition) else make(PARTITIONS, text)


def whole(name: str, value: object, low: int) -> None:
    """Refuse what is not a whole number from `low` up."""
    if not isinstance(value, Integral) or int(value) < low:
        raise BadValue(name, value, f"a whole number from {low} up")


def above_0(name: str, value: object) -> None:
    """Refuse what is not a number above 0."""
    if not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise BadValue(name, value, "a number above 0")


def given(clients: int | None) -> int:
    """How many clients; only natural partitions can do without being told."""
    if not clients:
        raise BadValue("clients", clients, "a whole number from 1 up (all there are is for natural partitions)")
    return clients


def truncated_normal(mean: float, sd: float, low: float, high: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """Draws from N(mean, sd^2) given that they lie in [low, high], which holds the mean."""
    if low == high:
        return np.full(size, float(mean))
    from scipy.special import ndtr, ndtri  # here, for it takes half a second to import

    quantiles = rng.uniform(ndtr((low - mean) / sd), ndtr((high - mean) / sd), size)
    return np.clip(mean + sd * ndtri(quantiles), low, high)


def deal(y: Indices, classes: Indices, counts: Indices, rng: Rng) -> Ragged:
    """Disjoint samples: `counts[i, c]` of `classes[c]` for client i."""
    sizes = counts.sum(axis=1)
    parts = Ragged.cut(np.empty(sizes.sum(), dtype=np.int64), sizes)
    starts = parts.offsets[:-1].copy()  # of the next class of every client
    for c, label in enumerate(classes):
        pool, ends = rng.permutation(np.flatnonzero(y == label)), np.cumsum(counts[:, c])
        spots = np.arange(ends[-1]) + np.repeat(starts - ends + counts[:, c], counts[:, c])
        parts.flat[spots] = pool[: ends[-1]]
        starts += counts[:, c]
    return parts


def by_owner(owners: Indices, wanted: Indices) -> Ragged:
    """The samples of each of these owners.

    >>> [part.tolist() for part in by_owner(np.array([7, 3, 7]), np.array([3, 5, 7]))]
    [[1], [], [0, 2]]
    """
    order = np.argsort(owners, kind="stable")
    known, sizes = np.unique(owners, return_counts=True)
    rows = Ragged.cut(order, np.append(sizes, 0))  # the last row is that of owners who have nothing
    places = np.searchsorted(known, wanted)
    there = known[np.minimum(places, len(known) - 1)] == wanted if len(known) else np.zeros(len(wanted), dtype=bool)
    return rows.take(np.where(there, places, len(known)))


def _ragged(given: object) -> Ragged | None:
    """Rows from what a user's `split` gave; None where they are not whole numbers."""
    found = [np.asarray(part) for part in given]  # type: ignore[attr-defined]
    if not all(part.ndim == 1 and (part.dtype.kind in "iu" or not part.size) for part in found):
        return None
    return Ragged.of(found)
