"""What the tables say, row by row: what can be read is given, and what cannot is named."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from covey.shape import fit
from covey.store.database import FAULTS, Database
from covey.store.names import is_name

STATUSES = ("running", "finished", "failed")
VERSIONS = "versions"  # the kind of event that says what a run is made with
LATEST = 253_370_764_800  # the year 9999, the last that has a name

T = TypeVar("T")


@dataclass(frozen=True)
class RunRecord:
    """A run as the store knows it; `status` is running, interrupted (its process is gone), finished or failed."""

    run: str
    created: float
    status: str
    config: dict[str, Any]
    summary: dict[str, Any]


@dataclass(frozen=True)
class Damage:
    """What is wrong, and with which run; None is the store itself."""

    run: str | None
    what: str


@dataclass(frozen=True)
class RoundRow:
    """A round as the database knows it; `checkpoint` is the digest of its checkpoint, or whether it has one."""

    round: int
    metrics: dict[str, Any]
    checkpoint: str | bool

    @property
    def sha256(self) -> str | None:
        """The digest that its checkpoint has to carry, if it is known."""
        return self.checkpoint if isinstance(self.checkpoint, str) else None


def read_runs(database: Database) -> tuple[list[RunRecord], list[Damage]]:
    """All runs that can be read, in the order they were begun, and what is wrong with the others and with the store."""
    damaged = [Damage(None, fault) for fault in database.faults.values()]
    found, torn = _scan(database, "runs", "SELECT rowid, * FROM runs {}", ("ORDER BY rowid", "ORDER BY rowid DESC"))
    records = []
    for run, *row in found:
        try:
            records.append(make_record(run, *row))
        except (ValueError, RecursionError) as error:
            damaged.append(Damage(str(run), f"its row cannot be read ({error})"))
    if torn:
        damaged.append(Damage(None, f"its table of runs cannot be read to the end ({torn})"))
        names, _ = _scan(database, "runs", "SELECT rowid, run FROM runs {}", ("INDEXED BY sqlite_autoindex_runs_1",))
        missing = {str(name) for (name,) in names} - {str(run) for run, *_ in found}
        damaged += [Damage(name, "its row cannot be read") for name in sorted(missing)]
    return records, damaged


def read_rounds(database: Database, run: str) -> tuple[list[RoundRow], list[Damage]]:
    """The rounds of a run, in order."""
    rows, damaged = _read(database, run, "rounds", "round, metrics", _round)
    return sorted(rows, key=lambda row: row.round), damaged


def read_events(database: Database, run: str) -> tuple[list[dict[str, Any]], list[Damage]]:
    """What happened to a run, in order."""
    return _read(database, run, "events", "round, time, kind, text", _event)


def _read(
    database: Database, run: str, table: str, columns: str, make: Callable[..., T]
) -> tuple[list[T], list[Damage]]:
    query = f"SELECT rowid, {columns} FROM {table} {{}} WHERE run = ?"
    found, torn = _scan(database, table, query, ("", "NOT INDEXED"), run)
    made, damaged = [], [Damage(run, f"its {table} cannot be read to the end ({torn})")] if torn else []
    for row in found:
        try:
            made.append(make(*row))
        except (ValueError, RecursionError) as error:
            damaged.append(Damage(run, f"one of its {table} cannot be read ({error})"))
    return made, damaged


def _scan(
    database: Database, table: str, query: str, ways: tuple[str, ...], *values: str
) -> tuple[list[tuple[Any, ...]], str]:
    """The rows in the order they were written, in the first way that gives all, and what kept from it if none did."""
    found: dict[int, tuple[Any, ...]] = {}
    torn = ""
    if table in database.faults:
        return [], ""
    for way in ways:
        try:
            for rowid, *row in database.connection.execute(query.format(way), values):
                found[rowid] = tuple(row)
        except FAULTS as error:
            torn = torn or str(error)
        else:
            return [found[rowid] for rowid in sorted(found)], ""
    return [found[rowid] for rowid in sorted(found)], torn


def make_record(run: object, created: object, status: object, config: object, summary: object) -> RunRecord:
    """A row of the table of runs, as it has to be."""
    if not isinstance(run, str) or not is_name(run):
        raise ValueError("that is no name for a run")
    if not isinstance(created, float) or not 0 <= created < LATEST:
        raise ValueError(f"created is {created!r:.60}")
    if status not in STATUSES:
        raise ValueError(f"its status is {status!r:.60}")
    return RunRecord(run, created, str(status), _object(config, "settings", _finite), _object(summary, "summary"))


def _round(round: object, metrics: object) -> RoundRow:
    if not isinstance(round, int) or round < 1:
        raise ValueError(f"its round is {round!r:.60}")
    values = _object(metrics, f"metrics of round {round}")
    checkpoint = values.pop("checkpoint", False)
    if not isinstance(checkpoint, str | bool):
        raise ValueError(f"its checkpoint of round {round} is {checkpoint!r:.60}")
    return RoundRow(round, values, checkpoint)


def _event(round: object, time: object, kind: object, text: object) -> dict[str, Any]:
    event = {"round": round, "time": time, "kind": kind, "text": text}
    fit(event, {"round": int, "time": float, "kind": str, "text": str})
    return event


def _finite(text: str) -> float:
    """A number of JSON, which Python also takes without an end."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _object(text: object, name: str, number: Callable[[str], float] = float) -> dict[str, Any]:
    """What JSON says, which has to be an object; `number` reads its numbers."""
    if not isinstance(text, str):
        raise ValueError(f"no text in its {name}")
    try:
        found = json.loads(text, parse_float=number, parse_constant=number)
    except ValueError:
        raise ValueError(f"no JSON in its {name}") from None
    if not isinstance(found, dict):
        raise ValueError(f"no JSON object in its {name}")
    return found
