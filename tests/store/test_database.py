"""Databases that are taken away, put in place of another, edited, or may not be written."""

import contextlib
import multiprocessing
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from tests.store.made import checkpoint, finished, rewound, with_rounds

from covey.errors import BadData, BadValue, RunFailed
from covey.store import Store

fork = multiprocessing.get_context("fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def remove(folder, *suffixes):
    for suffix in suffixes:
        (folder / f"covey.db{suffix}").unlink(missing_ok=True)


def edit(folder, *statements):
    """As somebody does who has SQLite at hand."""
    with contextlib.closing(sqlite3.connect(folder / "covey.db", isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def go_on(store, run, *rounds):
    with store.owned(run):
        for round in rounds:
            store.add_round(run, round, {"accuracy": round / 10}, checkpoint(round))


# --- taken away while a run goes on


@pytest.mark.parametrize("suffixes", [("",), ("", "-wal", "-shm")], ids=["the database", "and what is beside it"])
def test_a_database_that_is_removed_is_written_anew(store, suffixes):
    earlier = finished(store, 2, seed=7)
    run = with_rounds(store, 2)
    remove(store.folder, *suffixes)
    go_on(store, run, 3)
    with Store(store.folder) as other:
        assert [record.run for record in other.runs()] == [earlier, run]
        assert (other.get(earlier).status, other.get(earlier).config) == ("finished", {"seed": 7})
        assert [row["round"] for row in other.rounds(earlier)] == [1, 2]
        assert [row["round"] for row in other.rounds(run)] == [1, 2, 3]
        assert [(event["kind"], event["round"]) for event in other.events(run)] == [("store", 2)]
        assert "the database was removed while the run went on" in other.events(run)[0]["text"]
        assert rewound(other, run) == 3
    store.add_round(run, 4, {}, checkpoint(4))  # the first one goes on as well
    with Store(store.folder) as other:
        assert len(other.rounds(run)) == 4
        assert other.database.read("PRAGMA integrity_check") == [("ok",)]


def test_a_database_that_is_removed_before_the_last_word(store):
    """Else the run would end as finished, and be nowhere."""
    run = with_rounds(store, 2)
    remove(store.folder, "", "-wal", "-shm")
    store.mark(run, "finished", {"accuracy": 0.2})
    with Store(store.folder) as other:
        assert (other.get(run).status, other.get(run).summary) == ("finished", {"accuracy": 0.2})
        assert len(other.rounds(run)) == 2


def test_a_database_that_is_removed_while_the_last_word_is_written(store):
    """What went to a file that is gone is noticed after it was written, too."""
    run = with_rounds(store, 2)
    words: list[str] = []

    def hear(statement):
        if statement.startswith("UPDATE") and not words:
            words.append(statement)
            remove(store.folder, "")

    store.database.connection.set_trace_callback(hear)
    store.mark(run, "finished", {"accuracy": 0.2})
    assert words
    with Store(store.folder) as other:
        assert other.get(run).status == "finished"


def test_a_database_that_somebody_put_in_its_place_keeps_its_own(store, tmp_path):
    """Ours goes into it; whatever SQLite left beside the old one does not."""
    with Store(store.folder) as another:
        dropped = finished(another, 1)
    run = with_rounds(store, 2, seed=3)
    with Store(tmp_path / "other") as other:
        theirs = [other.create("rings-digits", {"k": k}) for k in range(3)]
    (tmp_path / "other" / "covey.db").replace(store.folder / "covey.db")
    go_on(store, run, 3)
    with Store(store.folder) as again:
        assert [record.run for record in again.runs()] == [*theirs, run]
        assert dropped not in [record.run for record in again.runs()]
        assert again.get(run).config == {"seed": 3}
        assert "the database was replaced" in again.events(run)[0]["text"]
        assert rewound(again, run) == 3
        assert again.database.read("PRAGMA integrity_check") == [("ok",)]


def test_a_database_with_another_run_of_that_name_in_its_place(store, tmp_path):
    run = with_rounds(store, 2, seed=3)
    with Store(tmp_path / "other") as other:
        assert finished(other, 1, seed=4) == run
    (tmp_path / "other" / "covey.db").replace(store.folder / "covey.db")
    with pytest.raises(RunFailed, match=f"the one in its place has another run of the name {run}"):
        go_on(store, run, 3)
    with Store(store.folder) as again:
        assert again.get(run).config == {"seed": 4}
        assert len(again.rounds(run)) == 1


def test_a_database_that_is_none_in_its_place(store):
    run = with_rounds(store, 2)
    remove(store.folder, "")
    (store.folder / "covey.db").write_text("hello" * 1000)
    with pytest.raises(
        RunFailed, match=r"was taken away while it was written, and no new one could be made \(.*not a d"
    ):
        go_on(store, run, 3)


def test_a_store_that_is_removed_with_its_folder(store):
    run = with_rounds(store, 2)
    shutil.rmtree(store.folder)
    with pytest.raises(RunFailed, match="the checkpoint of round 3 could not be written"):
        store.add_round(run, 3, {}, checkpoint(3))
    with pytest.raises(
        RunFailed, match=r"was taken away while it was written, and no new one could be made \(its folder is gone"
    ):
        store.add_round(run, 3, {}, None)
    assert not store.folder.exists()


def write(folder, name, removed, ready):
    with Store(folder) as store:
        run = store.create(name, {"by": name})
        with store.owned(run):
            for round in range(1, 4):
                store.add_round(run, round, {"by": name}, checkpoint(round))
            ready.release()
            removed.wait(60)
            for round in range(4, 8):
                store.add_round(run, round, {"by": name}, checkpoint(round))
        store.mark(run, "finished", {"by": name})


def test_processes_whose_database_is_removed_meet_in_a_new_one(tmp_path):
    removed, ready = fork.Event(), fork.Semaphore(0)
    writers = [fork.Process(target=write, args=(tmp_path, name, removed, ready)) for name in "abc"]
    for writer in writers:
        writer.start()
    for _ in writers:
        assert ready.acquire(timeout=60)
    remove(tmp_path, "")
    removed.set()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with Store(tmp_path) as store:
        assert {(record.run, record.status) for record in store.runs()} == {(f"{name}-1", "finished") for name in "abc"}
        for name in "abc":
            assert [row["round"] for row in store.rounds(f"{name}-1")] == list(range(1, 8))
            assert {row["by"] for row in store.rounds(f"{name}-1")} == {name}
            assert rewound(store, f"{name}-1") == 7
        assert store.database.read("PRAGMA integrity_check") == [("ok",)]


# --- links and other things that are no database


@pytest.mark.parametrize("name", ["covey.db", "covey.db-wal", "covey.lock"])
def test_a_link_is_not_followed(tmp_path, name):
    folder = tmp_path / "runs"
    folder.mkdir()
    target = tmp_path / "precious"
    target.write_bytes(b"")
    (folder / name).symlink_to(target)
    with pytest.raises(
        BadValue, match=r"out is '.*runs'; allowed is a folder for runs that can be read and written \("
    ):
        Store(folder)
    assert target.read_bytes() == b""
    if name != "covey.lock":
        with pytest.raises(BadValue, match=f"{name} is not a regular file"):
            Store(folder, read_only=True)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "covey.db")
    for read_only in (False, True):
        with pytest.raises(BadValue, match=r"covey\.db is not a regular file"):
            Store(tmp_path, read_only=read_only)


# --- edited


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (["CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM rounds; END"], "it has a trigger t"),
        (["CREATE VIEW v AS SELECT 1"], "it has a view v"),
        (["DROP TABLE events"], "it has no table events"),
        (["DROP TABLE rounds", "CREATE VIEW rounds AS SELECT 1"], "it has a view rounds|its table rounds is not as"),
        (["ALTER TABLE runs ADD COLUMN more TEXT"], "its table runs is not as covey makes it"),
        (["ALTER TABLE runs DROP COLUMN summary"], "its table runs is not as covey makes it"),
        (["DROP TABLE runs", "CREATE TABLE runs (run)"], "its table runs is not as covey makes it"),
    ],
)
def test_a_database_of_another_make_is_not_written_and_read_as_far_as_it_goes(tmp_path, edits, fault):
    with Store(tmp_path) as store:
        run = with_rounds(store, 2)
    edit(tmp_path, *edits)
    with pytest.raises(BadValue, match=f"({fault}.*); see covey doctor"):
        Store(tmp_path)
    with Store(tmp_path, read_only=True) as store:
        assert any(damage.run is None for damage in store.damaged())
        runs = [record.run for record in store.runs()]
        assert runs == ([] if "table runs" in fault else [run])
        assert len(store.rounds(run)) == (0 if "rounds" in fault else 2)
        assert store.events(run) == []


def test_a_view_that_never_ends_is_not_read(tmp_path):
    with Store(tmp_path) as store:
        store.create("fedavg", {})
    endless = "CREATE VIEW runs AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n"
    edit(tmp_path, "DROP TABLE runs", endless)
    with Store(tmp_path, read_only=True) as store:
        assert store.runs() == []
        assert "runs" in store.damaged()[0].what


# --- to be read only


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_store_that_is_not_there_has_no_runs(tmp_path):
    with Store(tmp_path / "runs", read_only=True) as store:
        assert (store.runs(), store.damaged()) == ([], [])
        with pytest.raises(BadValue, match=r"the store in .* has none yet"):
            store.get("fedavg-1")
        with pytest.raises(RunFailed, match="was opened to be read only"):
            store.create("fedavg", {})
        with pytest.raises(RunFailed, match="could not be written"):
            store.add_event("fedavg-1", 1, "lost", "somebody")
    assert not (tmp_path / "runs").exists()


def test_what_is_read_only_is_not_written(tmp_path):
    with Store(tmp_path) as store:
        run = finished(store)
    before = contents(tmp_path)
    with Store(tmp_path, read_only=True) as store:
        assert store.get(run).status == "finished"
        assert [row["round"] for row in store.rounds(run)] == [1, 2, 3]
        assert store.checkpoint(run).data["round"] == 3
        for write in (lambda: store.mark(run, "failed", {}), lambda: store.discard(run), lambda: store.rewind(run)):
            with pytest.raises(RunFailed, match="could not be written"):
                write()
    after = contents(tmp_path)
    assert {path: after[path] for path in before} == before


def read_as_nobody(folder, said):
    if os.geteuid() == 0:
        os.setuid(65534)  # root may write anywhere
    with Store(folder, read_only=True) as store:
        runs = [(record.run, record.status) for record in store.runs()]
        said.put((os.access(folder, os.W_OK), runs, [len(store.rounds(run)) for run, _ in runs]))


@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_a_store_that_cannot_be_written_can_be_read(killed):
    """Also one of a run that was killed, when all that it said is in the log beside the database."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs"
        with Store(Path(place) / "made") as store:
            run = finished(store)
            if killed:
                shutil.copytree(store.folder, folder, ignore=shutil.ignore_patterns("*-shm"))
        if not killed:
            shutil.copytree(store.folder, folder)
        assert (folder / "covey.db-wal").exists() == killed
        for path in (Path(place), folder, folder / run):
            path.chmod(0o555)
        before = contents(folder)
        said = fork.Queue()
        reader = fork.Process(target=read_as_nobody, args=(folder, said))
        reader.start()
        assert said.get(timeout=60) == (False, [(run, "finished")], [3])
        reader.join()
        assert contents(folder) == before
        for path in (Path(place), folder, folder / run):
            path.chmod(0o755)


# --- what a process finds that has not written it


def test_a_damaged_page_does_not_hide_the_runs_on_others(tmp_path):
    with Store(tmp_path) as store:
        runs = [store.create("fedavg", {"padding": "x" * 3000}) for _ in range(40)]  # one a page
    path = tmp_path / "covey.db"
    content = bytearray(path.read_bytes())
    spot = content.index(b"fedavg-20" + b"A")  # its row: the name, then the time it was begun, which starts with 0x41
    page = spot // 4096
    content[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    path.write_bytes(content)
    with Store(tmp_path, read_only=True) as store:
        readable, damaged = [record.run for record in store.runs()], store.damaged()
    assert "fedavg-20" not in readable
    assert readable == [run for run in runs if run in readable]
    assert len(readable) >= 30
    assert {damage.run for damage in damaged} >= set(runs) - set(readable)
    with (
        Store(tmp_path, read_only=True) as store,
        pytest.raises(BadData, match="run fedavg-20 is damaged: its row can"),
    ):
        store.get("fedavg-20")


def test_a_write_reaches_the_log_and_what_belongs_to_no_run_is_refused(store):
    assert store.database.read("PRAGMA journal_mode") == [("wal",)]
    assert store.database.read("PRAGMA synchronous") == [(1,)]  # NORMAL: the settler brings the log to the disk
    assert store.database.read("PRAGMA foreign_keys") == [(1,)]
