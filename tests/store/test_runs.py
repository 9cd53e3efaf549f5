import multiprocessing
import os
import shutil
import threading
import time

import pytest
from tests.fakes import full_disk
from tests.store.made import checkpoint, left, rewound, with_rounds

from covey.errors import BadData, BadValue, CoveyError, RunFailed, UnknownName
from covey.store import Store
from covey.store.files import files_in

# --- runs


def test_runs_are_named_and_numbered(store):
    assert [store.create("fedavg-digits", {}) for _ in range(2)] == ["fedavg-digits-1", "fedavg-digits-2"]
    assert store.create("ring-digits", {}) == "ring-digits-1"
    assert [record.run for record in store.runs()] == ["fedavg-digits-1", "fedavg-digits-2", "ring-digits-1"]


def test_a_name_is_fit_for_a_folder(store):
    run = store.create("fedavg-my data/../2", {})
    with store.owned(run):
        assert (store.folder / run).is_dir()
    assert (store.folder / run).parent == store.folder


def test_a_run_that_nobody_holds_any_more_was_interrupted(store):
    run = store.create("fedavg-digits", {})
    assert store.get(run).status == "running"  # it is about to begin
    with store.owned(run):
        assert store.get(run).status == "running"
    assert store.get(run).status == "interrupted"
    store.mark(run, "failed", {})
    assert store.get(run).status == "failed"


def test_looking_at_runs_keeps_nobody_from_taking_one(tmp_path):
    with Store(tmp_path) as store, Store(tmp_path) as other:
        run = store.create("fedavg-digits", {})
        with store.owned(run):
            pass
        done = threading.Event()
        looking = threading.Thread(target=lambda: [Store(tmp_path).runs() for _ in iter(done.is_set, True)])
        looking.start()
        try:
            for _ in range(200):
                with other.owned(run):
                    pass
        finally:
            done.set()
            looking.join()


def test_a_run_is_kept_as_it_was_given(tmp_path):
    with Store(tmp_path) as store:
        run = store.create("fedavg-digits", {"rounds": 3, "options": {"sample": 0.5}})
        store.mark(run, "finished", {"accuracy": 0.5})
    with Store(tmp_path) as store:
        record = store.get(run)
    assert (record.status, record.config, record.summary) == (
        "finished",
        {"rounds": 3, "options": {"sample": 0.5}},
        {"accuracy": 0.5},
    )


def test_a_run_stands_in_one_of_few_ways(store):
    with pytest.raises(BadValue, match="status is 'done'; allowed is one of running, finished, failed"):
        store.mark(store.create("fedavg", {}), "done", {})


def test_an_unknown_run_has_a_nearest_name(store):
    with pytest.raises(BadValue, match=r"run is 'x'; allowed is the name of a run; the store in .* has none yet"):
        store.get("x")
    store.create("fedavg-digits", {})
    with pytest.raises(UnknownName, match=r"did you mean 'fedavg-digits-1'\?"):
        store.get("fedavg-digit-1")


def test_the_latest_unfinished_run(store):
    with pytest.raises(CoveyError, match="has no unfinished run"):
        store.unfinished()
    first, second, third, fourth = (left(store) for _ in range(4))
    store.mark(fourth, "finished", {})
    store.mark(second, "failed", {})
    with store.owned(third):  # as another process would
        assert store.unfinished().run == second
    assert store.unfinished().run == third
    for run in (third, second):
        store.mark(run, "finished", {})
    assert store.unfinished().run == first


# --- folders that do not work


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "runs").touch()
    with pytest.raises(BadValue, match=r"out is '.*runs'; allowed is a folder for runs that can be read and written"):
        Store(tmp_path / "runs")


def test_a_database_that_is_none(tmp_path):
    (tmp_path / "covey.db").write_text("hello, this is no database" * 100)
    with pytest.raises(BadValue, match=r"out is '.*'; allowed is a folder for runs .*not a database"):
        Store(tmp_path)


def test_a_run_whose_folder_is_gone_begins_again(store):
    run = with_rounds(store, 3)
    for path in (store.folder / run).iterdir():
        path.unlink()
    (store.folder / run).rmdir()
    assert store.unfinished().run == run
    with store.owned(run):
        assert store.rewind(run) is None
    with pytest.raises(BadData, match=f"run {run} has no checkpoint"):
        store.latest(run)


def test_a_run_whose_folder_cannot_be_made(store):
    run = left(store)
    shutil.rmtree(store.folder / run)
    (store.folder / run).touch()
    with pytest.raises(BadData, match=f"{run} is not a folder but a file, which is not followed"), store.owned(run):
        pass


# --- rounds and checkpoints


def test_rounds_and_events_in_order(store):
    run = with_rounds(store, 3, every=2)
    other = with_rounds(store, 1)
    store.add_event(run, 2, "lost", "1 of 3 trainings: lost")
    assert [(row["round"], row["accuracy"], row["checkpoint"]) for row in store.rounds(run)] == [
        (1, 0.1, False),
        (2, 0.2, True),
        (3, 0.3, False),
    ]
    assert [(event["round"], event["kind"], event["text"]) for event in store.events(run)] == [
        (2, "lost", "1 of 3 trainings: lost")
    ]
    assert len(store.rounds(other)) == 1
    assert store.events(other) == []


def test_two_checkpoints_are_kept(store):
    run = with_rounds(store, 6)
    store._settler.settle(store.path(run, 6))
    assert [path.name for path in files_in(store.folder / run).values()] == [
        "round-000005.safetensors",
        "round-000006.safetensors",
    ]
    assert store.latest(run) == store.path(run, 6)


def test_what_is_not_yet_settled_is_never_dropped(store):
    """The disk may be slow: settling round 3 while 4 and 5 are there keeps 2, 3, 4 and 5."""
    run = store.create("fedavg", {})
    for round in range(1, 6):
        store._save(run, round, checkpoint(round))
    store._settler.settle(store.path(run, 3))
    assert list(files_in(store.folder / run)) == [2, 3, 4, 5]


def test_a_resumed_run_goes_on_from_the_newest_checkpoint(store):
    run = with_rounds(store, 5, every=2)
    for round in (4, 5):
        store.add_event(run, round, "lost", "somebody")
    assert rewound(store, run) == 4
    assert [row["round"] for row in store.rounds(run)] == [1, 2, 3, 4]
    assert [event["round"] for event in store.events(run)] == [4]


def test_a_run_without_rounds_begins_again(store):
    assert rewound(store, store.create("fedavg", {})) == 0
    assert rewound(store, with_rounds(store, 1, every=2)) == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: b"",
        lambda whole: b"\0" * len(whole),
        lambda whole: whole[:-3] + b"abc",
    ],
    ids=["truncated", "empty", "zeros", "three bytes"],
)
def test_a_damaged_checkpoint_is_passed_over(store, damage):
    run = with_rounds(store, 4)
    path = store.path(run, 4)
    path.write_bytes(damage(path.read_bytes()))
    assert rewound(store, run) == 3
    assert not path.exists()
    store.add_round(run, 4, {}, checkpoint(4))
    assert rewound(store, run) == 4


def test_a_run_of_damaged_checkpoints_begins_again_and_leaves_nothing_behind(store):
    run = with_rounds(store, 4)
    for path in files_in(store.folder / run).values():
        path.write_bytes(b"damaged")
    assert rewound(store, run) == 0
    assert files_in(store.folder / run) == {}
    assert store.rounds(run) == []
    for round in (1, 2):
        store.add_round(run, round, {}, checkpoint(round))
    assert rewound(store, run) == 2


def test_killed_between_checkpoint_and_database(store):
    """The file of round 4 is whole, but round 4 is not done as far as the database knows."""
    run = with_rounds(store, 3)
    store._save(run, 4, checkpoint(4))
    assert rewound(store, run) == 3
    assert store.latest(run) == store.path(run, 3)


def test_killed_while_a_checkpoint_was_written(store):
    run = with_rounds(store, 3)
    (store.folder / run / "round-000004.part").write_bytes(checkpoint(4).encode()[:50])
    assert rewound(store, run) == 3
    store.add_round(run, 4, {}, checkpoint(4))
    assert rewound(store, run) == 4
    assert not (store.folder / run / "round-000004.part").exists()


# --- a full disk


def test_a_full_disk_says_so_and_nothing_is_lost(store):
    run = with_rounds(store, 2)
    with full_disk(), pytest.raises(RunFailed) as caught:
        store.add_round(run, 3, {}, checkpoint(3))
    assert str(caught.value) == (
        f"the checkpoint of round 3 could not be written to {store.folder / run} (No space left on device); "
        f"make room, then: covey resume {run}"
    )
    assert not list((store.folder / run).glob("*.part"))
    assert rewound(store, run) == 2


def test_a_database_that_is_full_says_so(store):
    run = with_rounds(store, 2)
    pages = store.database.connection.execute("PRAGMA page_count").fetchone()[0]
    store.database.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(RunFailed, match=r"could not be written \(database or disk is full\); what it had is kept"):
        store.add_round(run, 3, {"note": "x" * 100_000}, checkpoint(3))
    assert rewound(store, run) == 2


# --- several processes, forked, since a new one takes seconds to load torch

fork = multiprocessing.get_context("fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def write(folder, name):
    with Store(folder) as store:
        for _ in range(4):
            run = store.create("fedavg-digits", {"by": name})
            with store.owned(run):
                for round in range(1, 11):
                    store.add_event(run, round, "lost", "somebody")
                    store.add_round(run, round, {"by": name}, checkpoint(round))
            store.mark(run, "finished", {"by": name})


def test_processes_write_to_one_store_at_once(tmp_path):
    """Three processes on a store that is not there yet; what they write must not mix."""
    writers = [fork.Process(target=write, args=(tmp_path / "runs", name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with Store(tmp_path / "runs") as store:
        records = store.runs()
        assert {record.run for record in records} == {f"fedavg-digits-{k}" for k in range(1, 13)}
        assert sorted(record.config["by"] for record in records) == list("aaaabbbbcccc")
        for record in records:
            rounds = store.rounds(record.run)
            assert record.status == "finished"
            assert [row["round"] for row in rounds] == list(range(1, 11))
            assert {row["by"] for row in rounds} == {record.config["by"], record.summary["by"]}
            assert len(store.events(record.run)) == 10
            assert rewound(store, record.run) == 10


def hold(folder, ready):
    with Store(folder) as store, store.owned("fedavg-1"):
        ready.set()
        time.sleep(60)


def test_a_run_belongs_to_one_process_until_it_dies(tmp_path):
    with Store(tmp_path) as store:
        assert store.create("fedavg", {}) == "fedavg-1"
    ready = fork.Event()
    holder = fork.Process(target=hold, args=(tmp_path, ready))
    holder.start()
    assert ready.wait(30)
    with Store(tmp_path) as store:
        with pytest.raises(BadValue, match="run is 'fedavg-1'; allowed is one that no other process is running"):
            store.owned("fedavg-1").__enter__()
        with pytest.raises(CoveyError, match="no unfinished run"):
            store.unfinished()
        holder.kill()
        holder.join()
        assert store.unfinished().run == "fedavg-1"
        with store.owned("fedavg-1"):
            pass


def make_and_die(folder):
    Store(folder).create("fedavg", {})
    os._exit(9)  # before it could be begun


def test_a_process_that_dies_once_its_run_is_made_leaves_it_to_be_taken_up(tmp_path):
    dying = fork.Process(target=make_and_die, args=(tmp_path,))
    dying.start()
    dying.join(30)
    with Store(tmp_path) as store:
        assert [record.status for record in store.runs()] == ["interrupted"]
        assert store.unfinished().run == "fedavg-1"


def opened(folder, barrier):
    barrier.wait()
    with Store(folder) as store:
        store.create("fedavg", {})


def test_processes_make_one_store_at_once(tmp_path):
    """Turning on write-ahead logging fails for all but one process that do it at the same moment."""
    for k in range(5):
        barrier = fork.Barrier(4)
        openers = [fork.Process(target=opened, args=(tmp_path / str(k), barrier)) for _ in range(4)]
        for opener in openers:
            opener.start()
        for opener in openers:
            opener.join(60)
        assert [opener.exitcode for opener in openers] == [0] * 4


def test_a_store_that_is_closed_leaves_no_thread_behind(tmp_path):
    before = set(threading.enumerate())
    with Store(tmp_path) as store:
        with_rounds(store, 2)
    assert set(threading.enumerate()) <= before


def test_a_name_that_was_discarded_is_a_new_run_when_it_comes_again(store):
    """What the store knows of the first one is not said of the second."""
    run = with_rounds(store, 1, seed=1)
    store.discard(run)
    assert with_rounds(store, 1, seed=2) == run
    assert store.get(run).config == {"seed": 2}
    with Store(store.folder) as other:
        assert rewound(other, run) == 1  # its checkpoint is its own
