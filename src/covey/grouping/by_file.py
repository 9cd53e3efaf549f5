"""Groups that somebody has written down: `file:groups.csv`, as `covey group --out` writes it, in place of a method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from covey.errors import BadData, BadValue
from covey.grouping.base import Grouping
from covey.grouping.table import read_csv

PREFIX = "file:"


def from_file(path: str) -> Callable[..., Grouping]:
    """A grouping that gives the groups of a file; it needs the clients' names."""

    def grouping(
        labels: Any,
        *,
        names: Sequence[str],
        groups: int | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        rng: Any = None,
    ) -> Grouping:
        found = read_groups(path, names)
        if groups is not None and groups != len(found):
            raise BadValue("groups", groups, f"{len(found)}, the groups in {path}, or left out")
        return found

    return grouping


def read_groups(path: str | Path, names: Sequence[str]) -> Grouping:
    """The groups of these clients from a CSV with the columns `client` and `group`, empty for who is in none."""
    header, rows = read_csv(path)
    for column in ("client", "group"):
        if column not in header:
            raise BadData(f"{path}, line 1: no column {column!r} (there are {', '.join(map(repr, header))})")
    number = {str(name): i for i, name in enumerate(names)}
    client, group = header.index("client"), header.index("group")
    groups: dict[str, list[int]] = {}
    seen: dict[str, int] = {}
    for line, cells in rows:
        name, of = cells[client].strip(), cells[group].strip()
        if name not in number:
            raise BadData(f"{path}, line {line}: client {name!r} is not in the fleet, as {next(iter(number))!r} is")
        if seen.setdefault(name, line) != line:
            raise BadData(f"{path}, line {line}: client {name!r} is on line {seen[name]} already")
        if of:
            groups.setdefault(of, []).append(number[name])
    for name in number:
        if name not in seen:
            raise BadData(f"{path}: client {name!r} of the fleet has no line")
    if not groups:
        raise BadData(f"{path}: no client is in a group")
    grouped = {i for members in groups.values() for i in members}
    return Grouping(
        tuple(map(tuple, groups.values())), left_out=tuple(i for i in range(len(names)) if i not in grouped)
    )
