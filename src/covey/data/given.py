"""Partitions that somebody has written down: which samples are whose, or how many of each class everybody holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from covey.data.partition import PARTITIONS, Partition, Rng, deal
from covey.errors import BadData, BadValue
from covey.fleet import whole_numbers
from covey.ragged import Indices, Ragged

if TYPE_CHECKING:
    from covey.grouping.table import ClientTable  # groupings take a while to import


@dataclass(frozen=True, eq=False)
class Lists(Partition):
    """Every client's samples as numbers, in a list or by the clients' names.

    >>> Lists({"ada": [0, 2], "bob": [1]}).names()
    ('ada', 'bob')
    """

    samples: Any
    name: ClassVar[str] = "lists"
    example: ClassVar[str] = "[[0, 2], [1]]"

    def everybody(self) -> bool:
        """As many clients as there are lists."""
        return True

    def names(self) -> tuple[str, ...] | None:
        """The names that lists are given by."""
        return tuple(map(str, self.samples)) if isinstance(self.samples, Mapping) else None

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """The lists themselves."""
        rows = list(self.samples.values()) if isinstance(self.samples, Mapping) else list(self.samples)
        if clients and clients != len(rows):
            raise BadValue("clients", clients, f"{len(rows)}, the lists that are given, or left out")
        return checked(rows, len(y), "partition")

    def __str__(self) -> str:
        return self.name


def checked(rows: Sequence[Any], samples: int, what: str) -> Ragged:
    """Rows of samples, each of which is there and is in one row only; the client that is wrong is named."""
    allowed = f"lists of samples from 0 to {samples - 1}, each in one"
    if not rows:
        raise BadValue(what, rows, allowed)
    parts = Ragged.of(whole_numbers(f"{what}[{i}]", row, allowed).reshape(-1) for i, row in enumerate(rows))
    wrong = (parts.flat < 0) | (parts.flat >= samples)
    if not wrong.any():
        first = np.full(samples, len(parts.flat))
        np.minimum.at(first, parts.flat, np.arange(len(parts.flat)))
        wrong = first[parts.flat] != np.arange(len(parts.flat))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise BadValue(f"{what}[{parts.rows[at]}]", int(parts.flat[at]), allowed)
    return parts


@PARTITIONS.register("index", summary="who owns what, from a file: sample,client in a CSV, lists in a JSON")
@dataclass(frozen=True)
class Index(Partition):
    """Which samples are whose, from a file.

    A CSV with the columns `sample` (from 0 on) and `client`, a JSON of lists or of lists by name, or a .npy array with
    the number of every sample's client, -1 where it is nobody's.
    """

    file: str
    name: ClassVar[str] = "index"
    example: ClassVar[str] = "index:owners.csv"

    def everybody(self) -> bool:
        """The file says who there is."""
        return True

    def names(self) -> tuple[str, ...] | None:
        """What the file calls clients."""
        return self._lists.names()

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """As the file has it."""
        try:
            return self._lists.split(y, clients, edges, owners, rng)
        except BadValue as error:
            raise BadValue(f"{self.file}, {error.field}", error.value, error.allowed) from None

    @cached_property
    def _lists(self) -> Lists:
        ending = Path(self.file).suffix.lower()
        if ending == ".json":
            return Lists(_from_json(self.file))
        if ending == ".npy":
            return Lists(_from_numbers(self.file))
        if ending == ".csv":
            return Lists(_from_csv(self.file))
        raise BadValue("partition", str(self), "index: and a file that ends in .csv, .json or .npy")


def _from_json(file: str) -> Any:
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadData(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadData(f"{file}: not JSON ({error})") from None
    rows = list(found.values()) if isinstance(found, dict) else found
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        raise BadData(f"{file}: neither lists of samples, as [[0, 2], [1]], nor lists by client, as {{'ada': [0, 2]}}")
    return found


def _from_numbers(file: str) -> list[Indices]:
    from covey.grouping.table import load_array

    owners = load_array(file)
    if owners.ndim != 1 or owners.dtype.kind not in "iu" or not len(owners) or owners.max() < 0:
        raise BadData(f"{file}: not the number of every sample's client, from 0 on, -1 where it is nobody's")
    found = owners.astype(np.int64)
    return [np.flatnonzero(found == client) for client in np.unique(found[found >= 0])]


def _from_csv(file: str) -> dict[str, list[int]]:
    from covey.grouping.table import read_csv

    header, rows = read_csv(file)
    for column in ("sample", "client"):
        if column not in header:
            raise BadData(f"{file}, line 1: no column {column!r} (there are {', '.join(map(repr, header))})")
    sample, client = header.index("sample"), header.index("client")
    found: dict[str, list[int]] = {}
    for line, cells in rows:
        text, name = cells[sample].strip(), cells[client].strip()
        if not (text.isascii() and text.isdecimal() and len(text) < 16):
            raise BadData(f"{file}, line {line}: sample {text!r} is not a whole number from 0 up")
        if not name:
            raise BadData(f"{file}, line {line}: the client has no name")
        found.setdefault(name, []).append(int(text))
    if not found:
        raise BadData(f"{file}: a header but no sample")
    return found


@PARTITIONS.register("counts", summary="as many samples of each class as a fleet file says, at its edges")
@dataclass(frozen=True)
class Counts(Partition):
    """A fleet's own label counts, from the file that `covey group` takes: `client`, a column per class, maybe `edge`.

    Client i gets as many samples of class c of the data as the file says, drawn at random. Of endless data there are
    enough for any counts.
    """

    file: str
    name: ClassVar[str] = "counts"
    example: ClassVar[str] = "counts:fleet.csv"

    def everybody(self) -> bool:
        """The file's clients are all there are."""
        return True

    def names(self) -> Sequence[str]:
        """What the file calls clients."""
        return self.table.names

    def places(self) -> Indices | None:
        """The edges of the file."""
        return self.table.edges

    def pool(self, y: Indices) -> int:
        """So many that there are enough of every class."""
        classes = self._classes(y)
        have = np.bincount(y, minlength=classes)
        wanted = np.zeros(classes, dtype=np.int64)
        wanted[: self.table.labels.shape[1]] = self.table.labels.sum(axis=0)
        return len(y) * int(np.ceil(wanted / np.maximum(have, 1)).max())

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """Samples of every class in random order, cut as the counts say."""
        counts, classes = self.table.labels, self._classes(y)
        if clients and clients != len(counts):
            raise BadValue("clients", clients, f"{len(counts)}, the clients in {self.file}, or 0")
        have, wanted = np.bincount(y, minlength=classes), counts.sum(axis=0)
        for c in np.flatnonzero(wanted > have[: len(wanted)]):
            raise BadData(
                f"{self.file}: its clients hold {wanted[c]:,} samples of {self.table.label_names[c]!r}, and the data "
                f"has {have[c]:,} of class {c}: take larger data, or synthetic, of which there are enough"
            )
        return deal(y, np.arange(counts.shape[1]), counts, rng)

    def _classes(self, y: Indices) -> int:
        classes, columns = int(y.max()) + 1, self.table.labels.shape[1]
        if columns > classes:
            raise BadData(f"{self.file}: {columns} columns of classes, and the data has {classes} classes")
        if (empty := np.flatnonzero(self.table.labels.sum(axis=1) == 0)).size:
            raise BadData(f"{self.file}: client {self.table.names[int(empty[0])]!r} holds no samples and cannot train")
        return classes

    @cached_property
    def table(self) -> ClientTable:
        """What the file says."""
        from covey.grouping.table import read_fleet

        return read_fleet(self.file)
