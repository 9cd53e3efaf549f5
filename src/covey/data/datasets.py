"""Data sets by name: what they hold, where they lie, who reads them.

A family of formats has its own file (`idx`, `cifar`, `leaf`, `shakespeare`, `speech`, `digits`), and so has data that
is made up (`synthetic`); each registers its sets in `DATASETS`. Loading looks at the disk only; nothing is fetched
without being asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covey.data.files import Remote, data_folder, fetch, places
from covey.errors import BadData, BadValue
from covey.fleet import checked_samples, whole_numbers
from covey.outside import Unloadable, guarded
from covey.registry import Registry, WrongKind
from covey.words import make, split

if TYPE_CHECKING:
    from covey.data.own import Own

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and their classes, a train pool and a test set.

    `x` is float32 (images in [0, 1], sound in [-1, 1]) or int64 (characters). `owners[i]`, where the set knows it, is
    who train sample i is from (writer, role, speaker, user) as an index into `owner_names`; `test_owners` likewise,
    where owners have test samples of their own.

    An `endless` set is one of which clients share samples: there are as many as are asked for. The first half of its
    pool is to train on, the second half, with the same classes in the same order, is for clients' own tests.

    >>> Dataset("coins", np.zeros((3, 1)), [0, 1, 1], np.zeros((1, 1)), [0], classes=2).shape
    (1,)
    """

    name: str
    x: NDArray[Any]
    y: Labels
    test_x: NDArray[Any]
    test_y: Labels
    classes: int
    owners: Labels | None = None
    owner_names: tuple[str, ...] | None = None
    test_owners: Labels | None = None
    endless: bool = False

    def __post_init__(self) -> None:
        try:
            found = checked_samples(self.x, self.y, self.test_x, self.test_y, self.classes)
            for part, along in (("owners", "y"), ("test_owners", "test_y")):
                if getattr(self, part) is not None:
                    found[part] = _checked_owners(part, getattr(self, part), len(found[along]))
            half, odd = divmod(len(found["y"]), 2)
            if self.endless and (odd or (found["y"][:half] != found["y"][half:]).any()):
                raise BadValue(
                    "y", f"of {len(found['y'])} samples", "two halves alike, the second for clients' own tests"
                )
        except BadValue as error:
            raise BadData(f"{self.name}: {error}") from None
        for part, value in found.items():
            object.__setattr__(self, part, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.x.shape[1:])


def _checked_owners(part: str, given: object, samples: int) -> Labels:
    allowed = f"the number of its owner, from 0 up, for each of {samples} samples"
    owners = whole_numbers(part, given, allowed)
    if owners.shape != (samples,) or (owners < 0).any():
        raise BadValue(part, f"of shape {owners.shape}", allowed)
    return owners


def scaled(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Pixels from 0 … 255 to [0, 1]."""
    out: NDArray[np.float32] = np.divide(pixels, np.float32(255), dtype=np.float32)
    return out


@dataclass(frozen=True)
class Layout:
    """One way a set lies on disk: patterns that must all match under one folder, and who reads that folder.

    `shared` says that the names alone tell which set it is, so that the files may lie in `$COVEY_DATA` itself.
    """

    files: tuple[str, ...]
    read: Callable[[Path], Dataset]
    shared: bool = True

    def missing(self, folder: Path) -> list[str]:
        """The patterns that match nothing in this folder."""
        return [pattern for pattern in self.files if not any(found.is_file() for found in folder.glob(pattern))]


@dataclass(frozen=True)
class Source:
    """A data set's layouts in order of preference, where upstream has it, and how to get it where covey cannot.

    `samples` counts train and test together, where that is known beforehand; `needs` names sets that must be here as
    well.
    """

    layouts: tuple[Layout, ...]
    samples: int | None
    upstream: tuple[Remote, ...] = ()
    by_hand: str = ""
    needs: tuple[str, ...] = ()

    @property
    def built_in(self) -> bool:
        """Whether it comes with covey's dependencies."""
        return not any(layout.files for layout in self.layouts)


def own_code(thing: object) -> Source:
    """The source that a user's function or class without arguments is, or an object (`covey.data.objects`)."""
    if isinstance(thing, Source):
        return thing
    if inspect.ismodule(thing):
        raise WrongKind("a function without arguments that gives a covey.Dataset, a torch Dataset or arrays")
    name = str(getattr(thing, "__name__", "own"))

    def read(_: Path) -> Dataset:
        from covey.data.objects import dataset_from  # which knows what a data set is from here

        def made() -> Dataset:
            called = inspect.isfunction(thing) or inspect.isclass(thing)
            return dataset_from(thing() if called else thing, name)  # type: ignore[operator]

        try:
            return guarded(made)
        except Unloadable as error:
            raise BadValue("data", name, f"code that gives a data set ({error})") from error

    return Source(layouts=(Layout(files=(), read=read),), samples=None)


class Maker(Protocol):
    """Makes a data set up: a frozen dataclass of settings."""

    def read(self) -> Dataset:
        """The data set, the same one always."""


DATASETS: Registry[Source] = Registry("data", own_code)
MADE_UP: Registry[Callable[..., Maker]] = Registry("data")
"""Sets that take settings, as in `synthetic:shape=3x32x32`; each is in `DATASETS` as well, with its defaults."""


def source_of(word: str) -> Source:
    """The source that a word names: a data set, or one that is made up with the settings the word gives."""
    name, rest = split(word) if isinstance(word, str) else (word, None)
    if isinstance(word, str) and name not in DATASETS and (own := _own(word)) is not None:
        return Source(layouts=(Layout(files=(), read=lambda _: own.read()),), samples=None)
    source = DATASETS[name]
    if rest is None:
        return source
    if name not in MADE_UP:
        raise BadValue("data", word, f"{name} (it has no settings)")
    maker = make(MADE_UP, word)
    return replace(source, layouts=(Layout(files=(), read=lambda _: maker.read()),))


def _own(word: str) -> Own | None:
    """The file or folder that the word names, if it does."""
    from covey.data.own import is_own, own_data  # whose formats know what a data set is from here

    return own_data(word) if is_own(word) else None


def load(name: str, *, download: bool = False) -> Dataset:
    """The data set of that name; `download` allows fetching what is not on this machine.

    >>> digits = load("digits")
    >>> digits.shape, digits.classes, len(digits.x) + len(digits.test_x)
    ((1, 8, 8), 10, 1797)
    """
    if download:
        get(name)
    for needed in source_of(name).needs:
        require(needed)
    layout, folder = require(name)
    return layout.read(folder)


def get(name: str, *, progress: Any = False) -> Path:
    """Fetch a data set from upstream unless it is here; the folder it is in."""
    source = source_of(name)
    for needed in source.needs:
        get(needed, progress=progress)
    if find(name) is None:
        if not source.upstream:
            raise BadData(f"{name} cannot be fetched by covey: {source.by_hand}")
        for remote in source.upstream:
            fetch(name, remote, progress=progress)
    return require(name)[1]


def find(name: str) -> tuple[Layout, Path] | None:
    """Where a data set is on this machine, and in which layout."""
    return next((pair for pair in _candidates(name) if not pair[0].missing(pair[1])), None)


def require(name: str) -> tuple[Layout, Path]:
    """As `find`, but what is missing is an error that says how to get it."""
    found = find(name)
    if found is None:
        raise BadData(_not_here(name))
    return found


def _candidates(name: str) -> Iterator[tuple[Layout, Path]]:
    layouts = source_of(name).layouts
    return ((layout, folder) for folder, own in places(name) for layout in layouts if own or layout.shared)


def _not_here(name: str) -> str:
    source, folder = source_of(name), data_folder()
    partial = next(
        (
            f"{place / gone[0]} is missing"
            for layout, place in _candidates(name)
            if len(gone := layout.missing(place)) < len(layout.files)
        ),
        f"{name} is not on this machine",
    )
    now = f"(now {folder})" if folder else "(not set)"
    ways = [f"run `covey data get {name}`"] if source.upstream else []
    ways.append(f"set COVEY_DATA {now} to a folder with {name}/{source.layouts[0].files[0]}")
    if source.by_hand:
        ways.append(source.by_hand)
    return f"{partial}: {', or '.join(ways)}"
