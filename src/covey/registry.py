"""Names for things a user picks by name: algorithms, groupings, models, data sets, partitions, merges, rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from covey.errors import UnknownName

T = TypeVar("T")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered thing: what `covey list` shows and what the contract tests enrol."""

    name: str
    thing: T
    summary: str
    paper: str = ""


class Registry(Generic[T]):
    """A table from names to things, with a helpful error for a name that is not there.

    >>> colours = Registry[int]("colour")
    >>> colours.add("red", 0xFF0000, summary="like a rose")
    16711680
    >>> colours["red"], "blue" in colours
    (16711680, False)
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[T]] = {}

    def add(self, name: str, thing: T, *, summary: str | None = None, paper: str = "") -> T:
        """Register `thing` under `name`; the summary defaults to the first line of its docstring."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        if summary is None:
            summary = (thing.__doc__ or "").strip().split("\n")[0]
        self._entries[name] = Entry(name, thing, summary, paper)
        return thing

    def register(self, name: str, *, summary: str | None = None, paper: str = "") -> Callable[[T], T]:
        """`add` as a decorator."""
        return lambda thing: self.add(name, thing, summary=summary, paper=paper)

    def __getitem__(self, name: str) -> T:
        return self.entry(name).thing

    def entry(self, name: str) -> Entry[T]:
        """The entry of that name, or `UnknownName` with the nearest match."""
        if name not in self._entries:
            raise UnknownName(self.kind, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def names(self) -> list[str]:
        """All names, in the order of registration."""
        return list(self._entries)
