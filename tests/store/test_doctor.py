"""Stores that are damaged in every way: the doctor says what is whole, and a repaired store goes on."""

import os
import random
import shutil
import sqlite3

import pytest
from tests.store.made import checkpoint, finished, rewound, with_rounds

from covey.errors import BadData, BadValue, CoveyError
from covey.store import Store, examine, repair
from covey.store.files import files_in


@pytest.fixture
def folder(tmp_path):
    """A store with a finished run, an unfinished one with a checkpoint every other round, and one that never began."""
    with Store(tmp_path / "runs") as store:
        assert finished(store, 4, lr=0.1) == "fedavg-digits-1"
        assert with_rounds(store, 5, every=2, lr=0.2) == "fedavg-digits-2"
        store.create("rings-digits", {})
    return tmp_path / "runs"


FINISHED, UNFINISHED, UNBEGUN = "fedavg-digits-1", "fedavg-digits-2", "rings-digits-1"


def sql(folder, *statements):
    db = sqlite3.connect(folder / "covey.db", isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def newest(folder, run):
    return list(files_in(folder / run).values())[-1]


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def what(health):
    return {damage.run: damage.what for damage in health.damaged}


def mended(folder):
    """Repair it; all that is left must be whole, and must go on."""
    done = {damage.run: damage.what for damage in repair(folder)}
    health = examine(folder)
    assert health.damaged == []
    assert health.whole == health.runs
    assert repair(folder) == []
    with Store(folder) as store:
        assert store.damaged() == []
        for record in store.runs():
            if record.status == "finished":
                assert store.checkpoint(record.run).data["round"] == store.rounds(record.run)[-1]["round"]
            else:
                with store.owned(record.run):
                    last = rewound(store, record.run)
                    store.add_round(record.run, last + 1, {}, checkpoint(last + 1))
                    assert rewound(store, record.run) == last + 1
    return done


def test_a_whole_store(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    health = examine(folder)
    assert (health.runs, health.whole, health.damaged) == (3, 3, [])
    assert repair(folder) == []
    assert {path: path.read_bytes() for path in before} == before


def test_no_store(tmp_path):
    for check in (examine, repair):
        with pytest.raises(BadValue, match=r"out is '.*nowhere'; allowed is a folder with runs"):
            check(tmp_path / "nowhere")
    assert examine(tmp_path).runs == 0
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_another_process_is_writing_is_not_damaged(folder):
    """Its newest checkpoint may be gone by the time one looks."""
    with Store(folder) as store, store.owned(UNFINISHED):
        newest(folder, UNFINISHED).unlink()
        assert examine(folder).damaged == []
    assert UNFINISHED in what(examine(folder))


def test_a_round_that_was_killed_before_the_database_knew_is_no_damage(folder):
    with Store(folder) as store:
        store._save(UNFINISHED, 6, checkpoint(6))
    assert examine(folder).damaged == []


# --- checkpoints


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-5]),
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"),
        lambda path: path.unlink(),
        pipe,
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), path.symlink_to(path.parent / "lock")),
    ],
    ids=["cut", "changed", "missing", "a pipe", "a folder", "a link"],
)
def test_a_damaged_checkpoint(folder, damage):
    for run in (FINISHED, UNFINISHED):
        damage(newest(folder, run))
    health = examine(folder)
    assert (health.runs, health.whole, set(what(health))) == (3, 1, {FINISHED, UNFINISHED})
    assert all("cannot be read" in damage.what for damage in health.damaged)
    done = mended(folder)
    assert "it is no longer finished" in done[FINISHED]
    with Store(folder) as store:
        assert store.get(FINISHED).status == "interrupted"
        assert rewound(store, FINISHED) == 4  # round 3 was whole, and `mended` has run one more
        assert rewound(store, UNFINISHED) == 3  # after round 2
        (event,) = [event for event in store.events(FINISHED) if event["kind"] == "repaired"]
        assert event["text"] == done[FINISHED]


def test_the_one_before_the_newest_is_checked_as_well(folder):
    first = next(iter(files_in(folder / UNFINISHED).values()))
    first.write_bytes(b"damaged")
    assert str(first) in what(examine(folder))[UNFINISHED]
    assert f"{first.name} was set aside" in mended(folder)[UNFINISHED]


def test_checkpoints_of_two_runs_that_were_swapped(folder):
    one, other = newest(folder, FINISHED), newest(folder, UNFINISHED)
    spare = one.rename(one.with_name("spare"))
    other.rename(one)
    spare.rename(other)
    found = what(examine(folder))
    assert f"it is a checkpoint of run {UNFINISHED}, round 4, not of run {FINISHED}, round 4" in found[FINISHED]
    assert f"it is a checkpoint of run {FINISHED}" in found[UNFINISHED]
    mended(folder)
    for run in (FINISHED, UNFINISHED):
        assert (folder / run / "round-000004.safetensors.refused").exists()


def test_a_run_without_any_whole_checkpoint_begins_again(folder):
    for path in files_in(folder / FINISHED).values():
        path.write_bytes(b"")
    mended(folder)
    with Store(folder) as store:
        assert [row["round"] for row in store.rounds(FINISHED)] == [1]  # which `mended` has run


def test_a_folder_that_is_a_link(folder, tmp_path):
    (folder / FINISHED).rename(tmp_path / "elsewhere")
    (folder / FINISHED).symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").iterdir())
    assert "is not a folder but a link" in what(examine(folder))[FINISHED]
    mended(folder)
    assert sorted((tmp_path / "elsewhere").iterdir()) == before
    assert (folder / f"{FINISHED}.refused").is_symlink()


# --- the database


def test_a_database_that_is_gone_is_written_from_the_checkpoints(folder):
    with Store(folder) as store:
        models = store.checkpoint(FINISHED).data["models"][0].tolist()
        created = store.get(FINISHED).created
    for path in folder.glob("covey.db*"):
        path.unlink()
    health = examine(folder)
    assert (health.runs, health.whole) == (2, 0)  # of the third nothing is left but an empty folder
    assert set(what(health).values()) == {"its checkpoints are there, but the database does not know it"}
    done = mended(folder)
    assert done[FINISHED].startswith(
        "its settings were taken from its newest checkpoint; the metrics of 2 rounds are lost"
    )
    with Store(folder) as store:
        assert [record.run for record in store.runs()] == [FINISHED, UNFINISHED]
        record = store.get(FINISHED)
        assert (record.status, record.config, record.created) == ("interrupted", {"lr": 0.1}, created)
        assert [row["round"] for row in store.rounds(FINISHED)] == [3, 4, 5]  # two were kept, one more was run
        assert store.rounds(FINISHED)[1]["accuracy"] == 0.4
        store.rewind(FINISHED)
        assert models == [4.0] * 5


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_database_that_is_none(folder, content):
    for path in folder.glob("covey.db*"):
        path.unlink()
    (folder / "covey.db").write_bytes(content)
    health = examine(folder)
    assert health.whole == 0
    assert {damage.run for damage in health.damaged} >= {FINISHED, UNFINISHED}
    assert (None in what(health)) == bool(content)  # an empty file is a database without tables
    done = mended(folder)
    assert done[None] == "the database was written anew; the one before is covey.db.damaged-1"
    assert (folder / "covey.db.damaged-1").read_bytes() == content


def test_a_database_that_is_a_link(folder, tmp_path):
    (folder / "covey.db").rename(tmp_path / "precious")
    before = (tmp_path / "precious").read_bytes()
    (folder / "covey.db").symlink_to(tmp_path / "precious")
    assert "covey.db is not a regular file" in what(examine(folder))[None]
    mended(folder)
    assert (tmp_path / "precious").read_bytes() == before
    assert (folder / "covey.db.damaged-1").is_symlink()


@pytest.mark.parametrize(
    ("edits", "runs"),
    [
        (["CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM rounds; END"], 3),
        (["DROP TABLE rounds"], 3),
        (["DROP TABLE events"], 3),
        (["DROP TABLE runs"], 2),
        (["ALTER TABLE runs ADD COLUMN more TEXT"], 2),
    ],
)
def test_a_database_of_another_make(folder, edits, runs):
    sql(folder, *edits)
    assert None in what(examine(folder))
    mended(folder)
    with Store(folder) as store:
        assert len(store.runs()) == runs


def test_rounds_that_were_dropped_come_back_as_far_as_checkpoints_know_them(folder):
    sql(folder, "DROP TABLE rounds")
    mended(folder)
    with Store(folder) as store:
        assert store.get(FINISHED).status == "finished"
        assert [row["round"] for row in store.rounds(FINISHED)] == [3, 4]
        assert store.rounds(FINISHED)[-1]["accuracy"] == 0.4
        assert store.get(FINISHED).summary["accuracy"] == 0.4


def test_rows_that_cannot_be_read(folder):
    sql(
        folder,
        f"UPDATE runs SET config = 'x' WHERE run = '{FINISHED}'",
        f"UPDATE rounds SET metrics = 'x' WHERE run = '{UNFINISHED}' AND round = 3",
        "INSERT INTO runs VALUES ('../outside', 5.0, 'running', '{}', '{}')",
        "INSERT INTO runs VALUES ('nothing-1', 5.0, 'running', 'x', '{}')",
        "INSERT INTO events VALUES ('stranger-1', 1, 5.0, 'lost', 'somebody')",
    )
    found = what(examine(folder))
    assert set(found) == {FINISHED, UNFINISHED, "../outside", "nothing-1", "stranger-1"}
    assert found["stranger-1"] == "it has events, but there is no such run"
    done = mended(folder)
    assert done["../outside"] == "it was left out, since that is no name for a run"
    assert done["nothing-1"] == "it was left out, since nothing of it can be read"
    with Store(folder) as store:
        assert {record.run for record in store.runs()} == {FINISHED, UNFINISHED, UNBEGUN}
        assert store.get(FINISHED).config == {"lr": 0.1}
    assert not (folder.parent / "outside").exists()


def test_rounds_that_are_missing(folder):
    sql(folder, f"DELETE FROM rounds WHERE run = '{FINISHED}' AND round IN (1, 2)")
    assert what(examine(folder)) == {FINISHED: "2 of its rounds are missing, the first of them round 1"}
    assert mended(folder)[FINISHED] == "the metrics of 2 rounds are lost, from round 1 on"
    sql(folder, f"INSERT INTO rounds VALUES ('{FINISHED}', 7, '{{}}')")
    assert "2 of its rounds are missing, the first of them round 5" in {
        damage.what for damage in examine(folder).damaged
    }


def test_a_round_that_is_missing_after_the_newest_checkpoint_is_run_again(folder):
    """Rounds 2 and 4 have checkpoints; of round 5 there is a row, and of a round 7 that cannot follow it."""
    sql(folder, f"INSERT INTO rounds VALUES ('{UNFINISHED}', 7, '{{}}')")
    assert what(examine(folder)) == {UNFINISHED: "1 of its rounds are missing, the first of them round 6"}
    repair(folder)
    with Store(folder) as store:
        assert [row["round"] for row in store.rounds(UNFINISHED)] == [1, 2, 3, 4, 5]


def test_a_round_of_any_number_takes_no_time(folder):
    sql(folder, f"INSERT INTO rounds VALUES ('{UNFINISHED}', {2**62}, '{{}}')")
    missing = 2**62 - 6  # 1 to 5 and the last one are there
    assert what(examine(folder)) == {UNFINISHED: f"{missing} of its rounds are missing, the first of them round 6"}
    mended(folder)


def test_settings_that_were_changed_by_hand(folder):
    """All its checkpoints are of other settings then: the run begins again with the new ones."""
    sql(folder, f"""UPDATE runs SET config = '{{"lr": 9.0}}' WHERE run = '{FINISHED}'""")
    assert "it is a checkpoint of other settings" in what(examine(folder))[FINISHED]
    mended(folder)
    with Store(folder) as store:
        assert store.get(FINISHED).config == {"lr": 9.0}
        assert len(store.rounds(FINISHED)) == 1


def test_a_store_that_is_in_use_is_not_repaired(folder):
    newest(folder, FINISHED).unlink()
    with (
        Store(folder) as store,
        store.owned(UNFINISHED),
        pytest.raises(
            BadValue, match=f"run is '{UNFINISHED}'; allowed is one that no process is running while its store"
        ),
    ):
        repair(folder)
    assert FINISHED in what(examine(folder))


def test_a_repaired_store_has_the_old_database_beside_it(folder):
    sql(folder, "CREATE VIEW v AS SELECT 1")
    mended(folder)
    sql(folder, "CREATE VIEW v AS SELECT 1")
    mended(folder)
    for number in (1, 2):
        db = sqlite3.connect(folder / f"covey.db.damaged-{number}")
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'v'").fetchone() == (1,)
        db.close()


# --- anything at all


def test_bytes_changed_at_random(folder, tmp_path):
    """Whatever is changed where: no traceback, readable runs are listed, and a repaired store is whole and goes on."""
    chance = random.Random(7)
    for attempt in range(16):
        shutil.rmtree(tmp_path / "try", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "try")
        files = [
            tmp_path / "try" / "covey.db",
            newest(tmp_path / "try", FINISHED),
            newest(tmp_path / "try", UNFINISHED),
        ]
        path = files[0] if attempt % 2 else chance.choice(files)
        content = bytearray(path.read_bytes())
        for _ in range(chance.randint(1, 30)):
            spot = chance.randrange(len(content))
            content[spot : spot + chance.randint(1, 8)] = chance.randbytes(chance.randint(0, 8))
        path.write_bytes(content)
        try:
            with Store(tmp_path / "try", read_only=True) as store:
                for record in store.runs():
                    store.rounds(record.run)
                    store.events(record.run)
        except CoveyError:
            pass
        health = examine(tmp_path / "try")
        assert 0 <= health.whole <= health.runs
        if health.damaged:
            mended(tmp_path / "try")


def test_a_database_whose_pages_are_damaged_gives_up_what_it_can(tmp_path):
    with Store(tmp_path) as store:
        for k in range(30):
            run = store.create("fedavg", {"padding": "x" * 3000, "k": k})
            with store.owned(run):
                store.add_round(run, 1, {}, checkpoint(1))
    content = bytearray((tmp_path / "covey.db").read_bytes())
    spot = content.index(b"fedavg-20" + b"A")
    content[spot // 4096 * 4096 : spot // 4096 * 4096 + 8] = b"\xff" * 8
    (tmp_path / "covey.db").write_bytes(content)
    found = what(examine(tmp_path))
    assert "malformed" in found[None] or "damaged" in found[None]
    with Store(tmp_path, read_only=True) as store, pytest.raises(BadData):
        store.get("fedavg-20")
    mended(tmp_path)
    with Store(tmp_path) as store:
        assert {record.run for record in store.runs()} == {f"fedavg-{k}" for k in range(1, 31)}
        assert store.get("fedavg-20").config["k"] == 19
