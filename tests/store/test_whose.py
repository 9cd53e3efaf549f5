"""Whose name, whose folder, whose checkpoint: nothing of one run is ever taken for another's."""

import json
import os
import shutil
import sqlite3
import time

import pytest
import torch
from tests.store.made import checkpoint, finished, left, rewound, with_rounds

from covey.checkpoint import Checkpoint
from covey.errors import BadData, BadValue, RunFailed, UnknownName
from covey.shape import fit
from covey.store import Store
from covey.store.files import files_in
from covey.store.names import is_name, make_name

# --- names


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", "/etc", "a\\b", "a b", "a\0b", "-a", "a\n", "x" * 300, 3, None]
)
def test_what_is_no_name(name):
    assert not is_name(name)


@pytest.mark.parametrize(
    "text", ["fedavg-digits", "x" * 500, "\u6f22" * 500, "../..", "", "a.", ".hidden", "-v", "caf\xe9"]
)
def test_a_name_can_be_made_of_anything(store, text):
    assert is_name(f"{make_name(text)}-1")
    run = store.create(text, {})
    assert is_name(run)
    assert (store.folder / run).is_dir()
    assert (store.folder / run).resolve().parent == store.folder.resolve()


def test_a_name_whose_folder_exists_is_not_free(tmp_path):
    """The database was removed and the folders were left: a new run must not go on with an old one's checkpoints."""
    with Store(tmp_path) as store:
        old = finished(store, 5)
    for path in tmp_path.glob("covey.db*"):
        path.unlink()
    with Store(tmp_path) as store:
        new = store.create("fedavg-digits", {})
        assert (old, new) == ("fedavg-digits-1", "fedavg-digits-2")
        with store.owned(new):
            store.add_round(new, 1, {}, checkpoint(1))
        assert store.checkpoint(new).data["round"] == 1
        with pytest.raises(UnknownName, match="run is 'fedavg-digits-1'"):
            store.get(old)


def test_a_name_whose_run_has_no_folder_any_more_is_not_free_either(store):
    run = with_rounds(store, 1)
    shutil.rmtree(store.folder / run)
    assert store.create("fedavg-digits", {}) == "fedavg-digits-2"
    assert not (store.folder / run).exists()


def test_a_file_that_has_the_name_of_a_run(store):
    (store.folder / "fedavg-1").write_text("mine")
    (store.folder / "fedavg-2").symlink_to("/nowhere")
    assert store.create("fedavg", {}) == "fedavg-3"
    assert (store.folder / "fedavg-1").read_text() == "mine"


def test_a_run_that_came_to_nothing_leaves_nothing(store):
    keep = with_rounds(store, 1)
    run = store.create("rings-digits", {})
    with store.owned(run):
        store.add_event(run, 0, "lost", "somebody")
    store.discard(run)
    assert [record.run for record in store.runs()] == [keep]
    assert store.events(run) == []
    assert not (store.folder / run).exists()
    assert store.create("rings-digits", {"seed": 1}) == run
    assert store._identity(run, 1).settings != store._identity(keep, 1).settings


def test_a_run_is_discarded_with_its_rounds(store):
    run = with_rounds(store, 3)
    (store.folder / run / "notes.txt").write_text("mine")
    store.discard(run)
    assert (store.runs(), store.rounds(run)) == ([], [])
    assert [path.name for path in (store.folder / run).iterdir()] == ["notes.txt"]
    assert store.create("fedavg-digits", {}) == "fedavg-digits-2"


def test_the_latest_run_is_the_last_begun_whatever_the_clock_says(store, monkeypatch):
    now = time.time()
    for moment in (now + 3600, now, now - 3600):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        left(store)
    assert [record.run for record in store.runs()] == ["fedavg-1", "fedavg-2", "fedavg-3"]
    assert store.unfinished().run == "fedavg-3"


# --- names out of a stranger's database


def plant(store, run, created=5.0, status="running", config="{}", summary="{}"):
    store.database.connection.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?)", (run, created, status, config, summary)
    )


@pytest.mark.parametrize("name", ["../outside", "/outside", "..", "a/../../outside", "a\0b", "\x1b[31m"])
def test_a_strangers_name_is_never_a_path(store, tmp_path, name):
    good = with_rounds(store, 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    plant(store, name)
    assert [record.run for record in store.runs()] == [good]
    assert [(damage.run, damage.what) for damage in store.damaged()] == [
        (name, "its row cannot be read (that is no name for a run)")
    ]
    assert store.unfinished().run == good
    with pytest.raises(BadData, match="is damaged: its row cannot be read"):
        store.get(name)
    for use in (
        lambda: store.path(name, 1),
        lambda: store.rewind(name),
        lambda: store.add_round(name, 1, {}, checkpoint(1)),
        lambda: store.owned(name).__enter__(),
    ):
        with pytest.raises((BadValue, BadData)):
            use()
    assert list(outside.iterdir()) == []


# --- links


def test_a_link_in_place_of_a_runs_folder_is_not_followed(store, tmp_path):
    run = with_rounds(store, 3)
    (store.folder / run).rename(tmp_path / "elsewhere")
    (store.folder / run).symlink_to(tmp_path / "elsewhere")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").iterdir()}
    for use in (
        lambda: store.owned(run).__enter__(),
        lambda: store.add_round(run, 4, {}, checkpoint(4)),
        lambda: store.latest(run),
        lambda: store.checkpoint(run),
        lambda: store.rewind(run),
    ):
        with pytest.raises(BadData, match="is not a folder but a link, which is not followed"):
            use()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").iterdir()} == before


@pytest.mark.parametrize("name", ["round-000004.part", "round-000004.safetensors"])
def test_a_link_in_place_of_a_checkpoint_is_not_written_through(store, tmp_path, name):
    run = with_rounds(store, 3)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (store.folder / run / name).symlink_to(precious)
    store.add_round(run, 4, {}, checkpoint(4))
    assert precious.read_text() == "mine"
    assert not store.path(run, 4).is_symlink()
    assert rewound(store, run) == 4


def test_a_link_in_place_of_a_lock_is_not_followed(store, tmp_path):
    run = left(store)
    (tmp_path / "precious").write_text("mine")
    (store.folder / run / "lock").unlink()
    (store.folder / run / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(RunFailed, match="could not be written"), store.owned(run):
        pass
    assert store.get(run).status == "running"  # nobody can tell
    assert (tmp_path / "precious").read_text() == "mine"


# --- checkpoints


def passed_over(store, run):
    return [event["text"] for event in store.events(run) if event["kind"] == "damaged"]


def test_another_runs_checkpoint_in_its_place_is_passed_over(store):
    run, other = with_rounds(store, 4, seed=1), with_rounds(store, 4, seed=2)
    shutil.copy(store.path(other, 4), store.path(run, 4))
    sentence = f"it is a checkpoint of run {other}, round 4, not of run {run}, round 4"
    for read in (store.latest, store.checkpoint):
        with pytest.raises(BadData, match=sentence):
            read(run)
    assert rewound(store, run) == 3
    (said,) = passed_over(store, run)
    assert sentence in said
    assert said.endswith("; it was passed over")
    assert (
        Checkpoint.load(store.folder / run / "round-000004.safetensors.refused").identity.run == other
    )  # and not lost


def test_an_older_checkpoint_under_a_newer_name_is_passed_over(store):
    run = with_rounds(store, 4)
    shutil.copy(store.path(run, 3), store.path(run, 4))
    assert rewound(store, run) == 3
    assert f"it is a checkpoint of run {run}, round 3, not of run {run}, round 4" in passed_over(store, run)[0]


def test_a_checkpoint_of_a_run_of_the_same_name_elsewhere_is_passed_over(store, tmp_path):
    """The same name, the same settings, the same round, but not the file that this store wrote."""
    run = with_rounds(store, 4)
    with Store(tmp_path / "elsewhere") as other:
        assert with_rounds(other, 3) == run
        other.add_round(run, 4, {"accuracy": 0.9}, checkpoint(4))
        shutil.copy(other.path(run, 4), store.path(run, 4))
    with pytest.raises(BadData, match="it is not the one the store wrote"):
        store.latest(run)
    assert rewound(store, run) == 3


def test_settings_that_were_changed_by_hand_are_not_gone_on_with(tmp_path):
    with Store(tmp_path) as store:
        run = with_rounds(store, 2, lr=0.1)  # a third would let the first be dropped, where the disk is fast
        store.database.connection.execute("UPDATE runs SET config = ?", (json.dumps({"lr": 0.2}),))
    with Store(tmp_path) as store:
        assert store.rewind(run) is None
        assert all("it is a checkpoint of other settings" in said for said in passed_over(store, run))
        assert len(passed_over(store, run)) == 2


def test_settings_in_another_order_are_the_same(tmp_path):
    with Store(tmp_path) as store:
        run = with_rounds(store, 3, lr=0.1, rounds=3)
        store.database.connection.execute("UPDATE runs SET config = ?", (json.dumps({"rounds": 3, "lr": 0.1}),))
    with Store(tmp_path) as store:
        assert rewound(store, run) == 3


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_what_is_no_file_is_passed_over_without_waiting(store, kind):
    run = with_rounds(store, 4)
    path = store.path(run, 4)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "inside").touch()
    else:
        path.symlink_to(store.path(run, 3))
    assert rewound(store, run) == 3
    assert "it is not a regular file" in passed_over(store, run)[0]
    store.add_round(run, 4, {}, checkpoint(4))
    assert rewound(store, run) == 4


def test_a_checkpoint_that_is_missing_is_passed_over(store):
    run = with_rounds(store, 4)
    store.path(run, 4).unlink()
    with pytest.raises(BadData, match=r"cannot be read \(No such file or directory\)"):
        store.latest(run)
    assert rewound(store, run) == 3
    assert "No such file" in passed_over(store, run)[0]


def test_a_checkpoint_whose_data_has_not_its_shape_is_passed_over(store):
    """What the loop asks for is checked before a run goes on from it."""
    run = with_rounds(store, 3)
    store.add_round(run, 4, {}, Checkpoint({"models": ["no tensor"], "round": 4}))
    found = store.rewind(run, lambda data: fit(data, {"models": [torch.Tensor], "round": int}))
    assert found is not None
    assert found[0] == 3
    assert "its models/0 is a str, not a Tensor" in passed_over(store, run)[0]


def test_all_that_is_refused_is_kept(store):
    run = with_rounds(store, 2)
    for again in range(2):
        path = store.path(run, 2)
        path.write_text(f"damaged {again}")
        assert rewound(store, run) == 1
        store.add_round(run, 2, {}, checkpoint(2))
    store._settler.wait()
    folder = store.folder / run
    assert [(folder / f"round-000002.safetensors.{name}").read_text() for name in ("refused", "refused-2")] == [
        "damaged 0",
        "damaged 1",
    ]
    assert list(files_in(folder)) == [1, 2]


# --- rows


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"created": "now"}, "created is 'now'"),
        ({"created": float("inf")}, "created is inf"),
        ({"created": 1e300}, r"created is 1e\+300"),
        ({"created": -5.0}, r"created is -5\.0"),
        ({"status": "done"}, "its status is 'done'"),
        ({"status": 7}, "its status is"),
        ({"config": "{"}, "no JSON in its settings"),
        ({"config": "[]"}, "no JSON object in its settings"),
        ({"config": "[" * 100_000}, "maximum recursion depth"),
        ({"config": '{"a": ' + "9" * 5000 + "}"}, "no JSON in its settings"),
        ({"config": '{"lr": -Infinity}'}, "no JSON in its settings"),
        ({"config": '{"lr": 1e999}'}, "no JSON in its settings"),
        ({"config": b"\xff\xfe"}, "no text in its settings"),
        ({"summary": "null"}, "no JSON object in its summary"),
        ({"summary": b"{}"}, "no text in its summary"),
    ],
)
def test_one_bad_row_hides_no_other(store, row, what):
    first = with_rounds(store, 1)
    plant(store, "bad-1", **row)
    last = store.create("rings", {})
    assert [record.run for record in store.runs()] == [first, last]
    (damage,) = store.damaged()
    assert damage.run == "bad-1"
    with pytest.raises(BadData, match=f"run bad-1 is damaged: its row cannot be read .*{what}"):
        store.get("bad-1")


def test_text_that_is_not_utf_8_hides_no_other(store):
    first = with_rounds(store, 1)
    store.database.connection.execute("INSERT INTO runs VALUES (CAST(x'ff' AS TEXT), 5.0, 'running', '{}', '{}')")
    assert [record.run for record in store.runs()] == [first]
    assert store.damaged()[0].run == "\ufffd"


@pytest.mark.parametrize("metrics", ["{", "[]", b"\xff", '{"checkpoint": 3}'])
def test_a_round_that_cannot_be_read_hides_no_other(store, metrics):
    run = with_rounds(store, 4)
    store.database.connection.execute("UPDATE rounds SET metrics = ? WHERE round = 2", (metrics,))
    assert [row["round"] for row in store.rounds(run)] == [1, 3, 4]
    assert rewound(store, run) == 4
    assert "one of its rounds cannot be read" in passed_over(store, run)[0]
    assert store.database.read("SELECT round FROM rounds ORDER BY round") == [(1,), (3,), (4,)]


def test_a_newest_round_that_cannot_be_read_is_run_again(store):
    run = with_rounds(store, 4)
    store.database.connection.execute("UPDATE rounds SET metrics = 'x' WHERE round = 4")
    assert rewound(store, run) == 3
    store.add_round(run, 4, {}, checkpoint(4))
    assert rewound(store, run) == 4


def test_rounds_that_have_no_number(store):
    run = with_rounds(store, 2)
    for odd in ("two", -1, 0):
        store.database.connection.execute("INSERT INTO rounds VALUES (?, ?, '{}')", (run, odd))
    assert [row["round"] for row in store.rounds(run)] == [1, 2]
    assert rewound(store, run) == 2
    assert len(passed_over(store, run)) == 3


def test_events_that_cannot_be_read_hide_no_other(store):
    run = with_rounds(store, 1)
    store.add_event(run, 1, "lost", "somebody")
    store.database.connection.execute("INSERT INTO events VALUES (?, 'x', 'y', 3, x'ff')", (run,))
    assert [event["text"] for event in store.events(run)] == ["somebody"]


def test_a_run_that_somebody_deleted_from_the_database_says_so(store):
    run = with_rounds(store, 2)
    with sqlite3.connect(store.folder / "covey.db") as db:
        for table in ("rounds", "runs"):
            db.execute(f"DELETE FROM {table}")
    db.close()
    with pytest.raises(RunFailed, match="does not know that run any more"):
        store.add_round(run, 3, {}, checkpoint(3))
    with pytest.raises(RunFailed, match=f"no longer has a run {run}"):
        store.mark(run, "finished", {})
