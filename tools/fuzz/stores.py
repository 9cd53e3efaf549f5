"""Stores that were damaged or edited: checkpoints and databases of a run that was killed, and of one that was not."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import covey
from covey.checkpoint import Checkpoint
from tools.call import SMALL, forked
from tools.fuzz import odd
from tools.fuzz.case import Case, Content
from tools.fuzz.damage import damaged

Draw = Callable[[st.SearchStrategy[Any]], Any]

KILLED, WHOLE = "star-rings-digits-1", "ring-digits-1"
SETTINGS: dict[str, Any] = {**SMALL, "rounds": 4, "momentum": 0.5, "dropout": 0.2}
REMEMBERED: dict[str, Any] = {**SETTINGS, "local": "scaffold", "server": "adam", "groups": 2}  # there is a lot to forge
COMMANDS = [["resume"], ["resume", KILLED], ["list"], ["show", KILLED], ["show", WHOLE], ["doctor"]]
COLUMNS = {
    "runs": ["run", "created", "status", "config", "summary"],
    "rounds": ["run", "round", "metrics"],
    "events": ["run", "round", "time", "kind", "text"],
}


SCHEMA_EDITS = [
    "DROP TABLE {t}",
    "ALTER TABLE {t} RENAME TO other",
    "ALTER TABLE {t} DROP COLUMN {c}",
    "ALTER TABLE {t} ADD COLUMN extra TEXT",
    "CREATE VIEW {t}2 AS SELECT 1",
]


@cache
def template() -> tuple[dict[str, Content], str | None]:
    """The files of a store with a run that was killed after its second round and one that ended.

    And the digest of the model that the killed one would have ended with.
    """
    with tempfile.TemporaryDirectory() as made:
        folder, spare = Path(made, "a"), Path(made, "b")
        for path in (folder, spare):
            path.mkdir()
        runs = folder / "runs"

        def stop(report: covey.Report) -> None:
            if report.metrics["round"] == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        killed = forked(lambda: covey.run("star-rings", out=runs, callbacks=[stop], **REMEMBERED), folder)
        whole = forked(lambda: covey.run("ring", out=runs, **SETTINGS), folder)
        undisturbed = forked(
            lambda: print(covey.run("star-rings", out=spare, **REMEMBERED).summary["model_sha256"]), spare
        )
        assert (killed.code, whole.code, undisturbed.code) == (-signal.SIGKILL, 0, 0), (killed, whole, undisturbed)
        with sqlite3.connect(runs / "covey.db") as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        files: dict[str, Content] = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in runs.rglob("*")
            if path.is_file() and not path.name.endswith(("-wal", "-shm"))
        }
    return files, undisturbed.out.strip()


@st.composite
def commands(draw: Draw) -> tuple[str, ...]:
    """What is asked of a store."""
    words = draw(st.sampled_from(COMMANDS))
    return (*words, "--json") if draw(st.integers(0, 3)) else tuple(words)


@st.composite
def checkpoints(draw: Draw) -> Case:
    """A store in which checkpoints are damaged, forged, another run's, or no files at all."""
    files, model = template()
    files = dict(files)
    own = sorted(name for name in files if KILLED in name and name.endswith(".safetensors"))
    others = sorted(name for name in files if WHOLE in name and name.endswith(".safetensors"))
    for name in draw(st.sampled_from([own[-1:], own[-1:], own, own[:1], others[-1:]])):
        content = files[name]
        assert isinstance(content, bytes)
        way = draw(st.sampled_from(["damaged", "damaged", "damaged", "header", "forged", "other", "special"]))
        if way == "damaged":
            files[name] = draw(damaged(content))
        elif way == "header":
            files[name] = draw(other_header(content))
        elif way == "forged":
            files[name], old, new = draw(forged(content))
            database = files["runs/covey.db"]
            assert isinstance(database, bytes)
            files["runs/covey.db"] = database.replace(old, new)
            model = None  # who forges both has their way, as long as what is forged has the shape of a checkpoint
        elif way == "other":
            files[name] = files[draw(st.sampled_from([n for n in own + others if n != name]))]
        else:
            files[name] = draw(
                st.sampled_from(["fifo", "folder", "-> ../covey.db", "-> /dev/zero", f"-> {Path(name).name}"])
            )
    words = draw(commands())
    return Case("checkpoint", words, files, model=model if words[0] == "resume" else None)


@st.composite
def other_header(draw: Draw, content: bytes) -> bytes:
    """The JSON header of a safetensors file with one thing in it changed, its length put right."""
    length = int.from_bytes(content[:8], "little")
    header = draw(edited(json.loads(content[8 : 8 + length])))
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


@st.composite
def forged(draw: Draw, content: bytes) -> tuple[bytes, bytes, bytes]:
    """The checkpoint with one thing in it changed and a digest that fits; and the digests before and after."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.safetensors")
        path.write_bytes(content)
        whole = Checkpoint.load(path)
    data = draw(edited(whole.data))
    changed, digest = Checkpoint(data if isinstance(data, dict) else {}, whole.identity, whole.record).seal()
    return changed, whole.seal()[1].encode(), digest.encode()


@st.composite
def edited(draw: Draw, value: Any) -> Any:
    """A copy of nested data with one thing in it replaced, left out or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value, key=str)))
        what = draw(st.integers(0, 4))
        if what == 0:
            return {k: v for k, v in value.items() if k != key}
        if what == 1:
            return {**value, draw(odd.texts): draw(odd.json_values)}
        return {**value, key: draw(edited(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        at = draw(st.integers(0, len(value) - 1))
        what = draw(st.integers(0, 4))
        return value[:at] + ([] if what == 0 else [draw(edited(value[at]))] * (2 if what == 1 else 1)) + value[at + 1 :]
    return draw(odd.json_values)


@st.composite
def databases(draw: Draw) -> Case:
    """A store whose database is damaged, or was edited by somebody."""
    files, model = template()
    content = files["runs/covey.db"]
    assert isinstance(content, bytes)
    way = draw(st.sampled_from(["damaged", "edited", "edited", "edited", "beside"]))
    changed: dict[str, Content] = {}
    if way == "damaged":
        changed["runs/covey.db"] = draw(damaged(content))
    elif way == "edited":
        changed["runs/covey.db"] = draw(edited_database(content))
    else:
        name = draw(st.sampled_from(["covey.db", "covey.db-wal", "covey.db-shm", "covey.lock", f"{KILLED}/lock"]))
        special = st.sampled_from(["fifo", "folder", "-> nowhere", "-> ."])
        changed[f"runs/{name}"] = draw(st.one_of(st.binary(max_size=64), special))
    words = draw(commands())
    return Case("database", words, {**files, **changed}, model=model if words == ("resume", KILLED, "--json") else None)


@st.composite
def edited_database(draw: Draw, content: bytes) -> bytes:
    """One to three rows, columns or tables changed by SQL."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "covey.db")
        path.write_bytes(content)
        with sqlite3.connect(path, isolation_level=None) as db:
            db.execute("PRAGMA journal_mode=DELETE")
            db.execute("PRAGMA foreign_keys=OFF")
            for _ in range(draw(st.integers(1, 3))):
                statement, values = draw(edits(db))
                try:
                    db.execute(statement, values)
                except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                    continue  # the database itself would not have it
        db.close()
        return path.read_bytes()


@st.composite
def edits(draw: Draw, db: sqlite3.Connection) -> tuple[str, tuple[Any, ...]]:
    """A statement that changes something."""
    table = draw(st.sampled_from(sorted(COLUMNS)))
    column = draw(st.sampled_from(COLUMNS[table]))
    way = draw(st.sampled_from(["cell", "cell", "cell", "json", "json", "json", "delete", "schema"]))
    if way == "delete":
        return f"DELETE FROM {table} WHERE rowid % ? = 0", (draw(st.integers(1, 3)),)
    if way == "schema":
        return draw(st.sampled_from(SCHEMA_EDITS)).format(t=table, c=column), ()
    if way == "json":
        table, column = draw(st.sampled_from([("runs", "config"), ("runs", "summary"), ("rounds", "metrics")]))
        try:
            found = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        except sqlite3.Error:  # an edit before this one has taken the table or the column away
            found = []
        if found:
            row, text = draw(st.sampled_from(found))
            try:
                value = draw(edited(json.loads(text)))
            except (TypeError, ValueError):
                value = draw(odd.json_values)
            return f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (json.dumps(value), row)
    number = st.sampled_from([-1, 0, 1, 3, 10**12, 2**63 - 1, 1e300, float("inf"), -1.5])
    names = st.sampled_from(
        ["../../x", "/", "..", ".", "a/b", "x" * 300, KILLED, WHOLE, "[/s]", "\x1b[2Jx", "running", "{"]
    )
    value = draw(st.one_of(st.none(), number, names, odd.texts, st.binary(max_size=8)))
    return f"UPDATE {table} SET {column} = ? WHERE rowid % ? = 0", (value, draw(st.integers(1, 3)))
