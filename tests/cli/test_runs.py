import csv
import io
import json

import pytest
from pyarrow import parquet

from covey.store import Store


@pytest.fixture
def two(small):
    """Two runs that differ in their learning rate."""
    first = small(
        "fedavg", "--name", "slow", "--lr", "0.01", "--tag", "try", "--tag", "old", "--note", "to begin", "--json"
    )
    return first.json, small("fedavg", "--lr", "0.5", "--json").json


def test_names_tags_and_notes(covey, two):
    slow, other = covey("list", "--json").json
    assert (slow["name"], slow["tags"], slow["note"]) == ("slow", ["try", "old"], "to begin")
    assert (other["name"], other["tags"]) == ("fedavg-digits-1", [])
    assert [row["name"] for row in covey("list", "--tag", "old", "--json").json] == ["slow"]
    assert covey("list", "--tag", "new").out == "no runs like that in runs\n"


def test_a_name_that_is_taken_or_none(covey, small, two, tmp_path):
    assert small("fedavg", "--name", "slow").complaint == "name is 'slow'; allowed is one that no run in runs has"
    assert small("fedavg", "--name", "../x").complaint.startswith("name is '../x'; allowed is letters")
    assert not (tmp_path / "x").exists()
    assert len(covey("list", "--json").json) == 2


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_list_shows_what_differs_and_fits(covey, two, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *rows = covey("list").out.splitlines()
    assert max(map(len, [head, *rows])) <= columns
    assert len(rows) == 2
    assert ("lr" in head.split()) == (columns > 40)
    assert "clients" not in head  # both have four


def test_sorted_and_filtered(covey, two):
    names = lambda *words: [row["name"] for row in covey("list", *words, "--json").json]  # noqa: E731
    assert names("--sort", "lr") == ["slow", "fedavg-digits-1"]
    assert names("--sort=-lr") == ["fedavg-digits-1", "slow"]
    assert names("--where", "lr=0.5") == ["fedavg-digits-1"]
    assert names("--where", "lr=0.5", "--where", "status=running") == []
    assert covey("list", "--sort", "lrr").complaint.startswith("column is 'lrr'")
    assert covey("list", "models", "--sort", "name").complaint.startswith("list is 'models'; allowed is runs")


def test_removed(covey, two, tmp_path):
    assert covey("rm", "slow", "nobody").complaint.startswith("run is 'nobody'")
    assert covey("rm", "slow").out == "removed slow\n"
    assert [row["name"] for row in covey("list", "--json").json] == ["fedavg-digits-1"]
    assert not (tmp_path / "runs" / "slow").exists()
    assert covey("rm", "x", "--out", "nowhere").complaint.startswith("out is 'nowhere'")


def test_renamed(covey, two):
    before = covey("show", "slow", "--json").json
    assert covey("rename", "slow", "fast").out == "slow is fast now\n"
    after = covey("show", "fast", "--json").json
    assert (before.pop("run"), after.pop("run")) == ("slow", "fast")
    flags = [row.pop("checkpoint") for found in (before, after) for row in found["history"]]
    assert flags[-1]
    assert after == before
    assert covey("show", "slow").complaint.startswith("run is 'slow'")
    assert covey("rename", "fast", "fedavg-digits-1").complaint.startswith("name is 'fedavg-digits-1'")
    assert covey("doctor", "--json").json["damaged"] == []
    assert covey("resume", "fast", "--rounds", "4", "--json").json["rounds"] == 4


def test_a_finished_run_is_extended(covey, small, tmp_path):
    whole = small("fedavg", "--rounds", "5", "--name", "whole", "--json").json
    small("fedavg", "--rounds", "3", "--name", "part")
    assert covey("resume", "part", "--rounds", "3").complaint.startswith("rounds is 3; allowed is a number above 3")
    extended = covey("resume", "part", "--rounds", "5", "--json").json
    assert (extended["rounds"], extended["model_sha256"]) == (5, whole["model_sha256"])
    with Store(tmp_path / "runs") as store:
        assert store.get("part").config["rounds"] == 5
        assert [row["round"] for row in store.rounds("part")] == [1, 2, 3, 4, 5]
    assert covey("doctor", "--json").json["damaged"] == []


def test_every_round_taken_away(covey, two, tmp_path):
    rounds = covey("show", "slow", "--json").json["history"]
    rows = list(csv.DictReader(io.StringIO(covey("export", "slow", "--format", "csv").out)))
    assert [int(row["round"]) for row in rows] == [1, 2, 3]
    assert [float(row["accuracy"]) for row in rows] == [row["accuracy"] for row in rounds]
    assert int(rows[-1]["traffic_bytes"]) == two[0]["traffic_bytes"]
    found = json.loads(covey("export", "slow", "--format", "json").out)
    assert [row["loss"] for row in found] == [row["loss"] for row in rounds]
    assert covey("export", "slow", "--format", "parquet", "--to", "slow.parquet").code == 0
    assert parquet.read_table(tmp_path / "slow.parquet").column("accuracy").to_pylist() == [
        r["accuracy"] for r in rounds
    ]
    latex = covey("export", "slow", "--format", "latex").out
    assert latex.startswith("\\begin{tabular}{rrrrr}\n")
    assert f"3 & {rounds[-1]['accuracy']:.4f} &" in latex
    assert covey("export", "slow", "--to", "new/slow.csv").out == ""
    assert (tmp_path / "new" / "slow.csv").read_text() == covey("export", "slow").out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["slow", "--format", "xls"], "format is 'xls'; allowed is one of csv, json, latex, parquet"),
        (["slow", "--format", "parquet"], "to is None; allowed is the name of a file"),
        (["slowly"], "run is 'slowly'"),
    ],
)
def test_what_cannot_be_taken_away(covey, two, words, sentence):
    assert covey("export", *words).complaint.startswith(sentence)
