import json

import pytest
from tests.cli.test_run import KEYS

from covey.algorithms import ALGORITHMS
from covey.checkpoint import Checkpoint
from covey.cli.listing import TABLES, table_of
from covey.store import Store


@pytest.mark.parametrize("what", TABLES)
def test_everything_with_a_name_is_listed(covey, what):
    rows = covey("list", what, "--json").json
    assert [row["name"] for row in rows] == table_of(what).names
    assert all(row["summary"] for row in rows)
    table = covey("list", what)
    assert table.code == 0
    assert all(any(line.split()[:1] == [name] for line in table.out.splitlines()) for name in table_of(what).names)
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
    assert {key: row[key] for key in ("name", "status", "algorithm", "data", "rounds", "rounds_asked")} == {
        "name": "fedavg-digits-1",
        "status": "finished",
        "algorithm": "fedavg",
        "data": "digits",
        "rounds": 3,
        "rounds_asked": 3,
    }
    assert row["traffic_bytes"] == summary["traffic_bytes"]
    assert row["settings"]["clients"] == 4
    assert "fedavg-digits-1" in covey("list").out


def test_what_a_run_did(covey, small, tmp_path):
    summary = small("rings", "--set", "groups=2", "--dropout", "0.3", "--json").json
    found = covey("show", summary["run"], "--json").json
    assert found.items() >= summary.items()
    assert found["settings"]["options"] == {"shape": "rings", "groups": 2}
    assert [row["round"] for row in found["history"]] == [1, 2, 3]
    assert sorted(i for members in found["groups"] for i in members) == [0, 1, 2, 3]
    assert [found["model_of"][i] for i in found["groups"][1]] == [1] * len(found["groups"][1])
    assert [event["kind"] for event in found["events"]][:2] == ["versions", "lost"]
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


# --- stores that are damaged, strange or not to be written


def planted(tmp_path, **row):
    """A store with a good run and one whose row is as given."""
    with Store(tmp_path / "runs") as store:
        config = {"algorithm": "fedavg", "data": "digits", "rounds": 9}
        run = store.create("fedavg-digits", config)
        store.add_round(run, 1, {"accuracy": 0.25, "traffic_bytes": 10}, None)
        values = {"run": "bad-1", "created": 5.0, "status": "running", "config": "{}", "summary": "{}"} | row
        store.database.connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", tuple(values.values()))
    return run


def test_one_bad_row_does_not_hide_the_others(covey, tmp_path):
    run = planted(tmp_path, config="x")
    good, bad = covey("list", "--json").json
    assert (good["name"], good["accuracy"]) == (run, 0.25)
    assert bad == {"name": "bad-1", "status": "damaged", "damage": "its row cannot be read (no JSON in its settings)"}
    said = covey("list")
    assert said.code == 0
    assert run in said.out
    assert "its row cannot be read" in said.out
    assert "see: covey doctor" in said.out
    assert covey("show", run).code == 0
    assert covey("show", "bad-1").complaint.startswith("run bad-1 is damaged: its row cannot be read")


@pytest.mark.parametrize("name", ["[/s]", "\x1b[31mred", "../../outside", "[link=x]y[/link]", ""])
def test_names_from_a_strangers_store_are_only_text(covey, tmp_path, name):
    planted(tmp_path, run=name)
    said = covey("list")
    assert (said.code, said.err) == (0, "")
    assert "\x1b" not in said.out
    assert name.replace("\x1b", r"\x1b") in said.out


def test_a_run_that_says_little_is_listed_and_shown(covey, tmp_path):
    planted(tmp_path, config='{"algorithm": "[/s]", "data": 3, "rounds": [1]}')
    row = covey("list", "--json").json[1]
    assert (row["name"], row["algorithm"], row["rounds"], row["rounds_asked"]) == ("bad-1", "[/s]", 0, [1])
    for words in (["list"], ["show", "bad-1"], ["show", "bad-1", "--json"]):
        said = covey(*words)
        assert (said.code, said.err) == (0, "")
    assert covey("show", "bad-1", "--plot", "x.png").complaint == "run bad-1 has no accuracy yet that could be drawn"
    assert "[/s]" in covey("show", "bad-1").out


def test_metrics_that_are_no_numbers_are_not_shown(covey, tmp_path):
    run = planted(tmp_path)
    with Store(tmp_path / "runs") as store:
        store.add_round(run, 2, {"accuracy": "[/s]", "traffic_bytes": 10**400, "loss": [1], "models": None}, None)
        store.add_round(run, 3, {"accuracy": float("nan"), "traffic_bytes": 10}, None)
        store.add_event(run, 3, "[/s]", "\x1b[31m")
    assert covey("list", "--json").json[0]["accuracy"] == 0.25
    for words in (["list"], ["show", run], ["show", run, "--json"], ["show", run, "--plot", "x.png"]):
        said = covey(*words)
        assert (said.code, said.err) == (0, "")
        assert "\x1b" not in said.out


def test_rounds_that_cannot_be_read_are_named(covey, tmp_path):
    run = planted(tmp_path)
    with Store(tmp_path / "runs") as store:
        store.database.connection.execute("INSERT INTO rounds VALUES (?, 2, 'x')", (run,))
    what = "one of its rounds cannot be read (no JSON in its metrics of round 2)"
    assert covey("list", "--json").json[0]["damage"] == what
    assert f"damaged: {what}; see: covey doctor" in covey("show", run).out


def test_a_store_that_is_none_is_one_sentence(covey, tmp_path):
    (tmp_path / "covey.db").write_text("no database" * 100)
    for words in (["list"], ["show", "x"]):
        sentence = covey(*words, "--out", tmp_path).complaint
        assert "a folder for runs that can be read (file is not a database)" in sentence


def test_listing_and_showing_write_nothing(covey, small, tmp_path):
    small("fedavg", "--json")
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    for words in (["list"], ["show", "fedavg-digits-1"]):
        assert covey(*words).code == 0
    assert {path: path.read_bytes() for path in before} == before
    (tmp_path / "empty").mkdir()
    assert covey("list", "--out", "empty").code == 0
    assert list((tmp_path / "empty").iterdir()) == []


def test_hints_name_the_store(covey, tmp_path):
    with Store(tmp_path / "my runs") as store:
        run = store.create("fedavg-digits", {"algorithm": "fedavg"})
    assert f"go on with: covey resume {run} --out 'my runs'" in covey("show", run, "--out", "my runs").out


def test_cost_and_simulated_time_are_shown_where_they_are_known(covey, small):
    small("fedavg", "--prices", "cifar-secure", "--network", "star")
    shown = covey("show", "fedavg-digits-1").out
    assert "simulated_seconds" in shown
    assert "cost" in shown
    small("ring")
    assert "simulated_seconds" not in covey("show", "ring-digits-1").out


@pytest.mark.parametrize(
    ("field", "value"), [("state", None), ("state", {"groups": ["x"]}), ("home", {"a": 1}), ("home", None)]
)
def test_details_out_of_a_forged_checkpoint(small, covey, tmp_path, field, value):
    """Whoever can forge both the checkpoint and the digest in the database gets a sentence."""
    run = small("fedavg", "--json").json["run"]
    path = max((tmp_path / "runs" / run).glob("*.safetensors"))
    whole = Checkpoint.load(path)
    data = {**whole.data, field: value}
    content, digest = Checkpoint(data, whole.identity, whole.record).seal()
    path.write_bytes(content)
    database = tmp_path / "runs" / "covey.db"
    database.write_bytes(database.read_bytes().replace(whole.seal()[1].encode(), digest.encode()))
    found = covey("show", run, "--json").json
    assert found["damage"] == "the newest checkpoint does not say in a way that can be read who has which model"
    assert found["model_of"] is None


def test_names_of_settings_out_of_a_strangers_store_reach_no_terminal(covey, tmp_path):
    with Store(tmp_path / "runs") as store:
        store.create("one", {"algorithm": "fedavg", "options": {"\x9d\x05[/s]": 1}})
        store.create("two", {"algorithm": "fedavg"})
    said = covey("list")
    assert said.code == 0
    assert "[/s]" in said.out
    assert not set("\x9d\x05") & set(said.out)
