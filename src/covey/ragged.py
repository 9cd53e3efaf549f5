"""Rows of different lengths in one array: which samples every client holds, for a million clients as for ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from operator import index
from typing import SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Ragged(Sequence[Indices]):
    """A sequence of arrays of whole numbers; row i is `flat[offsets[i] : offsets[i + 1]]`, a view, not a copy.

    >>> rows = Ragged.of([[4, 2], [], [7]])
    >>> len(rows), rows[0].tolist(), rows.sizes.tolist(), rows.flat.tolist()
    (3, [4, 2], [2, 0, 1], [4, 2, 7])
    """

    def __init__(self, flat: Indices, offsets: Indices) -> None:
        self.flat, self.offsets = flat, offsets

    @classmethod
    def of(cls, rows: Iterable[Iterable[int] | Indices]) -> Ragged:
        """From one array or list a row."""
        arrays = [np.asarray(row, dtype=np.int64) for row in rows]
        flat = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
        return cls.cut(flat, [len(array) for array in arrays])

    @classmethod
    def cut(cls, flat: Indices, sizes: Sequence[int] | Indices) -> Ragged:
        """One array cut into rows of these sizes; what is left over at its end belongs to nobody.

        >>> Ragged.cut(np.arange(5), [2, 2])[1].tolist()
        [2, 3]
        """
        offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return cls(flat[: offsets[-1]], offsets)

    @cached_property
    def sizes(self) -> Indices:
        """The length of every row."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Indices:
        """For every number in `flat`, which row it is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, rows: Sequence[int] | Indices) -> Ragged:
        """These rows, in this order.

        >>> Ragged.of([[4, 2], [], [7]]).take([2, 0]).flat.tolist()
        [7, 4, 2]
        """
        chosen = np.asarray(rows, dtype=np.int64)
        sizes = self.sizes[chosen]
        ends = np.cumsum(sizes)
        spots = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.offsets[chosen] - (ends - sizes), sizes)
        return Ragged.cut(self.flat[spots], sizes)

    def sorted(self) -> Ragged:
        """Every row in rising order."""
        if not len(self.flat):
            return self
        low, high = int(self.flat.min()), int(self.flat.max())
        first = self.rows * (high - low + 1) - low  # rows one after another on one line, so that one sort does
        return Ragged(np.sort(first + self.flat) - first, self.offsets)

    def tally(self, values: Indices, kinds: int) -> NDArray[np.int64]:
        """How many of each kind every row holds; `values[j]` is the kind of number j, from 0 to `kinds` - 1.

        >>> Ragged.of([[0, 2], [], [1]]).tally(np.array([0, 1, 1]), 2).tolist()
        [[1, 1], [0, 0], [0, 1]]
        """
        found = np.bincount(self.rows * kinds + values[self.flat], minlength=len(self) * kinds)
        return found.reshape(len(self), kinds)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, row: SupportsIndex) -> Indices: ...
    @overload
    def __getitem__(self, row: slice) -> Ragged: ...
    def __getitem__(self, row: SupportsIndex | slice) -> Indices | Ragged:
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        number = index(row)
        if not -len(self) <= number < len(self):
            raise IndexError(f"row {number} of {len(self)}")
        number %= len(self)
        return self.flat[self.offsets[number] : self.offsets[number + 1]]

    def __iter__(self) -> Iterator[Indices]:
        ends = self.offsets.tolist()
        return (self.flat[start:end] for start, end in pairwise(ends))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.flat, other.flat)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Ragged({len(self)} rows, {len(self.flat)} numbers)"
