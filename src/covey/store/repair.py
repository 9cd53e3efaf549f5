"""Writes a damaged store anew from what is whole; what is replaced or refused is kept beside it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from covey.checkpoint import Checkpoint, Identity, Label, read_label
from covey.errors import BadData, BadValue, RunFailed
from covey.store.database import BESIDE, FAULTS, NAME, open_to_write
from covey.store.doctor import examine, gap, left_behind
from covey.store.files import check_folder, files_in, set_aside, to_disk
from covey.store.names import alone, is_held, is_name
from covey.store.rows import Damage, RoundRow, RunRecord, make_record, read_events, read_rounds
from covey.store.runs import LOCK, Store, digest_of


@dataclass
class Patient:
    """A run of the store that is being repaired: what will be said of it, what is set aside, what was done."""

    run: str
    record: RunRecord | None = None
    rows: dict[int, RoundRow] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    refused: list[Path] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


def repair(folder: Path) -> list[Damage]:
    """Repair a store that nobody is using, and say what was done; a store that is whole is left alone."""
    ill = {damage.run for damage in examine(folder).damaged}
    if not ill:
        return []
    for path in folder.iterdir():
        if is_name(path.name) and not path.is_symlink() and is_held(path / LOCK):
            raise BadValue("run", path.name, "one that no process is running while its store is repaired")
    try:
        with alone(folder / "covey.lock"):
            patients = _known(folder)
            for name in [*left_behind(folder), *sorted(name for name in ill if name is not None and is_name(name))]:
                patients.setdefault(name, Patient(name))
            for name, one in patients.items():
                if name in ill or one.record is None:
                    _mend(folder / name, one)
            aside = _put_in_place(folder, list(patients.values()))
            for path in [path for one in patients.values() for path in one.refused]:
                set_aside(path)
    except (OSError, *FAULTS) as error:
        raise RunFailed(f"the store in {folder} could not be repaired ({error})") from None
    done = [Damage(None, f"the database was written anew{aside}")]
    done += [Damage(run, "; ".join(one.done)) for run, one in patients.items() if one.done]
    strangers = sorted(run for run in ill if run is not None and run not in patients)
    return done + [Damage(run, "it was left out, since that is no name for a run") for run in strangers]


def _known(folder: Path) -> dict[str, Patient]:
    """All that the database says and that can be read, in the order the runs were begun."""
    found = {}
    with (
        contextlib.suppress(BadValue),
        Store(folder, read_only=True) as store,
    ):  # one that cannot be opened says nothing
        for record in store.runs():
            status = "running" if record.status == "interrupted" else record.status
            rows = {row.round: row for row in read_rounds(store.database, record.run)[0]}
            events = read_events(store.database, record.run)[0]
            found[record.run] = Patient(record.run, replace(record, status=status), rows, events)
    return found


def _mend(home: Path, one: Patient) -> None:
    """Bring what is said of a run into line with its checkpoints that are whole; the others are set aside."""
    try:
        files = files_in(check_folder(home))
    except BadData:  # a link or a file in place of the folder
        files, one.refused = {}, [home]
    labels = {round: label for round, path in files.items() if (label := _label(path)) is not None}
    if one.record is None:
        one.record = _remembered(one.run, labels)
        took = "its settings were taken from its newest checkpoint"
        one.done.append("it was left out, since nothing of it can be read" if one.record is None else took)
    good = {round: label for round, label in labels.items() if _is_of(one, round, label)}
    one.refused += [path for round, path in files.items() if round not in good]
    one.done += [f"{path.name} was set aside" for path in one.refused]
    if one.record is None:
        return
    for round, label in good.items():
        metrics = one.rows[round].metrics if round in one.rows else label.record.get("metrics")
        one.rows[round] = RoundRow(round, metrics if isinstance(metrics, dict) else {}, label.sha256)
    newest = last = max(good, default=0)
    while last + 1 in one.rows:  # those that are known without a gap; what comes later will be run again
        last += 1
        one.rows[last] = replace(one.rows[last], checkpoint=False)
    finished = one.record.status == "finished" and newest == max(one.rows, default=-1)
    one.rows = {round: row for round, row in one.rows.items() if round <= last}
    if one.record.status == "finished" and not finished:
        one.record = replace(one.record, status="running", summary={})
        one.done.append(f"it is no longer finished, since its last checkpoint is not whole; it resumes after {newest}")
    lost, first = gap(one.rows, 0, newest)
    if lost:
        one.done.append(f"the metrics of {lost} rounds are lost, from round {first} on")
    one.done = one.done or ["what could not be read of it was dropped"]
    one.events.append({"round": newest, "time": time.time(), "kind": "repaired", "text": "; ".join(one.done)})


def _label(path: Path) -> Label | None:
    """What a checkpoint says of itself, if it is whole."""
    try:
        Checkpoint.load(path)
        return read_label(path)
    except BadData:
        return None


def _remembered(run: str, labels: dict[int, Label]) -> RunRecord | None:
    """The run as its newest whole checkpoint remembers it."""
    for _, label in sorted(labels.items(), reverse=True):
        config, created = label.record.get("config"), label.record.get("created")
        with contextlib.suppress(ValueError):
            record = make_record(run, created, "running", json.dumps(config), "{}")
            if label.identity.run == run and label.identity.settings == digest_of(record.config):
                return record
    return None


def _is_of(one: Patient, round: int, label: Label) -> bool:
    """Whether a whole checkpoint is this run's, and the one that the database means, if it names one."""
    if one.record is None or label.identity != Identity(one.run, digest_of(one.record.config), round):
        return False
    return round not in one.rows or one.rows[round].sha256 in (None, label.sha256)


def _put_in_place(folder: Path, patients: list[Patient]) -> str:
    """Write a new database and put it where the old one was, of which a copy is kept; says what that is called."""
    new, place = folder / f"{NAME}.new", folder / NAME
    for suffix in ("", *BESIDE):
        Path(f"{new}{suffix}").unlink(missing_ok=True)
    with contextlib.closing(open_to_write(new)) as db:
        db.execute("BEGIN")
        for one in patients:
            _write(db, one)
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = DELETE")  # all of it in one file
    to_disk(new)
    said = ""
    if os.path.lexists(place):
        number = 1
        while os.path.lexists(aside := folder / f"{NAME}.damaged-{number}"):
            number += 1
        if place.is_symlink() or not place.is_file():
            place.rename(aside)
        else:
            shutil.copyfile(place, aside)
        said = f"; the one before is {aside.name}"
        for suffix in [suffix for suffix in BESIDE if os.path.lexists(f"{place}{suffix}")]:
            Path(f"{place}{suffix}").rename(f"{aside}{suffix}")
    new.replace(place)
    to_disk(folder)
    return said


def _write(db: sqlite3.Connection, one: Patient) -> None:
    if one.record is None:
        return
    run, record = one.run, one.record
    row = (run, record.created, record.status, json.dumps(record.config), json.dumps(record.summary))
    db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row)
    for number, found in sorted(one.rows.items()):
        metrics = json.dumps(found.metrics | {"checkpoint": found.checkpoint})
        db.execute("INSERT INTO rounds VALUES (?, ?, ?)", (run, number, metrics))
    for event in one.events:
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (run, *event.values()))
