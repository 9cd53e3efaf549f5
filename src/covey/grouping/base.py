"""What a grouping is, the table of all groupings, and how many groups a number of clients makes.

A grouping is a function `f(labels, *, groups=None, min_size=None, max_size=None, rng, …) -> Grouping` whose groups keep
to the sizes asked for. What else it works on it takes under these names: `edges` (edge of every client; who takes it
keeps groups inside edges), `distances` (clients x clients hops or costs), `updates` (clients x d model updates or
gradients), `sizes` (samples per client), `names`. One without a default is needed. `by_name` calls groupings by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.registry import Entry, Registry

Labels = NDArray[np.int64]
"""How many samples of every class every client holds: clients x classes."""


@dataclass(frozen=True)
class Grouping:
    """Who trains with whom.

    `heads[k]` is the client that leads group k (a medoid, a cluster head); `links` are pairs of groups whose
    heads talk to each other. Both are None where the grouping has none.

    >>> grouping = Grouping(((0, 3), (1,)), left_out=(2,))
    >>> len(grouping), grouping.sizes.tolist(), grouping.of(4).tolist()
    (2, [2, 1], [0, 1, -1, 0])
    """

    groups: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...] = ()
    heads: tuple[int, ...] | None = None
    links: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "groups", tuple(tuple(int(i) for i in members) for members in self.groups))
        set_(self, "left_out", tuple(int(i) for i in self.left_out))
        if not all(self.groups):
            raise BadValue("groups", self.groups, "groups of at least one client each")
        everyone = [i for members in (*self.groups, self.left_out) for i in members]
        if len(set(everyone)) < len(everyone):
            twice = min(i for i, count in Counter(everyone).items() if count > 1)
            raise BadValue("groups", f"client {twice} twice", "every client in one group or left out, once")
        if everyone and min(everyone) < 0:
            raise BadValue("groups", f"client {min(everyone)}", "clients from 0 up")
        if self.heads is not None:
            set_(self, "heads", tuple(int(i) for i in self.heads))
            if len(self.heads) != len(self.groups) or any(
                head not in members for head, members in zip(self.heads, self.groups, strict=True)
            ):
                raise BadValue("heads", self.heads, "one member of every group, in the order of the groups")
        if self.links is not None:
            set_(self, "links", tuple((int(a), int(b)) for a, b in self.links))
            if any(a == b or not 0 <= a < len(self) or not 0 <= b < len(self) for a, b in self.links):
                raise BadValue("links", self.links, f"pairs of different groups from 0 to {len(self) - 1}")

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self.groups)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Clients per group."""
        return np.array([len(members) for members in self.groups], dtype=np.int64)

    def of(self, clients: int) -> NDArray[np.int64]:
        """The group of each of `clients` clients, -1 for who was left out."""
        answer = np.full(clients, -1, dtype=np.int64)
        sizes = self.sizes
        everyone = np.fromiter((i for members in self.groups for i in members), dtype=np.int64, count=int(sizes.sum()))
        answer[everyone] = np.repeat(np.arange(len(sizes)), sizes)
        return answer

    def sums(self, labels: ArrayLike) -> NDArray[Any]:
        """Groups x classes: what the members of every group hold together."""
        labels = np.asarray(labels)
        total = np.zeros((len(self), *labels.shape[1:]), dtype=labels.dtype)
        of = self.of(len(labels))
        inside = of >= 0
        np.add.at(total, of[inside], labels[inside])
        return total

    def renamed(self, names: NDArray[np.int64]) -> Grouping:
        """The same grouping with client i called `names[i]`.

        >>> Grouping(((0, 1), (2,)), heads=(1, 2)).renamed(np.array([7, 8, 9])).heads
        (8, 9)
        """
        name = names.tolist()
        return Grouping(
            tuple(tuple(name[i] for i in members) for members in self.groups),
            left_out=tuple(name[i] for i in self.left_out),
            heads=None if self.heads is None else tuple(name[i] for i in self.heads),
            links=self.links,
        )


MOST_SAMPLES = 2**53
"""What a fleet may hold in all: sums of counts are then exact as whole numbers and in floating point."""


def _own(thing: object) -> Callable[..., Grouping]:
    from covey.grouping.own import own_grouping  # which knows what a grouping is from here

    return own_grouping(thing)


class Groupings(Registry[Callable[..., Grouping]]):
    """All groupings by name; `file:groups.csv` is one, too."""

    def entry(self, name: str) -> Entry[Callable[..., Grouping]]:
        """The entry of that name."""
        if isinstance(name, str) and name.startswith("file:"):
            from covey.grouping.by_file import from_file  # which knows what a grouping is from here

            return Entry(name, from_file(name.removeprefix("file:")), "groups from a file")
        return super().entry(name)


GROUPINGS = Groupings("grouping", _own)

INPUTS: Mapping[str, str] = {
    "edges": "the edge of every client",
    "distances": "a table of hops or costs between clients",
    "updates": "a model update or gradient of every client",
    "sizes": "the samples of every client",
    "names": "what every client is called",
}


def check_labels(labels: ArrayLike) -> Labels:
    """The counts as whole numbers, or `BadValue`.

    >>> check_labels([[1.5, 2]])
    Traceback (most recent call last):
    covey.errors.BadValue: labels is 1.5; allowed is whole numbers from 0 up
    """
    table = np.asarray(labels)
    if table.ndim != 2 or 0 in table.shape:
        raise BadValue("labels", table.shape, "a table of at least one client by at least one class")
    if table.dtype.kind not in "iufb":
        raise BadValue("labels", str(table.dtype), "whole numbers from 0 up")
    wrong = ~((table >= 0) & (table < 2**53))
    if table.dtype.kind == "f":
        wrong |= table != np.floor(table)
    if wrong.any():
        raise BadValue("labels", table[wrong][0].item(), "whole numbers from 0 up")
    if (total := table.sum(dtype=np.float64)) > MOST_SAMPLES:
        raise BadValue("labels", f"{total:.3g} samples in all", f"at most {MOST_SAMPLES:,}, up to which sums are exact")
    return table.astype(np.int64)


def how_many(
    n: int,
    groups: int | None,
    min_size: int | None,
    max_size: int | None = None,
    *,
    default_size: int = 5,
) -> int:
    """How many groups to make of `n` clients: `groups`, else as many as `min_size` or `default_size` allows.

    With `max_size`, at least as many as are needed so that no group is larger.

    >>> how_many(23, None, 5), how_many(23, 7, None), how_many(3, None, None), how_many(23, None, None, 4)
    (4, 7, 1, 6)
    >>> how_many(3, 4, None)
    Traceback (most recent call last):
    covey.errors.BadValue: groups is 4; allowed is a whole number from 1 to 3, the number of clients
    """
    for field, value in (("groups", groups), ("min_size", min_size)):
        if value is not None and not (isinstance(value, int | np.integer) and 1 <= value <= n):
            raise BadValue(field, value, f"a whole number from 1 to {n}, the number of clients")
    if max_size is not None and not (isinstance(max_size, int | np.integer) and max_size >= 1):
        raise BadValue("max_size", max_size, "a whole number from 1 up")
    fewest = 1 if max_size is None else -(-n // max_size)
    most = n if min_size is None else n // min_size
    if fewest > most:
        raise BadValue("max_size", max_size, f"more: {n} clients do not go into groups of {min_size} to {max_size}")
    if groups is None:
        return max(fewest, min(most, n // (min_size or default_size)), 1)
    if groups > most:
        raise BadValue("groups", groups, f"at most {most}: {n} clients by {min_size} or more")
    if groups < fewest:
        raise BadValue("groups", groups, f"at least {fewest}: {n} clients by {max_size} or fewer")
    return groups


def even_sizes(n: int, groups: int) -> list[int]:
    """Group sizes that add up to `n` and differ by one at most.

    >>> even_sizes(11, 3)
    [4, 4, 3]
    """
    return [n // groups + (k < n % groups) for k in range(groups)]
