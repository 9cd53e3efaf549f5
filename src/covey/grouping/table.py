"""A fleet as a CSV file: `client`, one column a label, optionally `edge`; distances as another; groups as a third.

Whatever is wrong with a file is said in one sentence with the line number.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadData
from covey.grouping.base import MOST_SAMPLES, Grouping, Labels

WHOLE = re.compile(r"\d{1,15}(\.0*)?")


@dataclass(frozen=True, eq=False)
class ClientTable:
    """What the file says: names, counts and, where there is that column, edges numbered by their sorted names."""

    names: tuple[str, ...]
    label_names: tuple[str, ...]
    labels: Labels
    edges: NDArray[np.int64] | None = None


def read_clients(path: str | Path) -> ClientTable:
    """The fleet in a CSV file, or `BadData` with the line that is wrong."""
    header, rows = read_csv(path)
    if "client" not in header:
        raise BadData(f"{path}, line 1: no column 'client' (there are {', '.join(map(repr, header))})")
    label_names = tuple(name for name in header if name not in ("client", "edge"))
    if not label_names:
        raise BadData(f"{path}, line 1: no column with a label beside 'client' and 'edge'")
    first_on: dict[str, int] = {}
    labels, edges = [], []
    samples = 0
    for line, cells in rows:
        row = dict(zip(header, cells, strict=True))
        _check_name(path, line, row["client"], first_on)
        labels.append([_count(path, line, name, row[name]) for name in label_names])
        samples += sum(labels[-1])
        if samples > MOST_SAMPLES:
            raise BadData(f"{path}, line {line}: the clients up to here hold more than {MOST_SAMPLES:,} samples in all")
        if "edge" in row:
            if not row["edge"]:
                raise BadData(f"{path}, line {line}: client {row['client']!r} has no edge")
            edges.append(row["edge"])
    if not labels:
        raise BadData(f"{path}: a header but no client")
    return ClientTable(
        names=tuple(first_on),
        label_names=label_names,
        labels=np.array(labels, dtype=np.int64),
        edges=np.unique(edges, return_inverse=True)[1].astype(np.int64) if edges else None,
    )


def write_groups(path: str | Path, names: Sequence[str], grouping: Grouping) -> None:
    """Every client with its group (empty where left out) and, where groups have heads, whether it is one."""
    of = grouping.of(len(names))
    heads = set(grouping.heads or ())
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["client", "group"] + ["head"] * (grouping.heads is not None))
        for i, name in enumerate(names):
            row = [name, "" if of[i] < 0 else int(of[i])]
            writer.writerow(row + [int(i in heads)] * (grouping.heads is not None))


def read_distances(path: str | Path, names: Sequence[str]) -> NDArray[np.float64]:
    """Distances between the named clients: a CSV table with the clients' names in its first row and column."""
    header, rows = read_csv(path)
    column = {name: j for j, name in enumerate(header[1:])}
    found: dict[str, list[float]] = {}
    first_on: dict[str, int] = {}
    for line, cells in rows:
        _check_name(path, line, cells[0], first_on)
        found[cells[0]] = [_distance(path, line, *pair) for pair in zip(header[1:], cells[1:], strict=True)]
    for name in names:
        if name not in found or name not in column:
            raise BadData(f"{path}: client {name!r} has no {'row' if name not in found else 'column'}")
    return np.array([found[name] for name in names])[:, [column[name] for name in names]]


def edge_distances(edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Hops when all that is known is the edge of every client: 2 through a shared edge, 4 through the cloud.

    >>> edge_distances(np.array([0, 0, 1])).tolist()
    [[0.0, 2.0, 4.0], [2.0, 0.0, 4.0], [4.0, 4.0, 0.0]]
    """
    distances = np.where(edges[:, None] == edges[None, :], 2.0, 4.0)
    np.fill_diagonal(distances, 0)
    return distances


def read_csv(path: str | Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header and the rows with their line numbers; blank lines are passed over."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
    except FileNotFoundError:
        raise BadData(f"{path}: no such file") from None
    except OSError as error:
        raise BadData(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadData(f"{path}: not a text file in UTF-8") from None
    except csv.Error as error:
        raise BadData(f"{path}, line {reader.line_num}: {error}") from None
    if not lines:
        raise BadData(f"{path}: the file is empty")
    (first, header), *rows = lines
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and separator in header[0]:
            raise BadData(f"{path}, line {first}: columns are separated by {called}, not by commas")
    for name in header:
        if not name or header.count(name) > 1:
            raise BadData(f"{path}, line {first}: column {name!r} {'is there twice' if name else 'has no name'}")
    for line, cells in rows:
        if len(cells) != len(header):
            raise BadData(f"{path}, line {line}: {len(cells)} fields where the header has {len(header)}")
    return header, iter(rows)


def _check_name(path: str | Path, line: int, name: str, first_on: dict[str, int]) -> None:
    if not name:
        raise BadData(f"{path}, line {line}: the client has no name")
    if name in first_on:
        raise BadData(f"{path}, line {line}: client {name!r} is on line {first_on[name]} already")
    first_on[name] = line


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
