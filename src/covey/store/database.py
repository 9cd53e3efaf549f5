"""The database file: opened, checked to be as covey makes it, and written anew when it is taken away."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from covey.errors import BadData, BadValue, RunFailed
from covey.store.names import alone

NAME = "covey.db"
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database
TABLES = {
    "runs": """CREATE TABLE runs (
  run TEXT PRIMARY KEY, created REAL NOT NULL, status TEXT NOT NULL, config TEXT NOT NULL, summary TEXT NOT NULL)""",
    "rounds": """CREATE TABLE rounds (
  run TEXT NOT NULL REFERENCES runs, round INTEGER NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (run, round))""",
    "events": """CREATE TABLE events (
  run TEXT NOT NULL REFERENCES runs, round INTEGER NOT NULL, time REAL NOT NULL,
  kind TEXT NOT NULL, text TEXT NOT NULL)""",
}

FAULTS = (sqlite3.Error, UnicodeError, MemoryError)  # SQLite's words of what is damaged may be damaged themselves


class Database:
    """The database of a store, to be written or only read; `mine` are the runs that this process writes."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder, self.path, self.read_only = folder, folder / NAME, read_only
        self.mine: set[str] = set()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            if read_only:
                self.connection = self._open_to_read()
            else:
                folder.mkdir(parents=True, exist_ok=True)
                with alone(folder / "covey.lock"):  # who turns on WAL must be alone, and does not wait in line
                    self.connection = open_to_write(self.path)
                self._files = _files(self.path)
            self.faults = faults_of(self.connection)
            if self.faults and not read_only:
                self.connection.close()
                raise sqlite3.DatabaseError(f"{min(self.faults.values())}; see covey doctor --out {folder}")
        except (OSError, *FAULTS) as error:
            self.close()
            wanted = "read" if read_only else "read and written"
            raise BadValue("out", str(folder), f"a folder for runs that can be {wanted} ({error})") from error

    def close(self) -> None:
        """Let go of the database."""
        if hasattr(self, "connection"):
            self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def write(self, *statements: tuple[Any, ...]) -> int:
        """Carry out (statement, value, …) tuples, all or none; gives how many rows the last one changed."""
        self._look()
        db = self.connection
        try:
            db.execute("BEGIN IMMEDIATE")
            for statement, *values in statements:
                count = db.execute(statement, values).rowcount
            db.execute("COMMIT")
        except FAULTS as error:
            with contextlib.suppress(*FAULTS):
                db.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise
            raise RunFailed(f"the store in {self.folder} could not be written ({error}); what it had is kept") from None
        self._look()  # what was written to a file that is gone would be nowhere
        return count

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows that a query gives."""
        try:
            return self.connection.execute(query, values).fetchall()
        except FAULTS as error:
            raise BadData(f"the database {self.path} cannot be read ({error}); see covey doctor") from None

    def _look(self) -> None:
        """Notice when the file is no longer the one that was opened."""
        if not self.read_only and _files(self.path)[0] != self._files[0]:
            try:
                self._write_anew()
            except (OSError, *FAULTS) as error:
                raise RunFailed(
                    f"the database {self.path} was taken away while it was written, and no new one could be made "
                    f"({error}); checkpoints that are left can be taken up with: covey doctor --repair"
                ) from None

    def _write_anew(self) -> None:
        """A new database from the old one, which is open still: of all runs, or of our own if somebody put one there.

        What SQLite kept beside the old one must go first, or it would be taken for the new one's.
        """
        old = self.connection
        if not self.folder.is_dir():
            raise FileNotFoundError("its folder is gone")
        with alone(self.folder / "covey.lock"):
            gone = not self.path.exists()
            for suffix, known in zip(BESIDE, self._files[1:], strict=True):
                beside = Path(f"{self.path}{suffix}")
                if known is not None and _file(beside) == known:
                    beside.unlink()
            new = open_to_write(self.path)
            try:
                self._fill(new, gone)
            except BaseException:
                new.close()
                raise
        self.connection = new
        self._files = _files(self.path)
        old.close()

    def _fill(self, new: sqlite3.Connection, gone: bool) -> None:
        if faults := faults_of(new):
            raise sqlite3.DatabaseError(min(faults.values()))
        known = [run for (run,) in self.connection.execute("SELECT run FROM runs ORDER BY rowid")]
        copy_runs(self.connection, new, [run for run in known if gone or run in self.mine])
        what = "removed" if gone else "replaced"
        said = f"the database was {what} while the run went on; what it had said was written anew"
        for run in sorted(self.mine & set(known)):
            query = "INSERT INTO events SELECT ?, coalesce(max(round), 0), ?, 'store', ? FROM rounds WHERE run = ?"
            new.execute(query, (run, time.time(), said, run))

    def _open_to_read(self) -> sqlite3.Connection:
        check_files(self.path)
        if not self.path.exists() or self.path.stat().st_size == 0:
            db = _connect(":memory:")
            for table in TABLES.values():
                db.execute(table)
        else:
            try:
                db = _connect(f"{self.path.absolute().as_uri()}?mode=ro")
                db.execute("SELECT count(*) FROM sqlite_master").fetchall()
            except sqlite3.OperationalError:  # the folder cannot be written, which SQLite wants to
                db = self._open_untouched()
        db.execute("PRAGMA query_only = ON")
        return db

    def _open_untouched(self) -> sqlite3.Connection:
        """Where nothing may be written: as it is, or a copy if the log beside it has more to say."""
        log = Path(f"{self.path}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1")
        self._copy = tempfile.TemporaryDirectory(prefix="covey-")
        for path in (self.path, log):
            shutil.copyfile(path, Path(self._copy.name) / path.name)
        return _connect((Path(self._copy.name) / NAME).as_uri())


def open_to_write(path: Path) -> sqlite3.Connection:
    """That database, made if it is not there; refused if it is not a file of its own."""
    check_files(path)
    db = _connect(path.absolute().as_uri())
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for table in TABLES.values():
                db.execute(table)
    except FAULTS:
        db.close()
        raise
    return db


def copy_runs(old: sqlite3.Connection, new: sqlite3.Connection, runs: Iterable[str]) -> None:
    """Bring these runs from one database to another; one that is there must be the same, and is brought up to date."""
    new.execute("BEGIN IMMEDIATE")
    for run in runs:
        (row,) = old.execute("SELECT * FROM runs WHERE run = ?", (run,)).fetchall()
        there = new.execute("SELECT * FROM runs WHERE run = ?", (run,)).fetchone()
        if there is not None and (there[1], there[3]) != (row[1], row[3]):
            new.execute("ROLLBACK")
            raise sqlite3.IntegrityError(f"the one in its place has another run of the name {run}")
        for table in ("events", "rounds", "runs"):
            new.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
        for table in TABLES:
            rows = old.execute(f"SELECT * FROM {table} WHERE run = ? ORDER BY rowid", (run,))
            marks = ", ".join("?" * len(rows.description))
            new.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    new.execute("COMMIT")


def faults_of(db: sqlite3.Connection) -> dict[str, str]:
    """What is not as covey makes it, by name; reading from a view, or writing past a trigger, may do anything."""
    found = {name: (kind, sql) for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master")}
    odd = {name: f"it has a {kind} {name}" for name, (kind, _) in found.items() if kind in ("view", "trigger")}
    for name, sql in TABLES.items():
        if name not in found:
            odd[name] = f"it has no table {name}"
        elif "".join(str(found[name][1]).split()) != "".join(sql.split()):
            odd[name] = f"its table {name} is not as covey makes it"
    return odd


def check_files(path: Path) -> None:
    """Refuse a database that is a link, a pipe or a folder."""
    for suffix in ("", *BESIDE):
        file = Path(f"{path}{suffix}")
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(file.lstat().st_mode):
                raise OSError(f"{file.name} is not a regular file")


def _connect(uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, timeout=60, isolation_level=None, uri=True)
    db.text_factory = lambda text: text.decode(errors="replace")
    db.execute("PRAGMA trusted_schema = OFF")
    return db


def _files(path: Path) -> list[tuple[int, int] | None]:
    """Which files the database and those beside it are, whatever they are called."""
    return [_file(Path(f"{path}{suffix}")) for suffix in ("", *BESIDE)]


def _file(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
