import json
import sqlite3
import subprocess
import sys
import time

import psutil
import pytest
from tests.narrow import known

from covey.compare import Comparison, carry_out, rows_of, verdicts
from covey.errors import RunFailed
from covey.store import Store

SMALL = {"clients": 4, "samples": 20, "rounds": 2, "model": "softmax-regression", "mode": "one-by-one", "edges": 1}


def compare(tmp_path, *runs, jobs=1, shared=(), **terms):
    comparison = Comparison.make({**SMALL, **dict(shared)}, runs, **terms)
    done, amount = carry_out(comparison, tmp_path / "runs", jobs=jobs)
    return comparison, done, amount


def test_at_equal_traffic_nobody_counts_more_than_the_first_run_spent(tmp_path):
    comparison, done, amount = compare(tmp_path, {"algorithm": "fedavg"}, {"algorithm": "ring"}, budget="traffic")
    model = 650 * 4
    assert amount == 2 * (4 + 4) * model  # to 4 clients and back, twice
    rows, target = rows_of(comparison, done, amount)
    fedavg, ring = (row.figures() for row in rows)
    assert (fedavg["rounds"], fedavg["traffic_bytes"]) == (2, 16 * model)
    assert ring["traffic_bytes"] <= amount <= done[1].summary["traffic_bytes"]
    assert 2 < ring["rounds"] == done[1].summary["rounds"] - 1  # the round that went beyond does not count
    assert target is not None
    assert fedavg["rounds_to_target"] <= 2


def test_runs_that_are_done_are_not_made_again(tmp_path):
    first = compare(tmp_path, {"algorithm": "fedavg"}, {"algorithm": "ring"})[1]
    again = compare(tmp_path, {"algorithm": "fedavg"}, {"algorithm": "ring"}, {"algorithm": "star"}, seeds=[0, 1])[1]
    assert [done.fresh for done in first] == [True, True]
    assert [done.fresh for done in again] == [False, False, True, True, True, True]
    assert [done.run for done in again[:2]] == [done.run for done in first]
    with Store(tmp_path / "runs") as store:
        assert len(store.runs()) == 6


def test_a_run_that_was_stored_before_there_was_a_setting_is_found(tmp_path):
    compare(tmp_path, {"algorithm": "fedavg"})
    with sqlite3.connect(tmp_path / "runs" / "covey.db") as database:
        (text,) = database.execute("SELECT config FROM runs").fetchone()
        config = json.loads(text)
        del config["target_own_accuracy"]
        database.execute("UPDATE runs SET config = ?", (json.dumps(config),))
    assert [done.fresh for done in compare(tmp_path, {"algorithm": "fedavg"})[1]] == [False]
    with sqlite3.connect(tmp_path / "runs" / "covey.db") as database:
        database.execute("UPDATE runs SET status = 'interrupted'")
    assert [done.fresh for done in compare(tmp_path, {"algorithm": "fedavg"})[1]] == [True]  # none to go on with
    given = {"algorithm": "fedavg", "target_own_accuracy": 0.9}
    assert [done.fresh for done in compare(tmp_path, given)[1]] == [True]


def test_a_run_that_was_killed_goes_on(tmp_path):
    comparison = Comparison.make(SMALL, [{}])

    class Killed(BaseException):
        pass

    def stop(report):
        if report.metrics["round"] == 2:
            raise Killed

    with pytest.raises(Killed):
        carry_out(comparison, tmp_path / "runs", begins=lambda cell: [stop])
    (done,), _ = carry_out(comparison, tmp_path / "runs")
    assert done.summary["rounds"] == 2
    with Store(tmp_path / "runs") as store:
        assert [record.status for record in store.runs()] == ["finished"]
        assert [event["kind"] for event in store.events(known(done.run))] == ["versions", "resumed"]


def test_several_at_once_give_the_same(tmp_path):
    runs = [{"algorithm": "fedavg"}, {"algorithm": "ring"}]
    alone = compare(tmp_path / "a", *runs)[1]
    together = compare(tmp_path / "b", *runs, jobs=2)[1]
    assert [d.summary["model_sha256"] for d in together] == [d.summary["model_sha256"] for d in alone]
    assert [d.cell.entry.name for d in together] == ["fedavg", "ring"]


def test_several_at_once_are_watched(tmp_path):
    runs = [{"algorithm": "fedavg"}, {"algorithm": "ring"}]
    seen: dict[str, list[tuple[str, int, int]]] = {}

    def begins(cell):
        rounds = seen.setdefault(cell.entry.name, [])
        return [lambda heard: rounds.append((heard.run, heard.rounds, heard.metrics["round"]))]

    carry_out(Comparison.make(SMALL, runs), tmp_path, jobs=2, begins=begins)
    assert {name: [rounds for *_, rounds in told] for name, told in seen.items()} == {"fedavg": [1, 2], "ring": [1, 2]}
    assert {run for told in seen.values() for run, *_ in told} == {"fedavg-digits-1", "ring-digits-1"}
    seen.clear()
    carry_out(Comparison.make(SMALL, runs), tmp_path, jobs=2, begins=begins)
    assert seen == {}  # they are in the store


def test_a_watcher_that_fails_is_heard_of_when_the_runs_are_done(tmp_path):
    def begins(cell):
        return [watch] if cell.entry.name == "ring" else []

    def watch(heard):
        raise OSError("the screen is gone")

    with pytest.raises(OSError, match="the screen is gone"):
        carry_out(
            Comparison.make(SMALL, [{"algorithm": "fedavg"}, {"algorithm": "ring"}]), tmp_path, jobs=2, begins=begins
        )
    with Store(tmp_path) as store:
        assert [record.status for record in store.runs()] == ["finished", "finished"]


LONG = """
from covey.compare import Comparison, carry_out
if __name__ == "__main__":
    runs = [{"algorithm": "fedavg"}, {"algorithm": "ring"}]
    settings = {"clients": 4, "samples": 20, "rounds": 10**6, "model": "softmax-regression", "edges": 1}
    carry_out(Comparison.make(settings, runs), "runs", jobs=2)
"""


def test_processes_end_with_who_asked_for_them(tmp_path):
    (tmp_path / "long.py").write_text(LONG)
    process = subprocess.Popen([sys.executable, "long.py"], cwd=tmp_path)
    children = []
    try:
        while process.poll() is None and len(begun(tmp_path / "runs")) < 2:
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []


def begun(out):
    """The runs with a round."""
    if not (out / "covey.db").exists():
        return []
    with Store(out, read_only=True) as store:
        return [record.run for record in store.runs() if store.rounds(record.run)]


def test_a_run_that_fails_does_not_keep_the_others_from_ending(tmp_path):
    comparison, done, amount = compare(
        tmp_path,
        {"algorithm": "fedavg"},
        {"name": "hot", "algorithm": "fedavg", "dropout": 0.9, "quorum": 1.0},
        expect=["fedavg > hot"],
    )
    rows, _ = rows_of(comparison, done, amount)
    assert rows[0].figures()["rounds"] == 2
    assert rows[1].figures()["accuracy"] is None
    assert "lower quorum" in rows[1].failures[0]
    assert [order.holds for order in verdicts(comparison, rows)] == [True]


def test_a_budget_of_a_run_that_fails(tmp_path):
    with pytest.raises(RunFailed, match="whose spending is the budget"):
        compare(tmp_path, {"dropout": 0.9, "quorum": 1.0}, budget="traffic")
