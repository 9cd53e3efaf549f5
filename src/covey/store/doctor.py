"""Looks a whole store over: its database, what it says of every run, every checkpoint with its digest."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from covey.errors import BadData, BadValue
from covey.store.files import check_folder, files_in
from covey.store.names import is_name
from covey.store.rows import Damage, RunRecord, read_rounds
from covey.store.runs import Store


@dataclass(frozen=True)
class Health:
    """How many runs there are, how many of them are whole, and what is wrong with the others or the store itself."""

    runs: int
    whole: int
    damaged: list[Damage]


def examine(folder: Path) -> Health:
    """Check a store, and change nothing; of a run that a process is writing, only what the database says of it."""
    if not folder.is_dir():
        raise BadValue("out", str(folder), "a folder with runs")
    known: list[str] = []
    damaged = []
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(Store(folder, read_only=True))
        except BadValue as error:
            damaged.append(Damage(None, f"its database cannot be read ({error.__cause__})"))
        else:
            known = [record.run for record in store.runs()]
            damaged = [*_database(store), *store.damaged()]
            for record in store.runs():
                damaged += [Damage(record.run, what) for what in _run(store, record)]
    try:
        unknown = [name for name in left_behind(folder) if name not in known]
    except OSError as error:
        raise BadValue("out", str(folder), f"a folder that can be read ({error})") from None
    damaged += [Damage(name, "its checkpoints are there, but the database does not know it") for name in unknown]
    ill = {damage.run for damage in damaged} - {None}
    return Health(len(ill | set(known)), len(set(known) - ill), damaged)


def left_behind(folder: Path) -> list[str]:
    """The folders that have a run's name and checkpoints in them."""
    folders = [
        path for path in sorted(folder.iterdir()) if is_name(path.name) and path.is_dir() and not path.is_symlink()
    ]
    return [path.name for path in folders if files_in(path)]


def _database(store: Store) -> Iterator[Damage]:
    try:
        for (fault,) in store.database.read("PRAGMA integrity_check(3)"):
            if fault != "ok":
                yield Damage(None, f"its database is damaged ({fault})")
        for table in {"rounds", "events"} - store.database.faults.keys():
            query = f"SELECT DISTINCT run FROM {table} WHERE run NOT IN (SELECT run FROM runs)"
            for (run,) in store.database.read(query) if "runs" not in store.database.faults else ():
                yield Damage(str(run), f"it has {table}, but there is no such run")
    except BadData as error:
        yield Damage(None, str(error))


def _run(store: Store, record: RunRecord) -> Iterator[str]:
    """What is wrong with a run."""
    rows, torn = read_rounds(store.database, record.run)
    yield from (damage.what for damage in store.damaged(record.run))
    repaired = [event["round"] for event in store.events(record.run) if event["kind"] == "repaired"]
    missing, first = gap([row.round for row in rows], max([0, *repaired]), max([0, *(row.round for row in rows)]))
    if missing > 0 and not torn:
        yield f"{missing} of its rounds are missing, the first of them round {first}"
    if store.is_held(record.run):
        return
    try:
        files = files_in(check_folder(store.folder / record.run))
    except (BadData, OSError) as error:
        yield str(error)
        return
    with_checkpoint = [row for row in rows if row.checkpoint]
    for row in with_checkpoint:
        if row.round in files or row is with_checkpoint[-1]:
            try:
                store.load(record.run, row)
            except BadData as error:
                yield str(error)
    if record.status == "finished" and not (rows and rows[-1].checkpoint):
        yield "it is finished, but its last round has no checkpoint"


def gap(there: Collection[int], after: int, last: int) -> tuple[int, int]:
    """How many rounds from `after` to `last` are missing, and which is the first; a forged round may be any number."""
    between = {round for round in there if after < round <= last}
    first = after + 1
    while first in between:
        first += 1
    return last - after - len(between), first
