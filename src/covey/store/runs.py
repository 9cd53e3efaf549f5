"""The runs of a store: begun, written down round by round, taken up again.

A checkpoint is written first, and only then does the database say that the round is done; so whenever a run is killed,
the newest round the database knows has a whole checkpoint behind it. Should a power cut damage that one, the one before
serves: it is dropped only after the newer one is on the disk itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from covey.checkpoint import Checkpoint, Identity, read_label
from covey.errors import BadData, BadValue, CoveyError, RunFailed, UnknownName
from covey.store.database import Database
from covey.store.files import check_folder, file_of, files_in, set_aside, write_file
from covey.store.names import held, is_held, is_name, make_name
from covey.store.rows import STATUSES, Damage, RoundRow, RunRecord, read_events, read_rounds, read_runs
from covey.store.settle import Settler

LOCK = "lock"
LIMITS = ("rounds", "target_accuracy", "target_own_accuracy", "stop_at_seconds", "stop_at_traffic")
"""Settings that say when a run ends: they may change when it is extended."""


class Store:
    """The runs in one folder. Several processes may use it at a time; one run belongs to one process.

    To be read only, nothing in the folder is changed, and a folder that is not there is a store without runs.
    """

    def __init__(self, folder: str | Path, *, read_only: bool = False) -> None:
        self.folder = Path(folder)
        self.database = Database(self.folder, read_only=read_only)
        self._known: dict[str, RunRecord] = {}  # what checkpoints say of their run
        self._settler = Settler(Path(f"{self.database.path}-wal"))
        self._begun: dict[str, FileLock] = {}  # runs that were made here and that no block owns yet

    def close(self) -> None:
        """Let go of the database, and of runs that were made and not begun."""
        for lock in self._begun.values():
            lock.release()
        self._begun = {}
        self._settler.close()
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- runs

    def create(self, name: str, config: dict[str, Any], *, numbered: bool = True) -> str:
        """A new run; its name is `name` with the first number that neither a run nor a folder has, or `name` itself.

        It is held by this process from when others can see it until `owned` takes it over or the store is closed.
        """
        if self.database.read_only:
            raise RunFailed(f"the store in {self.folder} was opened to be read only")
        text = json.dumps(config)
        if numbered:
            names: Iterable[str] = (f"{make_name(name)}-{number}" for number in range(1, 1_000_000))
        elif is_name(name):
            names = (name,)
        else:
            raise BadValue("name", name, "letters, digits, dots and dashes, beginning with a letter or digit")
        for run in names:
            try:
                (self.folder / run).mkdir()
            except FileExistsError:
                continue
            except OSError as error:
                raise RunFailed(f"the folder {self.folder / run} could not be made ({error.strerror})") from None
            lock = FileLock(self.folder / run / LOCK)
            try:
                lock.acquire()
                self.database.write(("INSERT INTO runs VALUES (?, ?, 'running', ?, '{}')", run, time.time(), text))
            except BaseException as error:
                lock.release()
                shutil.rmtree(self.folder / run)
                if isinstance(error, sqlite3.IntegrityError):  # a run whose folder is gone
                    continue
                if isinstance(error, OSError):
                    raise RunFailed(f"the folder {self.folder / run} could not be written ({error.strerror})") from None
                raise
            self._begun[run] = lock
            self.database.mine.add(run)
            return run
        if not numbered:
            raise BadValue("name", name, f"one that no run in {self.folder} has")
        raise RunFailed(f"the store in {self.folder} has no free name for {name}")

    def discard(self, run: str) -> None:
        """Forget a run that came to nothing, so that its name is free again."""
        if run in self._begun:
            self._begun.pop(run).release()
        tables = ("events", "rounds", "runs")
        self.database.write(*((f"DELETE FROM {table} WHERE run = ?", run) for table in tables))
        self.database.mine.discard(run)
        self._known.pop(run, None)
        folder = self._folder(run)
        with contextlib.suppress(OSError):  # what cannot be removed, or is a stranger's, keeps the name taken
            for path in (*files_in(folder).values(), folder / LOCK):
                path.unlink(missing_ok=True)
            folder.rmdir()

    def rename(self, run: str, name: str) -> None:
        """Give a run that nobody is running another name; its rounds, events and checkpoints go with it."""
        with self.owned(run):
            record = self._find(run)
            self.create(name, record.config, numbered=False)
            try:
                with self.owned(name):
                    self._copy(record, name)
            except BaseException:
                self.discard(name)
                raise
        self.discard(run)

    def _copy(self, record: RunRecord, name: str) -> None:
        """All there is of a run, under another name; checkpoints say whose they are, so they are written anew."""
        self._settler.now()
        self.database.write(("UPDATE runs SET created = ? WHERE run = ?", record.created, name))
        files = files_in(self._folder(record.run))
        for row in read_rounds(self.database, record.run)[0]:
            kept = Checkpoint(self.load(record.run, row).data) if row.checkpoint and row.round in files else None
            self.add_round(name, row.round, row.metrics, kept)
        for event in self.events(record.run):
            values = (event[key] for key in ("round", "time", "kind", "text"))
            self._write("INSERT INTO events VALUES (?, ?, ?, ?, ?)", name, *values)
        self.mark(name, record.status, {**record.summary, **({"run": name} if record.summary else {})})

    def amend(self, run: str, limits: dict[str, Any]) -> None:
        """Change when a run ends: settings that none of its rounds depends on."""
        for field in limits:
            if field not in LIMITS:
                raise BadValue("setting", field, f"one of {', '.join(LIMITS)}")
        config = {**self._find(run).config, **limits}
        self._write("UPDATE runs SET config = ? WHERE run = ?", json.dumps(config), run)
        self._known.pop(run, None)

    def runs(self) -> list[RunRecord]:
        """All runs that can be read, the last begun at the end; `damaged` names the others."""
        return [self._seen(record) for record in read_runs(self.database)[0]]

    def damaged(self, run: str | None = None) -> list[Damage]:
        """What cannot be read: which runs, or what of that run's rounds and events."""
        if run is None:
            return read_runs(self.database)[1]
        return read_rounds(self.database, run)[1] + read_events(self.database, run)[1]

    def get(self, run: str) -> RunRecord:
        """That run, or the nearest name."""
        return self._seen(self._find(run))

    def _find(self, run: str) -> RunRecord:
        records, damaged = read_runs(self.database)
        for record in records:
            if record.run == run:
                return record
        for damage in damaged:
            if damage.run == run:
                raise BadData(f"run {run} is damaged: {damage.what}; see: covey doctor --out {self.folder}")
        if not records:
            raise BadValue("run", run, f"the name of a run; the store in {self.folder} has none yet")
        raise UnknownName("run", run, [record.run for record in records])

    def unfinished(self) -> RunRecord:
        """The latest run that is not finished and not in another process's hands."""
        for record in reversed(self.runs()):
            if record.status == "interrupted" or (record.status != "finished" and not self.is_held(record.run)):
                return record
        raise CoveyError(f"the store in {self.folder} has no unfinished run; start one with: covey run fedavg")

    def mark(self, run: str, status: str, summary: dict[str, Any]) -> None:
        """Write down how the run stands, and what it came to if it is over; first its checkpoint is on the disk."""
        if status not in STATUSES:
            raise BadValue("status", status, f"one of {', '.join(STATUSES)}")
        self._settler.now()
        if not self._write("UPDATE runs SET status = ?, summary = ? WHERE run = ?", status, json.dumps(summary), run):
            raise RunFailed(f"the store in {self.folder} no longer has a run {run}; its checkpoints are kept")

    @contextlib.contextmanager
    def owned(self, run: str) -> Iterator[None]:
        """Hold the run while the block runs; a killed process lets go of it by dying."""
        folder = self._folder(run)
        with contextlib.ExitStack() as stack:
            try:
                folder.mkdir(exist_ok=True)
                if run in self._begun:
                    stack.callback(self._begun.pop(run).release)
                else:
                    stack.enter_context(held(folder / LOCK))
            except Timeout:
                raise BadValue("run", run, "one that no other process is running") from None
            except OSError as error:
                raise RunFailed(f"the folder {folder} could not be written ({error.strerror})") from None
            self.database.mine.add(run)
            yield

    def is_held(self, run: str) -> bool | None:
        """Whether a process runs it; None where that cannot be found out."""
        try:
            return is_held(self._folder(run) / LOCK)
        except CoveyError:
            return None

    def _seen(self, record: RunRecord) -> RunRecord:
        """A run that says it is running and that nobody holds any more was interrupted."""
        if record.status == "running" and self.is_held(record.run) is False:
            return RunRecord(**{**vars(record), "status": "interrupted"})
        return record

    def _folder(self, run: str) -> Path:
        if not is_name(run):
            raise BadValue("run", run, "a name of letters, digits, dots and dashes")
        return check_folder(self.folder / run)

    # --- rounds and events

    def add_round(self, run: str, round: int, metrics: dict[str, Any], checkpoint: Checkpoint | None) -> None:
        """One more round is done: first its checkpoint, if it has one, then its metrics."""
        digest = False if checkpoint is None else self._save(run, round, checkpoint, metrics)
        text = json.dumps(metrics | {"checkpoint": digest})
        self._write("INSERT OR REPLACE INTO rounds VALUES (?, ?, ?)", run, round, text)
        if checkpoint is not None:
            self._settler.soon(self.path(run, round))

    def rounds(self, run: str) -> list[dict[str, Any]]:
        """The metrics of every round that can be read, in order, and whether it has a checkpoint."""
        rows, _ = read_rounds(self.database, run)
        return [{"round": row.round} | row.metrics | {"checkpoint": bool(row.checkpoint)} for row in rows]

    def add_event(self, run: str, round: int, kind: str, text: str) -> None:
        """Write down that something happened: a lost client, a round tried again, a resume."""
        self._write("INSERT INTO events VALUES (?, ?, ?, ?, ?)", run, round, time.time(), kind, text)

    def events(self, run: str) -> list[dict[str, Any]]:
        """What happened, in order."""
        return read_events(self.database, run)[0]

    # --- checkpoints

    def rewind(self, run: str, check: Callable[[dict[str, Any]], None] | None = None) -> tuple[int, Checkpoint] | None:
        """The newest whole checkpoint the database knows, with its round; later rounds are forgotten.

        `check` may refuse the data of one with a ValueError. What is passed over is set aside, and an event says so.
        """
        self._settler.forget()
        rows, damaged = read_rounds(self.database, run)
        passed = [damage.what for damage in damaged]
        refused, found = [], None
        for row in reversed(rows):
            if row.checkpoint:
                try:
                    found = row.round, self.load(run, row, check)
                    break
                except BadData as error:
                    passed.append(f"{error}; it was passed over")
                    refused.append(row.round)
        last = 0 if found is None else found[0]
        try:
            self._forget(run, last, {row.round for row in rows}, refused)
        except OSError as error:
            raise RunFailed(f"the folder {self.folder / run} could not be written ({error.strerror})") from None
        for what in passed:
            self.add_event(run, last, "damaged", what)
        return found

    def checkpoint(self, run: str) -> Checkpoint:
        """The newest checkpoint of a run, which must be whole."""
        return self.load(run, self._newest(run))

    def latest(self, run: str) -> Path:
        """Where the newest checkpoint of a run is, which must be this run's; whether it is whole, loading it says."""
        row = self._newest(run)
        path = self.path(run, row.round)
        read_label(path, self._identity(run, row.round), row.sha256)
        return path

    def path(self, run: str, round: int) -> Path:
        """Where the checkpoint of that round is."""
        return file_of(self._folder(run), round)

    def _newest(self, run: str) -> RoundRow:
        for row in reversed(read_rounds(self.database, run)[0]):
            if row.checkpoint:
                return row
        raise BadData(f"run {run} has no checkpoint in {self.folder / run}; resume it, or run it again")

    def load(self, run: str, row: RoundRow, check: Callable[[dict[str, Any]], None] | None = None) -> Checkpoint:
        """The checkpoint of that round, which must be whole and this run's."""
        return Checkpoint.load(self.path(run, row.round), self._identity(run, row.round), row.sha256, check)

    def _identity(self, run: str, round: int) -> Identity:
        return Identity(run, digest_of(self._record(run).config), round)

    def _record(self, run: str) -> RunRecord:
        if run not in self._known:
            self._known[run] = self._find(run)
        return self._known[run]

    def _forget(self, run: str, last: int, known: set[int], refused: list[int]) -> None:
        """Drop all there is of rounds after `last`, and rows that say nothing; what was refused is set aside."""
        rows = self.database.read("SELECT rowid, round FROM rounds WHERE run = ?", run)
        gone = [rowid for rowid, round in rows if round not in known or round > last]
        self.database.write(
            *(("DELETE FROM rounds WHERE rowid = ?", rowid) for rowid in gone),
            ("DELETE FROM events WHERE run = ? AND round > ?", run, last),
        )
        for round, path in files_in(self._folder(run)).items():
            if round in refused or path.is_dir():
                set_aside(path)
            elif round > last:
                path.unlink(missing_ok=True)

    def _save(self, run: str, round: int, checkpoint: Checkpoint, metrics: dict[str, Any] | None = None) -> str:
        """Write a checkpoint under its name, with whose it is and what a new database would need to know."""
        record = self._record(run)
        about = {"created": record.created, "config": record.config, "metrics": metrics or {}}
        content, digest = Checkpoint(checkpoint.data, self._identity(run, round), about).seal()
        target = self.path(run, round)
        try:
            write_file(target, content)
        except OSError as error:
            raise RunFailed(
                f"the checkpoint of round {round} could not be written to {target.parent} ({error.strerror}); "
                f"make room, then: covey resume {run}"
            ) from None
        return digest

    def _write(self, statement: str, *values: Any) -> int:
        try:
            return self.database.write((statement, *values))
        except sqlite3.IntegrityError as error:
            raise RunFailed(f"the store in {self.folder} does not know that run any more ({error})") from None


def digest_of(config: dict[str, Any]) -> str:
    """SHA-256 of the settings a run's rounds depend on, in whatever order they were given; not of when it ends."""
    kept = {name: value for name, value in config.items() if name not in LIMITS}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
