"""The run store: one SQLite file for runs, rounds and events, one folder a run for its checkpoints.

A checkpoint is one safetensors file that holds everything a run needs to go on. It is written beside its name, moved
there in one step, and only then does the database say that the round is done; so whenever a run is killed, the newest
round the database knows has a whole checkpoint behind it. Should a power cut damage that one, the one before serves.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covey.checkpoint import Checkpoint
from covey.errors import BadData, BadValue, CoveyError, RunFailed, UnknownName

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
  run TEXT PRIMARY KEY, created REAL NOT NULL, status TEXT NOT NULL, config TEXT NOT NULL, summary TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rounds (
  run TEXT NOT NULL REFERENCES runs, round INTEGER NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (run, round));
CREATE TABLE IF NOT EXISTS events (
  run TEXT NOT NULL REFERENCES runs, round INTEGER NOT NULL, time REAL NOT NULL,
  kind TEXT NOT NULL, text TEXT NOT NULL);
"""


PATIENCE = 10
"""How often a process tries to take a run before it says that another has it."""


@dataclass(frozen=True)
class RunRecord:
    """A run as the store knows it; `status` is running, interrupted (its process is gone), finished or failed."""

    run: str
    created: float
    status: str
    config: dict[str, Any]
    summary: dict[str, Any]


class Store:
    """The runs in one folder. Several processes may use it at a time; one run belongs to one process."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _alone(self.folder / "covey.lock"):  # who turns on WAL must be alone, and does not wait in line
                self._db = sqlite3.connect(self.folder / "covey.db", timeout=60, isolation_level=None)
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.executescript(SCHEMA)
        except (OSError, sqlite3.DatabaseError) as error:
            raise BadValue("out", str(folder), f"a folder for runs that can be read and written ({error})") from None
        self._behind = ThreadPoolExecutor(max_workers=1)  # rounds do not wait for the disk
        self._settling: Future[None] | None = None

    def close(self) -> None:
        """Let go of the database."""
        self._behind.shutdown()
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- runs

    def create(self, name: str, config: dict[str, Any]) -> str:
        """A new run; its name is `name` with the first number that is free."""
        name = re.sub(r"[^\w.-]+", "-", name)  # it names a folder, too
        for number in range(1, 1_000_000):
            run = f"{name}-{number}"
            try:
                self._write("INSERT INTO runs VALUES (?, ?, 'running', ?, '{}')", run, time.time(), json.dumps(config))
            except sqlite3.IntegrityError:
                continue
            return run
        raise RunFailed(f"the store in {self.folder} has no free name for {name}")

    def runs(self) -> list[RunRecord]:
        """All runs, oldest first."""
        rows = self._db.execute("SELECT run, created, status, config, summary FROM runs ORDER BY created, rowid")
        return [
            RunRecord(run, created, self._seen(run, status), json.loads(config), json.loads(summary))
            for run, created, status, config, summary in rows
        ]

    def get(self, run: str) -> RunRecord:
        """That run, or the nearest name."""
        known = {record.run: record for record in self.runs()}
        if run not in known:
            if not known:
                raise BadValue("run", run, f"the name of a run; the store in {self.folder} has none yet")
            raise UnknownName("run", run, known)
        return known[run]

    def unfinished(self) -> RunRecord:
        """The latest run that is not finished and not in another process's hands."""
        for record in reversed(self.runs()):
            if record.status != "finished" and not self._is_locked(record.run):
                return record
        raise CoveyError(f"the store in {self.folder} has no unfinished run; start one with: covey run fedavg")

    def mark(self, run: str, status: str, summary: dict[str, Any]) -> None:
        """Write down how the run stands, and what it came to if it is over."""
        self._write("UPDATE runs SET status = ?, summary = ? WHERE run = ?", status, json.dumps(summary), run)

    @contextlib.contextmanager
    def owned(self, run: str) -> Iterator[None]:
        """Hold the run while the block runs; a killed process lets go of it by dying."""
        folder = self.folder / run
        try:
            folder.mkdir(exist_ok=True)
            lock = (folder / "lock").open("w")
        except OSError as error:
            raise RunFailed(f"the folder {folder} could not be written ({error.strerror})") from None
        with lock:
            for attempt in range(PATIENCE):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if attempt == PATIENCE - 1:
                        raise BadValue("run", run, "one that no other process is running") from None
                    time.sleep(0.02)  # it may be somebody who only looks, see `_is_locked`
            yield

    def _seen(self, run: str, status: str) -> str:
        """A run that says it is running and that nobody holds any more was interrupted."""
        begun = (self.folder / run / "lock").exists()  # else it is about to begin
        return "interrupted" if status == "running" and begun and not self._is_locked(run) else status

    def _is_locked(self, run: str) -> bool:
        try:
            with (self.folder / run / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    # --- rounds and events

    def add_round(self, run: str, round: int, metrics: dict[str, Any], checkpoint: Checkpoint | None) -> None:
        """One more round is done: first its checkpoint, if it has one, then its metrics."""
        if checkpoint is not None:
            self._save(run, round, checkpoint)
        text = json.dumps(metrics | {"checkpoint": checkpoint is not None})
        self._write("INSERT OR REPLACE INTO rounds VALUES (?, ?, ?)", run, round, text)
        if checkpoint is not None and (self._settling is None or self._settling.done()):
            self._settling = self._behind.submit(self._settle, run, self.path(run, round))

    def rounds(self, run: str) -> list[dict[str, Any]]:
        """The metrics of every round, in order."""
        rows = self._db.execute("SELECT round, metrics FROM rounds WHERE run = ? ORDER BY round", (run,))
        return [{"round": number} | json.loads(metrics) for number, metrics in rows]

    def add_event(self, run: str, round: int, kind: str, text: str) -> None:
        """Write down that something happened: a lost client, a round tried again, a resume."""
        self._write("INSERT INTO events VALUES (?, ?, ?, ?, ?)", run, round, time.time(), kind, text)

    def events(self, run: str) -> list[dict[str, Any]]:
        """What happened, in order."""
        rows = self._db.execute("SELECT round, time, kind, text FROM events WHERE run = ? ORDER BY rowid", (run,))
        return [dict(zip(("round", "time", "kind", "text"), row, strict=True)) for row in rows]

    def rewind(self, run: str) -> tuple[int, Checkpoint] | None:
        """The newest whole checkpoint the database knows, with its round; later rounds are forgotten."""
        for row in reversed(self.rounds(run)):
            if row["checkpoint"]:
                with contextlib.suppress(BadData):
                    checkpoint = Checkpoint.load(self.path(run, row["round"]))
                    self._forget(run, row["round"])
                    return row["round"], checkpoint
        self._forget(run, 0)
        return None

    def _forget(self, run: str, last: int) -> None:
        """Drop all there is of rounds after `last`."""
        self._write("DELETE FROM rounds WHERE run = ? AND round > ?", run, last)
        self._write("DELETE FROM events WHERE run = ? AND round > ?", run, last)
        for path in self._checkpoints(run):
            if path > self.path(run, last):
                path.unlink(missing_ok=True)

    def path(self, run: str, round: int) -> Path:
        """Where the checkpoint of that round is."""
        return self.folder / run / f"round-{round:06d}.safetensors"

    def latest(self, run: str) -> Path:
        """The newest checkpoint of a run."""
        found = self._checkpoints(run)
        if not found:
            raise BadData(f"run {run} has no checkpoint in {self.folder / run}; resume it, or run it again")
        return found[-1]

    def _checkpoints(self, run: str) -> list[Path]:
        return sorted((self.folder / run).glob("round-*.safetensors"))

    def _save(self, run: str, round: int, checkpoint: Checkpoint) -> None:
        target = self.path(run, round)
        part = target.with_suffix(".part")
        try:
            with part.open("wb") as file:
                file.write(checkpoint.encode())
            part.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise RunFailed(
                f"the checkpoint of round {round} could not be written to {target.parent} ({error.strerror}); "
                f"make room, then: covey resume {run}"
            ) from None

    def _settle(self, run: str, target: Path) -> None:
        """Bring a checkpoint and what the database says to the disk itself, and drop those before the one before it."""
        for path in (target, self.folder / "covey.db-wal"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        for old in [path for path in self._checkpoints(run) if path < target][:-1]:
            old.unlink(missing_ok=True)

    def _write(self, statement: str, *values: Any) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise RunFailed(f"the store in {self.folder} could not be written ({error}); what it had is kept") from None


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until no other process is in such a block."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
