"""Who takes part: how many samples of each label every client holds, at which edge it sits, when it is awake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.ragged import Indices as Indices
from covey.ragged import Ragged

Counts = NDArray[np.int64]

CLIENTS, PARTITION, EDGES = 50, "dirichlet:0.1", 5
"""What a fleet is unless told, on the command line as in Python; fewer edges where there are fewer clients."""

_EXACT = 2**53  # up to here floats hold every whole number


@dataclass(frozen=True, eq=False)
class FleetData:
    """The samples behind a fleet: one pool, and for every client which of them it trains and tests on.

    `x` is float32 (images, sound) or int64 (characters), `y` is int64. `test_x`, `test_y` are the global test set, of
    which no client holds anything. `train_of[i]` and `test_of[i]` index into the pool and do not overlap. They may be
    given as lists of arrays, and are kept as one array each (`covey.ragged`).
    """

    name: str
    x: NDArray[Any]
    y: NDArray[np.int64]
    test_x: NDArray[Any]
    test_y: NDArray[np.int64]
    train_of: Ragged
    test_of: Ragged
    classes: int

    if TYPE_CHECKING:  # lists are taken as well; what is kept is arrays

        def __init__(
            self,
            name: str,
            x: ArrayLike,
            y: ArrayLike,
            test_x: ArrayLike,
            test_y: ArrayLike,
            train_of: Sequence[ArrayLike],
            test_of: Sequence[ArrayLike],
            classes: int,
        ) -> None: ...

    def __post_init__(self) -> None:
        for field, value in checked_samples(self.x, self.y, self.test_x, self.test_y, self.classes).items():
            object.__setattr__(self, field, value)
        for field in ("train_of", "test_of"):
            object.__setattr__(self, field, _checked_owners(field, getattr(self, field), len(self.y)))
        if len(self.train_of) != len(self.test_of):
            raise BadValue("test_of", f"lists of {len(self.test_of)} clients", f"one per client: {len(self.train_of)}")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.x.shape[1:])

    def __repr__(self) -> str:
        return f"FleetData({self.name!r}, {len(self.y)} samples of shape {self.shape}, {self.classes} classes)"


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients 0 to n-1.

    `labels[i, c]` is how many training samples of class c client i holds; `edge_of[i]` is the edge it is attached to
    (all at edge 0 unless told); `window_of[i]`, where given, is the part of the day in which it is awake;
    `distances[i, j]`, where given, is what it costs to send a model from client i to client j, in hops, seconds or
    whatever else.

    >>> fleet = Fleet(np.array([[3, 0], [1, 2]]))
    >>> fleet
    Fleet(2 clients, 2 classes, 6 samples, 1 edge)
    >>> fleet.clients, fleet.sizes.tolist(), fleet.by_edge
    (2, [3, 3], [[0, 1]])
    """

    maker: ClassVar[Callable[..., Fleet] | None] = None  # covey.data sets it; this file knows no data sets

    labels: Counts
    edge_of: Indices | None = None
    names: tuple[str, ...] | None = None
    window_of: Indices | None = None
    data: FleetData | None = None
    distances: NDArray[np.float64] | None = None

    if TYPE_CHECKING:  # lists are taken as well; what is kept is arrays

        def __init__(
            self,
            labels: ArrayLike,
            edge_of: ArrayLike | None = None,
            names: Sequence[str] | None = None,
            window_of: ArrayLike | None = None,
            data: FleetData | None = None,
            distances: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        labels = whole_numbers("labels", self.labels, "counts from 0 up, a row per client and a column per class")
        if labels.ndim != 2 or 0 in labels.shape:
            raise BadValue("labels", labels.shape, "a table of at least one client by at least one class")
        if (labels < 0).any() or labels.sum(dtype=np.float64) >= _EXACT:
            raise BadValue("labels", int(labels.min() if (labels < 0).any() else labels.max()), "counts from 0 up")
        object.__setattr__(self, "labels", labels)
        for name in ("edge_of", "window_of"):
            if getattr(self, name) is not None:
                allowed = f"{len(labels)} whole numbers from 0 up, one per client"
                given = whole_numbers(name, getattr(self, name), allowed)
                if given.shape != (len(labels),) or (given < 0).any():
                    raise BadValue(name, given.tolist(), allowed)
                object.__setattr__(self, name, given)
        if self.names is not None:
            if isinstance(self.names, str) or len(self.names) != len(labels):
                raise BadValue("names", self.names, f"{len(labels)} texts, one per client")
            object.__setattr__(self, "names", tuple(map(str, self.names)))
        if self.data is not None:
            self._check_data(self.data)
        if self.distances is not None:
            object.__setattr__(self, "distances", _checked_distances(self.distances, len(labels)))

    def _check_data(self, data: FleetData) -> None:
        if not isinstance(data, FleetData):
            raise BadValue("data", data, "a covey.FleetData")
        if len(data.train_of) != self.clients or data.classes != self.classes:
            found = f"of {len(data.train_of)} clients and {data.classes} classes"
            raise BadValue("data", found, f"of as many clients and classes as the labels: {self.labels.shape}")

    @classmethod
    def load(
        cls,
        data: object = "digits",
        *,
        clients: int | None = None,
        partition: object = None,
        edges: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> Fleet:
        """A fleet on data by name or of one's own, split by a partition: `covey.load_fleet` says what each means.

        Unless told it is the fleet of `covey run` and `covey compare`.
        """
        if cls.maker is None:
            raise RuntimeError("Fleet.load needs covey.data: import it, or use covey.Fleet")
        return cls.maker(data, clients=clients, partition=partition, edges=edges, seed=seed, **options)

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.labels)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.labels.shape[1])

    @cached_property
    def sizes(self) -> Counts:
        """Training samples per client."""
        sizes: Counts = self.labels.sum(axis=1)
        sizes.flags.writeable = False  # all who ask are given the same array
        return sizes

    @property
    def by_edge(self) -> list[list[int]]:
        """The clients of every edge that has any."""
        if self.edge_of is None:
            return [list(range(self.clients))]
        return [np.flatnonzero(self.edge_of == e).tolist() for e in np.unique(self.edge_of)]

    @property
    def called(self) -> Sequence[str]:
        """What every client is called: its name, else its number."""
        return self.names if self.names is not None else [str(i) for i in range(self.clients)]

    def edge(self, client: int) -> int:
        """The edge that client is attached to."""
        return 0 if self.edge_of is None else int(self.edge_of[client])

    def with_edges(self, edge_of: Sequence[int] | Indices) -> Fleet:
        """The same clients attached to other edges."""
        return replace(self, edge_of=edge_of)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        edges = 1 if self.edge_of is None else len(np.unique(self.edge_of))
        parts = [f"{self.clients} clients", f"{self.classes} classes", f"{self.labels.sum()} samples"]
        parts.append(f"{edges} edges" if edges > 1 else "1 edge")
        return f"Fleet({', '.join([*parts, *([self.data.name] if self.data else [])])})"


def whole_numbers(field: str, given: object, allowed: str) -> NDArray[np.int64]:
    """An array of whole numbers from whatever holds some: lists, tuples, arrays, tensors, floats that are whole.

    >>> whole_numbers("labels", [[1.0, 2.5]], "counts from 0 up")
    Traceback (most recent call last):
    covey.errors.BadValue: labels is 2.5; allowed is counts from 0 up
    """
    array = _array(field, given, allowed)
    if array.dtype.kind == "f":
        wrong = ~(np.abs(array) < _EXACT) | (array != np.round(array))
    elif array.dtype.kind == "u":
        wrong = array > np.iinfo(np.int64).max
    elif array.dtype.kind in "ib" or not array.size:
        return array.astype(np.int64, copy=False)
    else:
        raise BadValue(field, given, allowed)
    if wrong.any():
        raise BadValue(field, array[wrong][0].item(), allowed)
    return array.astype(np.int64, copy=False)


def checked_samples(x: object, y: object, test_x: object, test_y: object, classes: object) -> dict[str, Any]:
    """Samples and their classes as arrays of the types that a fleet holds, or `BadValue`."""
    if isinstance(classes, bool) or not isinstance(classes, int | np.integer) or classes < 1:
        raise BadValue("classes", classes, "a whole number from 1 up")
    found: dict[str, Any] = {"classes": int(classes)}
    for field, labels, given, along in (("x", "y", x, y), ("test_x", "test_y", test_x, test_y)):
        samples = _array(field, given, "an array of numbers, one row per sample")
        if samples.dtype.kind not in "iubf" or samples.ndim < 1:
            raise BadValue(field, f"of type {samples.dtype}", "an array of numbers, one row per sample")
        allowed = f"one class a row of {field}, from 0 to {classes - 1}"
        of = whole_numbers(labels, along, allowed)
        if of.shape != samples.shape[:1]:
            raise BadValue(labels, f"of shape {of.shape}", f"{allowed}: {len(samples)} of them")
        if len(of) and not 0 <= of.min() <= of.max() < classes:
            raise BadValue(labels, int(of.max() if of.min() >= 0 else of.min()), allowed)
        found |= {field: samples.astype(np.float32 if samples.dtype.kind == "f" else np.int64, copy=False), labels: of}
    shape, other = found["x"].shape[1:], found["test_x"].shape[1:]
    if shape != other and len(found["test_x"]):
        raise BadValue("test_x", f"samples of shape {other}", f"of shape {shape}, as in x")
    return found


def _checked_owners(field: str, given: object, samples: int) -> Ragged:
    allowed = f"for every client the numbers of its samples, from 0 to {samples - 1}"
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise BadValue(field, given, allowed)
    if not isinstance(given, Ragged):
        rows = [whole_numbers(field, part, allowed) for part in given]
        for row in rows:
            if row.ndim != 1:
                raise BadValue(field, row.tolist(), allowed)
        given = Ragged.of(rows)
    wrong = (given.flat < 0) | (given.flat >= samples)
    if wrong.any():
        raise BadValue(field, given[int(given.rows[wrong][0])].tolist(), allowed)
    return given


def _array(field: str, given: object, allowed: str) -> NDArray[Any]:
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths, tensors that are still being trained
        array = np.asarray(None)
    if array.dtype == object:
        raise BadValue(field, given, allowed)
    return array


def _checked_distances(distances: Any, clients: int) -> NDArray[np.float64]:
    try:
        table = np.asarray(distances, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadValue("distances", type(distances).__name__, "a table of numbers, clients by clients") from None
    if table.shape != (clients, clients):
        raise BadValue(
            "distances", table.shape, f"a table of {clients} by {clients}, one row and one column per client"
        )
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise BadValue("distances", float(table.min()), "finite numbers from 0 up")
    return table
