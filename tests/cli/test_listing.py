import json

import pytest
from tests.cli.test_run import KEYS

from covey.algorithms import ALGORITHMS
from covey.cli.listing import TABLES
from covey.store import Store


@pytest.mark.parametrize("what", TABLES)
def test_everything_with_a_name_is_listed(covey, what):
    rows = covey("list", what, "--json").json
    assert [row["name"] for row in rows] == TABLES[what].names
    assert all(row["summary"] for row in rows)
    table = covey("list", what)
    assert table.code == 0
    assert all(any(line.split()[:1] == [name] for line in table.out.splitlines()) for name in TABLES[what].names)
    assert "\x1b" not in table.out


def test_algorithms_say_where_they_are(covey):
    rows = {row["name"]: row for row in covey("list", "algorithms", "--json").json}
    assert rows["fedavg"]["file"] == "covey/algorithms/fedavg.py"
    assert rows["fedavg"]["paper"] == "McMahan et al. 2017"
    assert set(rows) == set(ALGORITHMS.names)


def test_no_runs_yet(covey, tmp_path):
    assert covey("list").out == "no runs in runs yet; start one with: covey run fedavg\n"
    assert covey("list", "runs", "--json").json == []
    assert not (tmp_path / "runs").exists()


def test_runs(covey, small):
    summary = small("fedavg", "--json").json
    (row,) = covey("list", "--json").json
    assert row["accuracy"] == pytest.approx(summary["accuracy"], abs=1e-4)
    assert {key: row[key] for key in ("name", "status", "algorithm", "data", "rounds")} == {
        "name": "fedavg-digits-1",
        "status": "finished",
        "algorithm": "fedavg",
        "data": "digits",
        "rounds": "3/3",
    }
    assert "fedavg-digits-1" in covey("list").out


def test_what_a_run_did(covey, small, tmp_path):
    summary = small("rings", "--set", "groups=2", "--dropout", "0.3", "--json").json
    assert covey("show", summary["run"], "--json").json == summary
    said = covey("show", "rings-digits-1", "--plot", "new/curve.png")
    assert said.out.startswith("rings-digits-1  finished\n")
    assert "dropout=0.3" in said.out
    assert "trainings: the client dropped out" in said.out
    assert f"{summary['accuracy']:.4f}" in said.out
    assert (tmp_path / "new" / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "go on with" not in said.out


def test_a_long_run_is_shown_in_part(covey, small):
    small("fedavg", "--rounds", "60")
    rows = [line.split() for line in covey("show", "fedavg-digits-1").out.splitlines()]
    shown = [int(row[0]) for row in rows if row and row[0].isdigit()]
    assert shown[:4] == [1, 2, 3, 4]
    assert shown[-4:] == [57, 58, 59, 60]
    assert len(shown) < 40


def test_a_run_that_is_not_over(covey, tmp_path):
    with Store(tmp_path / "runs") as store:
        run = store.create("fedavg-digits", {"algorithm": "fedavg", "data": "digits", "rounds": 9})
        empty = covey("show", run, "--json").json
        assert empty.keys() >= KEYS
        assert (empty["status"], empty["rounds"], empty["accuracy"]) == ("running", 0, None)
        common = {"traffic_bytes": 10, "wall_seconds": 0.1, "models": 1, "trainings": 4}
        store.add_round(run, 1, {"round": 1, "accuracy": 0.25, "loss": 2.0, **common}, None)
        store.add_round(run, 2, {"round": 2, **common, "traffic_bytes": 20}, None)  # a round that was not evaluated
    found = covey("show", run, "--json").json
    assert found.keys() >= KEYS
    assert (found["rounds"], found["accuracy"], found["traffic_bytes"]) == (2, 0.25, 20)
    assert covey("list", "--json").json[0]["accuracy"] == 0.25
    assert f"go on with: covey resume {run}" in covey("show", run).out


def test_a_picture_that_cannot_be_written(covey, small, tmp_path):
    small("fedavg")
    (tmp_path / "file").touch()
    assert covey("show", "fedavg-digits-1", "--plot", "file/x.png").complaint.startswith("picture is 'file/x.png'")


def test_a_list_is_json_alone(covey):
    assert isinstance(json.loads(covey("list", "groupings", "--json").out), list)
