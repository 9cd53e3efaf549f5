"""In which order things are written; what a power cut or a kill may leave depends on nothing else."""

import errno
import os
import sys
import threading
from pathlib import Path

import pytest
from tests.store.made import checkpoint, finished, rewound, with_rounds

from covey.checkpoint import Checkpoint
from covey.errors import RunFailed
from covey.store import repair
from covey.store.files import files_in


@pytest.fixture
def steps(store, monkeypatch):
    """What reaches the system, in order: moves, removals, waits for the disk, and statements of the database."""
    found = []
    replace, unlink, fsync = os.replace, os.unlink, os.fsync

    def record(kind, name, *more):
        found.append((kind, name, *more))

    def replacing(source, target, **more):
        record(
            "move", Path(target).name, Checkpoint.load(Path(source)).data["round"]
        )  # it is whole before it has its name
        replace(source, target, **more)

    def removing(path, **more):
        unlink(path, **more)
        record("remove", Path(path).name)

    def settling(file):
        record("to disk", Path(f"/proc/self/fd/{file}").readlink().name)
        fsync(file)

    def said(statement):
        if not statement.startswith(("SELECT", "PRAGMA")):
            record("database", statement.split()[0])

    monkeypatch.setattr(os, "replace", replacing)
    monkeypatch.setattr(os, "unlink", removing)
    monkeypatch.setattr(os, "fsync", settling)
    store.database.connection.set_trace_callback(said)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see which file is brought to the disk")
def test_a_round_reaches_the_disk_in_order(store, steps):
    """The checkpoint, then the row; then both are on the disk itself, and only then is an older one dropped."""
    run = with_rounds(store, 2)
    steps.clear()
    store.add_round(run, 3, {}, checkpoint(3))
    store._settler.wait()
    assert steps == [
        ("move", "round-000003.safetensors", 3),
        ("database", "BEGIN"),
        ("database", "INSERT"),
        ("database", "COMMIT"),
        ("to disk", "round-000003.safetensors"),
        ("to disk", run),
        ("to disk", "covey.db-wal"),
        ("remove", "round-000001.safetensors"),
    ]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see which file is brought to the disk")
def test_a_run_is_over_when_its_last_checkpoint_is_on_the_disk(store, steps, monkeypatch):
    """Even if the disk was still busy with an earlier one."""
    run = with_rounds(store, 2)
    steps.clear()
    slow = threading.Event()
    settle = store._settler.settle
    monkeypatch.setattr(store._settler, "settle", lambda path: (slow.wait(30), settle(path)))
    for round in (3, 4, 5):
        store.add_round(run, round, {}, checkpoint(round))
    assert not [step for step in steps if step[0] == "to disk"]
    slow.set()
    store.mark(run, "finished", {})
    waits = [name for kind, name, *_ in steps if kind == "to disk" and name.startswith("round")]
    assert waits == ["round-000003.safetensors", "round-000005.safetensors"]
    assert steps.index(("to disk", "round-000005.safetensors")) < steps.index(("database", "UPDATE"))
    assert list(files_in(store.folder / run)) == [4, 5]


def test_a_round_that_fails_to_be_written_down_has_no_row(store):
    """The checkpoint comes first: where it does not fit, the database does not say that the round is done."""
    run = with_rounds(store, 2)
    (store.folder / run / "round-000003.part").mkdir()
    with pytest.raises(RunFailed, match="the checkpoint of round 3 could not be written"):
        store.add_round(run, 3, {}, checkpoint(3))
    assert [row["round"] for row in store.rounds(run)] == [1, 2]


def test_what_was_taken_back_is_not_waited_for(store, monkeypatch):
    """The newest checkpoint is set aside before the disk had its turn with it."""
    run = with_rounds(store, 2)
    settle = store._settler.settle
    monkeypatch.setattr(store._settler, "settle", lambda path: None)  # a disk that is busy elsewhere
    store.add_round(run, 3, {}, checkpoint(3))
    store._settler.wait()

    def check(data):
        if data["round"] == 3:
            raise ValueError("not this one")

    found = store.rewind(run, check)
    assert found is not None
    assert found[0] == 2
    monkeypatch.setattr(store._settler, "settle", settle)
    store.mark(run, "failed", {})  # which waits for the newest there is


def test_a_repaired_database_is_on_the_disk_before_it_takes_the_place_of_the_old_one(store, monkeypatch):
    finished(store)
    store.close()
    (store.folder / "covey.db").write_bytes(b"no database")
    order, replace = [], Path.replace

    def moving(path, target):
        order.append(("move", Path(target).name))
        return replace(path, target)

    monkeypatch.setattr(sys.modules["covey.store.repair"], "to_disk", lambda path: order.append(("to disk", path.name)))
    monkeypatch.setattr(Path, "replace", moving)
    repair(store.folder)
    assert order.index(("to disk", "covey.db.new")) < order.index(("move", "covey.db"))


def test_a_disk_that_fails_is_not_kept_quiet(store, monkeypatch):
    run = with_rounds(store, 2)

    def failing(file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    store.add_round(run, 3, {}, checkpoint(3))
    with pytest.raises(RunFailed, match=r"checkpoints do not reach the disk of .* \(Input/output error\)"):
        store.mark(run, "finished", {})
    assert store.get(run).status != "finished"
    assert list(files_in(store.folder / run)) == [1, 2, 3]  # nothing was dropped for it
    monkeypatch.undo()
    assert rewound(store, run) == 3


def test_a_disk_that_fails_stops_the_next_round(store, monkeypatch):
    run = with_rounds(store, 2)

    def failing(file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    store.add_round(run, 3, {}, checkpoint(3))
    while not store._settler._under_way.done():
        pass
    with pytest.raises(RunFailed, match="checkpoints do not reach the disk"):
        store.add_round(run, 4, {}, checkpoint(4))
