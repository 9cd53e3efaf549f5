"""A fleet in a file: a CSV with `client`, one column per label, optionally `edge`; or a .npy array, clients by labels.

Also distances between clients as a CSV, and the groups that are written. Files are read line by line, a million clients
in seconds; whatever is wrong with one is said in one sentence with the line number.
"""

from __future__ import annotations

import csv
import re
import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from tokenize import TokenError
from typing import overload

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadData, BadValue
from covey.grouping.base import MOST_SAMPLES, Grouping, Labels, check_labels
from covey.memory import free_memory, gigabytes

Rows = Sequence[tuple[int, list[str]]]
"""Line numbers and cells."""

BATCH = 2_000
"""How many rows are read before their counts are turned into numbers, all at once."""

WHOLE = re.compile(r"[0-9]{1,15}(\.0*)?")
MOST = 10**15
"""A count has at most 15 digits."""


class Names(Sequence[str]):
    """Texts in one piece: a million names take their letters and 8 bytes each.

    >>> names = Names(["ada", "bob"])
    >>> names[1], list(names), len(names)
    ('bob', ['ada', 'bob'], 2)
    """

    def __init__(self, texts: Iterable[str]) -> None:
        pieces = [text.encode() for text in texts]
        self._letters = b"".join(pieces)
        self._ends = array("q", accumulate(map(len, pieces), initial=0))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        i = range(len(self))[at]
        return self._letters[self._ends[i] : self._ends[i + 1]].decode()


@dataclass(frozen=True, eq=False)
class ClientTable:
    """What the file says: names, counts and, where they are known, edges numbered by their sorted names."""

    names: Sequence[str]
    label_names: tuple[str, ...]
    labels: Labels
    edges: NDArray[np.int64] | None = None


def read_fleet(path: str | Path, edges: str | Path | None = None) -> ClientTable:
    """The fleet in a CSV or .npy file; `edges` is a .npy file with the edge of every client, for a .npy fleet."""
    if Path(path).suffix.lower() != ".npy":
        if edges is not None:
            raise BadValue("edges", str(edges), f"nothing: {path} can have a column 'edge'")
        return read_clients(path)
    table = load_array(path)
    if table.ndim != 2 or table.dtype.kind not in "iuf":
        raise BadData(f"{path}: an array of {table.dtype} of shape {table.shape}, not of counts, clients by labels")
    try:
        labels = check_labels(table)
    except BadValue as error:
        raise BadData(f"{path}: {error}") from None
    edge_of = None
    if edges is not None:
        given = load_array(edges)
        if given.dtype.kind not in "iu" or given.shape != (len(labels),):
            raise BadData(f"{edges}: not {len(labels):,} whole numbers, the edge of every client in {path}")
        edge_of = np.unique(given, return_inverse=True)[1].astype(np.int64)
    names = Names(str(i) for i in range(len(labels)))
    return ClientTable(names, tuple(str(j) for j in range(labels.shape[1])), labels, edge_of)


def load_array(path: str | Path) -> NDArray[np.generic]:
    """The array in a .npy file, which runs no code and is not larger than the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a header of Python 2, which only takes longer to read
            found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise BadData(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, OverflowError, SyntaxError, TokenError, TypeError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise BadData(f"{path}: not a .npy array of numbers ({said})") from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iufb":
        raise BadData(f"{path}: not a .npy array of numbers")
    _check_room(path, 8 * found.size)
    return np.array(found)


def read_clients(path: str | Path) -> ClientTable:
    """The fleet in a CSV file, or `BadData` with the line that is wrong."""
    header, rows = read_csv(path)
    if "client" not in header:
        raise BadData(f"{path}, line 1: no column 'client' (there are {', '.join(map(repr, header))})")
    label_names = tuple(name for name in header if name not in ("client", "edge"))
    if not label_names:
        raise BadData(f"{path}, line 1: no column with a label beside 'client' and 'edge'")
    client, edge = header.index("client"), header.index("edge") if "edge" in header else None
    columns = [header.index(name) for name in label_names]
    names: dict[str, int] = {}
    numbers: dict[str, int] = {}  # of edges, in the order in which they come
    tables, edges = [], array("q")
    samples = 0
    while batch := list(islice(rows, BATCH)):
        for line, cells in batch:
            name = cells[client].strip()
            if not name:
                raise BadData(f"{path}, line {line}: the client has no name")
            if names.setdefault(name, line) != line:
                raise BadData(f"{path}, line {line}: client {name!r} is on line {names[name]} already")
            if edge is not None:
                at = cells[edge].strip()
                if not at:
                    raise BadData(f"{path}, line {line}: client {name!r} has no edge")
                edges.append(numbers.setdefault(at, len(numbers)))
        tables.append(_counts(path, batch, columns, label_names))
        samples = _check_samples(path, batch, tables[-1], samples)
    if not names:
        raise BadData(f"{path}: a header but no client")
    by_name = np.argsort(np.argsort(np.array(list(numbers)))) if numbers else None
    return ClientTable(
        names=Names(names),
        label_names=label_names,
        labels=np.concatenate(tables),
        edges=None if by_name is None else by_name[np.frombuffer(edges, dtype=np.int64)],
    )


def write_groups(path: str | Path, names: Sequence[str], grouping: Grouping) -> None:
    """Every client with its group (empty where left out) and, where groups have heads, whether it is one."""
    of = grouping.of(len(names)).tolist()
    heads = set(grouping.heads or ())
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["client", "group"] + ["head"] * (grouping.heads is not None))
        for i, name in enumerate(names):
            row = [name, "" if of[i] < 0 else of[i]]
            writer.writerow(row + [int(i in heads)] * (grouping.heads is not None))


def read_distances(path: str | Path, names: Sequence[str]) -> NDArray[np.float64]:
    """Distances between the named clients: a CSV table with the clients' names in its first row and column."""
    header, rows = read_csv(path)
    _check_room(path, 24 * len(names) ** 2)
    column = {name: j for j, name in enumerate(header[1:])}
    found: dict[str, array[float]] = {}
    first_on: dict[str, int] = {}
    for line, cells in rows:
        name, *others = (cell.strip() for cell in cells)
        if not name:
            raise BadData(f"{path}, line {line}: the client has no name")
        if first_on.setdefault(name, line) != line:
            raise BadData(f"{path}, line {line}: client {name!r} is on line {first_on[name]} already")
        found[name] = array("d", (_distance(path, line, *pair) for pair in zip(header[1:], others, strict=True)))
    for name in names:
        if name not in found or name not in column:
            raise BadData(f"{path}: client {name!r} has no {'row' if name not in found else 'column'}")
    return np.array([found[name] for name in names])[:, [column[name] for name in names]]


def read_csv(path: str | Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header and, as they are read, the rows with their line numbers; blank lines are passed over."""
    rows = _rows(path)
    first, header = next(rows, (0, []))
    header = [name.strip() for name in header]
    if not header:
        raise BadData(f"{path}: the file is empty")
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and separator in header[0]:
            raise BadData(f"{path}, line {first}: columns are separated by {called}, not by commas")
    for name in header:
        if not name or header.count(name) > 1:
            raise BadData(f"{path}, line {first}: column {name!r} {'is there twice' if name else 'has no name'}")
    return header, _of_length(path, rows, len(header))


def _rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                if any(cells):
                    yield reader.line_num, cells
    except FileNotFoundError:
        raise BadData(f"{path}: no such file") from None
    except OSError as error:
        raise BadData(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadData(f"{path}: not a text file in UTF-8") from None
    except csv.Error as error:
        raise BadData(f"{path}, line {reader.line_num}: {error}") from None


def _of_length(path: str | Path, rows: Iterator[tuple[int, list[str]]], length: int) -> Iterator[tuple[int, list[str]]]:
    for line, cells in rows:
        if len(cells) != length:
            raise BadData(f"{path}, line {line}: {len(cells)} fields where the header has {length}")
        yield line, cells


def _check_room(path: str | Path, needed: float) -> None:
    free = free_memory()
    if free is not None and needed > free:
        raise BadData(f"{path}: needs {gigabytes(needed)} of memory, {gigabytes(free)} are free")


def _counts(path: str | Path, batch: Rows, columns: Sequence[int], names: Sequence[str]) -> Labels:
    """The counts in these rows; all digits at once where nothing is odd about them, which is many times faster."""
    cells = [row[j] for _, row in batch for j in columns]
    text = ",".join(cells)
    plain = text.isascii() and text.replace(",", "").isdigit() and all(cells) and text.count(",") == len(cells) - 1
    if plain and (counts := np.fromstring(text, dtype=np.int64, sep=",")).max() < MOST:
        return counts.reshape(len(batch), -1)
    picked = [[row[j].strip() for j in columns] for _, row in batch]
    lines = [line for line, _ in batch]
    rows = [
        [_count(path, line, *pair) for pair in zip(names, row, strict=True)]
        for line, row in zip(lines, picked, strict=True)
    ]
    return np.array(rows, dtype=np.int64)


def _check_samples(path: str | Path, batch: Rows, counts: Labels, before: int) -> int:
    """The samples of all rows up to these; refused at the line from which on sums would not be exact."""
    if before + float(counts.sum(dtype=np.float64)) <= MOST_SAMPLES / 2:
        return before + int(counts.sum())
    for (line, _), row in zip(batch, counts.tolist(), strict=True):
        before += sum(row)
        if before > MOST_SAMPLES:
            raise BadData(f"{path}, line {line}: the clients up to here hold more than {MOST_SAMPLES:,} samples in all")
    return before


def _count(path: str | Path, line: int, column: str, text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise BadData(f"{path}, line {line}, column {column!r}: {text!r} is not a whole number from 0 up")
    return int(float(text))


def _distance(path: str | Path, line: int, column: str, text: str) -> float:
    try:
        distance = float(text)
    except ValueError:
        distance = -1.0
    if not 0 <= distance < float("inf"):
        raise BadData(f"{path}, line {line}, column {column!r}: {text!r} is not a number from 0 up")
    return distance
