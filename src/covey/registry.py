"""Names for things a user picks by name: algorithms, groupings, models, data sets, partitions, merges, rules.

A name is looked for among the registered ones, then among those that installed packages announce (entry points of the
group `covey.parts`, each called `kind.name`), and may then be the address of code, as in `./mine.py:Pairs`.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from covey import outside
from covey.errors import BadData, BadValue, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

ENTRY_POINTS = "covey.parts"

# Addresses anywhere in a text, since words may be values of words: files and dotted modules, and single names.
_FAR = re.compile(r"\.py:[^\W\d]|[^\W\d]\w*\.[^\W\d]\w*(?<!\.toml)(?<!\.csv)(?<!\.npz):[^\W\d]")
_NEAR = re.compile(r"(?<![\w.\-/\\])(?=([^\W\d]\w*:[^\W\d]\w*))")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered thing: what `covey list` shows and what the contract tests enrol.

    A preset is another name for a thing with `settings` of its own; those that are named in `fixed` make the preset
    what it is and cannot be set otherwise.
    """

    name: str
    thing: T
    summary: str
    paper: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()


class WrongKind(Exception):
    """Something from outside that is no part of the kind asked for; the text says what is wanted."""


def own_class(wanted: str, needs: str, base: type[Any] | None = None) -> Callable[[object], Any]:
    """What adopts classes with the method that `needs` names; one that is no `base` gets it as a further base."""

    def adopt(thing: object) -> Any:
        if not isinstance(thing, type) or not callable(getattr(thing, needs, None)):
            raise WrongKind(wanted)
        if base is None or issubclass(thing, base):
            return thing
        return type(thing.__name__, (thing, base), {"__doc__": thing.__doc__, "__module__": thing.__module__})

    return adopt


class Registry(Generic[T]):
    """A table from names to things, with a helpful error for a name that is not there.

    kind: what the things are called in errors and, with hyphens, in the names of entry points
    adopt: gives the part that something from outside is, or raises `WrongKind`; without it all is registered

    >>> colours = Registry[int]("colour")
    >>> colours.add("red", 0xFF0000, summary="like a rose")
    16711680
    >>> colours["red"], "blue" in colours
    (16711680, False)
    """

    all: ClassVar[list[Registry[Any]]] = []

    def __init__(self, kind: str, adopt: Callable[[object], T] | None = None) -> None:
        self.kind = kind
        self._adopt = adopt
        self._entries: dict[str, Entry[T]] = {}
        self._adopted: dict[str, tuple[object, Entry[T]]] = {}
        Registry.all.append(self)

    def add(
        self,
        name: str,
        thing: T,
        *,
        summary: str | None = None,
        paper: str = "",
        settings: Mapping[str, Any] | None = None,
        fixed: tuple[str, ...] = (),
    ) -> T:
        """Register `thing` under `name`; the summary defaults to the first line of its docstring.

        `settings` and `fixed` are those of a preset; the thing itself is registered before its presets.
        """
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        summary = _summary(thing) if summary is None else summary
        self._entries[name] = Entry(name, thing, summary, paper, dict(settings or {}), fixed)
        return thing

    def register(self, name: str, *, summary: str | None = None, paper: str = "") -> Callable[[T], T]:
        """`add` as a decorator."""
        return lambda thing: self.add(name, thing, summary=summary, paper=paper)

    def __getitem__(self, name: str) -> T:
        return self.entry(name).thing

    def entry(self, name: str) -> Entry[T]:
        """The entry of that name, or `UnknownName` with the nearest match."""
        if not isinstance(name, str):
            raise BadValue(self.kind, name, f"a text such as {self.names[0]!r}")
        if name in self._entries:
            return self._entries[name]
        if name in self._announced:
            return self._from_package(name)
        found = outside.address(name)
        if found is None or found[1] is not None or not names_code(name):
            raise UnknownName(self.kind, name, self.names)
        return self._from_code(found[0])

    def _from_code(self, where: outside.Address) -> Entry[T]:
        if self._adopt is None:
            raise BadValue(self.kind, str(where), f"one of {', '.join(self.names)}; code of your own cannot be one")
        try:
            return self._take(str(where), outside.load(where))
        except outside.Unloadable as error:
            raise BadValue(self.kind, str(where), f"code that can be loaded ({error})") from error

    def _from_package(self, name: str) -> Entry[T]:
        point = self._announced[name]
        try:
            return self._take(name, outside.guarded(point.load))
        except outside.Unloadable as error:
            raise BadData(f"{self.kind} {name!r} of an installed package cannot be loaded: {error}") from error

    def _take(self, name: str, thing: object) -> Entry[T]:
        """The entry of something from outside; the same thing is adopted once."""
        before, entry = self._adopted.get(name, (None, None))
        if entry is None or before is not thing:
            assert self._adopt is not None
            try:
                part = self._adopt(thing)
            except WrongKind as wanted:
                raise BadValue(self.kind, name, f"{wanted}; this is {_described(thing)}") from None
            entry = Entry(name, part, _summary(thing))
            self._adopted[name] = thing, entry
        return entry

    @property
    def _announced(self) -> Mapping[str, EntryPoint]:
        return {} if self._adopt is None else _entry_points(self.kind.replace(" ", "-"))

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._announced

    def __iter__(self) -> Iterator[Entry[T]]:
        yield from self._entries.values()
        for name in self._announced:
            try:
                yield self.entry(name)
            except (BadData, BadValue) as error:
                warnings.warn(f"left out: {error}", stacklevel=2)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """All names, in the order of registration."""
        return [*self._entries, *(name for name in self._announced if name not in self._entries)]


def names_code(word: str) -> bool:
    """Whether a word is the address of code: a file, a dotted module, or a module that shares its name with no part.

    >>> names_code("./mine.py:Pairs"), names_code("os:abort"), names_code("no_such_module:x")
    (True, True, False)
    """
    found = outside.address(word)
    if found is None:
        return False
    where, _ = found
    if not where.bare:
        return True
    return not any(where.place in registry for registry in Registry.all) and outside.there(where.place)


def refuse_code(settings: Mapping[str, object], source: str) -> None:
    """Refuse settings that name code, wherever in them it stands; `source` is the file or run they come from.

    >>> refuse_code({"model": "os:abort"}, "x.toml")
    Traceback (most recent call last):
    covey.errors.BadValue: model of x.toml is 'os:abort'; allowed is a name, since files and stored runs may name code \
only with --allow-code (allow_code=True in Python)
    """
    for key, value in settings.items():
        for text in _texts((key, value)):
            if _FAR.search(text) or any(map(names_code, {near[1] for near in _NEAR.finditer(text)})):
                allowed = "a name, since files and stored runs may name code only with --allow-code"
                raise BadValue(f"{key} of {source}", text, f"{allowed} (allow_code=True in Python)")


def _texts(value: object) -> Iterator[str]:
    """All texts in nested settings, names of settings too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


@functools.cache
def _entry_points(kind: str) -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # takes a while, and most names are covey's own

    points = entry_points(group=ENTRY_POINTS)
    return {point.name.removeprefix(f"{kind}."): point for point in points if point.name.startswith(f"{kind}.")}


def _summary(thing: object) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def _described(thing: object) -> str:
    name = getattr(thing, "__name__", None)
    kind = "class" if isinstance(thing, type) else type(thing).__name__
    return f"of type {kind}" if name is None else f"the {kind} {name}"
