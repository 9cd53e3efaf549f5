"""The five nodes: Train, Star, Ring, Mesh and Forest, and the places where models can be."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from covey.errors import BadPlan


class Place(NamedTuple):
    """Where a model can be: the cloud, an edge server or a client."""

    kind: Literal["cloud", "edge", "client"]
    number: int = 0

    def __str__(self) -> str:
        return "cloud" if self.kind == "cloud" else f"{self.kind} {self.number}"


cloud = Place("cloud")


def edge(number: int) -> Place:
    """The edge server of that number."""
    return Place("edge", int(number))


def client(number: int) -> Place:
    """The client of that number, as a place where models meet (a group's head)."""
    return Place("client", int(number))


class _Node:
    """What the five nodes share: print shows the tree."""

    __slots__ = ()

    def __str__(self) -> str:
        from covey.plan.draw import draw

        return draw(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Train(_Node):
    """This client trains the model it gets.

    `epochs` defaults to the run's setting; `rate` multiplies the run's learning rate. It is a leaf: no children.
    """

    children: ClassVar[tuple[Plan, ...]] = ()

    client: int
    epochs: int | None = None
    rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "client", _whole("Train", "client", self.client, 0))
        if self.epochs is not None:
            epochs = _whole(f"Train of client {self.client}", "epochs", self.epochs, 1)
            object.__setattr__(self, "epochs", epochs)
        if not (self.rate >= 0 and math.isfinite(self.rate)):
            raise BadPlan(f"Train of client {self.client} has rate {self.rate}; allowed is 0 or more")


@dataclass(frozen=True, slots=True)
class Star(_Node):
    """All children start from one model and their results are merged; again `rounds` times.

    `weights` are by the samples of those who answered unless given (one number per child, or "uniform"); `merge` names
    how models become one.

    >>> print(Star([Ring([Train(0), Train(1)]), Train(2)], at=edge(3)))
    Star at edge 3
    ├─ Ring
    │  └─ Train 0, 1
    └─ Train 2
    """

    children: tuple[Plan, ...]
    rounds: int = 1
    at: Place = cloud
    weights: tuple[float, ...] | None = None
    merge: str | None = None

    def __init__(
        self,
        children: Iterable[Plan],
        *,
        rounds: int = 1,
        at: Place = cloud,
        weights: Sequence[float] | Literal["uniform"] | None = None,
        merge: str | None = None,
    ) -> None:
        kept = _children("Star", children)
        object.__setattr__(self, "children", kept)
        object.__setattr__(self, "rounds", _whole("Star", "rounds", rounds, 1))
        object.__setattr__(self, "at", _place("Star", at))
        object.__setattr__(self, "weights", _weights("Star", weights, len(kept)))
        object.__setattr__(self, "merge", merge)


@dataclass(frozen=True, slots=True)
class Ring(_Node):
    """One child after another; the model is handed on, directly or by way of the place `via`, which relays it.

    >>> print(Ring([Train(0, epochs=2), Train(1)], via=cloud))
    Ring via cloud
    ├─ Train 0, 2 epochs
    └─ Train 1
    """

    children: tuple[Plan, ...]
    via: Place | None = None

    def __init__(self, children: Iterable[Plan], *, via: Place | None = None) -> None:
        object.__setattr__(self, "children", _children("Ring", children))
        object.__setattr__(self, "via", None if via is None else _place("Ring", via))


@dataclass(frozen=True, slots=True)
class Forest(_Node):
    """Each child keeps its own model and nobody mixes.

    At the root child j reads and writes the run's model number `slots[j]` (j unless told); models that no child names
    stay as they are. `at` is where the models meet when one model is wanted.
    """

    children: tuple[Plan, ...]
    slots: tuple[int, ...]
    at: Place = cloud

    def __init__(self, children: Iterable[Plan], *, slots: Sequence[int] | None = None, at: Place = cloud) -> None:
        kept = _children("Forest", children)
        object.__setattr__(self, "children", kept)
        object.__setattr__(self, "slots", _slots("Forest", slots, len(kept)))
        object.__setattr__(self, "at", _place("Forest", at))


@dataclass(frozen=True, slots=True)
class Mesh(_Node):
    """Each child keeps its own model, then mixes it with its neighbours'.

    `links` are pairs of children, or a symmetric 0/1 matrix. `weights` are the children's shares in a mix: equal unless
    given, "samples" for the samples of those who answered. `slots` and `at` as in `Forest`.

    >>> print(Mesh([Train(0), Train(1), Train(2)], links=[(0, 1), (1, 2)]))
    Mesh linked 0-1, 1-2
    └─ Train 0, 1, 2
    """

    children: tuple[Plan, ...]
    links: tuple[tuple[int, int], ...]
    weights: tuple[float, ...] | Literal["samples"] | None
    slots: tuple[int, ...]
    at: Place = cloud

    def __init__(
        self,
        children: Iterable[Plan],
        links: Any,
        *,
        weights: Sequence[float] | Literal["samples"] | None = None,
        slots: Sequence[int] | None = None,
        at: Place = cloud,
    ) -> None:
        kept = _children("Mesh", children)
        object.__setattr__(self, "children", kept)
        object.__setattr__(self, "links", _links(links, len(kept)))
        by_samples = isinstance(weights, str) and weights == "samples"
        object.__setattr__(self, "weights", "samples" if by_samples else _weights("Mesh", weights, len(kept)))
        object.__setattr__(self, "slots", _slots("Mesh", slots, len(kept)))
        object.__setattr__(self, "at", _place("Mesh", at))

    def neighbours(self, child: int) -> list[int]:
        """The children linked to that one, in ascending order."""
        return sorted(b if a == child else a for a, b in self.links if child in (a, b))


Plan: TypeAlias = Train | Star | Ring | Mesh | Forest
NODES = (Train, Star, Ring, Mesh, Forest)


def _whole(owner: str, name: str, value: Any, low: int) -> int:
    """That value as a whole number; floats that are whole are fine, since arrays of them are common."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        number = int(value)
        if number == value and number >= low:
            return number
    raise BadPlan(f"{owner} has {name} {value!r}; allowed is a whole number from {low} up")


def _place(kind: str, at: Place) -> Place:
    if not isinstance(at, Place):
        raise BadPlan(f"{kind} is at {at!r}; allowed are cloud, edge(number) and client(number)")
    return at


def _children(kind: str, children: Iterable[Plan]) -> tuple[Plan, ...]:
    if isinstance(children, NODES):
        raise BadPlan(f"{kind} takes a list of nodes, not one {type(children).__name__}")
    kept = tuple(children)
    if not kept:
        raise BadPlan(f"{kind} is empty; it needs at least one child")
    for child in kept:
        if not isinstance(child, NODES):
            raise BadPlan(f"{kind} has the child {child!r}; allowed are Train, Star, Ring, Mesh and Forest")
    return kept


def _weights(kind: str, weights: Sequence[float] | str | None, k: int) -> tuple[float, ...] | None:
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "uniform":
            raise BadPlan(f"{kind} has weights {weights!r}; allowed are numbers or 'uniform'")
        return (1.0,) * k
    kept = tuple(float(w) for w in weights)
    if len(kept) != k:
        raise BadPlan(f"{kind} has {len(kept)} weights for {k} children; give one per child")
    if not all(w >= 0 and math.isfinite(w) for w in kept) or sum(kept) <= 0:
        raise BadPlan(f"{kind} has weights {list(kept)}; allowed are numbers from 0 up, not all 0")
    return kept


def _slots(kind: str, slots: Sequence[int] | None, k: int) -> tuple[int, ...]:
    kept = tuple(range(k)) if slots is None else tuple(_whole(kind, "slot", s, 0) for s in slots)
    if len(kept) != k or len(set(kept)) != k:
        raise BadPlan(f"{kind} has slots {list(kept)} for {k} children; give each child its own number from 0 up")
    return kept


def _links(links: Any, k: int) -> tuple[tuple[int, int], ...]:
    rows = [tuple(_whole("Mesh", "a link with", v, 0) for v in row) for row in links]
    is_matrix = len(rows) == k and all(len(row) == k and not row[a] for a, row in enumerate(rows))
    if is_matrix and {v for row in rows for v in row} <= {0, 1}:
        for a in range(k):
            for b in range(a):
                if rows[a][b] != rows[b][a]:
                    raise BadPlan(f"Mesh links {a} to {b} one way only; links must be symmetric")
        rows = [(a, b) for a in range(k) for b in range(a, k) if rows[a][b]]
    pairs = set()
    for row in rows:
        if len(row) != 2 or row[0] == row[1] or not all(0 <= v < k for v in row):
            raise BadPlan(f"Mesh has the link {row}; allowed are pairs of two different children, 0 to {k - 1}")
        pairs.add((min(row), max(row)))
    return tuple(sorted(pairs))
