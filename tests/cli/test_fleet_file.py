"""From a fleet's CSV to groups, price and a run; groups from a file in the place of a grouping."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from tests.narrow import known

from covey.algorithms import make_algorithm
from covey.data import load_fleet
from covey.errors import BadData, BadValue
from covey.fleet import Fleet
from covey.grouping import group
from covey.grouping.by_file import read_groups

LABELS = [[3, 0, 1], [0, 4, 0], [2, 2, 2], [1, 0, 5], [0, 3, 3], [4, 1, 0]]
NAMES = ["ann", "bob", "cyd", "dan", "eve", "fay"]
EDGES = ["west", "east", "west", "east", "west", "east"]
LITTLE = ("--rounds", 2, "--mode", "one-by-one", "--json")


@pytest.fixture
def files(covey, tmp_path):
    rows = [[n, e, *map(str, r)] for n, e, r in zip(NAMES, EDGES, LABELS, strict=True)]
    table(tmp_path / "fleet.csv", ["client", "edge", "a", "b", "c"], rows)
    table(
        tmp_path / "groups.csv",
        ["client", "group"],
        [["fay", "2"], ["bob", "2"], *([n, "1"] for n in ("eve", "ann", "cyd")), ["dan", ""]],
    )
    table(tmp_path / "mixed.csv", ["client", "group"], [[n, "x"] for n in NAMES])
    return covey


def table(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def test_every_client_holds_what_the_file_says_at_its_edge(files):
    fleet = load_fleet("synthetic:classes=3,shape=4,pool=9", partition="counts:fleet.csv", test_fraction=0)
    np.testing.assert_array_equal(fleet.labels, LABELS)
    assert fleet.names == tuple(NAMES)
    assert known(fleet.edge_of).tolist() == [1, 0, 1, 0, 1, 0]  # east is edge 0, west is edge 1


def test_data_of_which_there_is_too_little_is_refused(files):
    x, y = np.zeros((12, 2)), np.arange(12) % 3
    with pytest.raises(BadData, match="its clients hold 10 samples of 'a', and the data has 3 of class 0"):
        load_fleet((x, y), partition="counts:fleet.csv")
    with pytest.raises(BadData, match="3 columns of classes, and the data has 2 classes"):
        load_fleet((np.zeros((90, 2)), np.arange(90) % 2), partition="counts:fleet.csv")


def test_a_client_without_samples_cannot_train(covey, tmp_path):
    table(tmp_path / "f.csv", ["client", "a"], [["ann", "2"], ["bob", "0"]])
    assert "client 'bob' holds no samples and cannot train" in covey("run", "fedavg", "--fleet", "f.csv").complaint


def test_groups_of_a_file_are_those_that_train(files):
    assert read_groups("groups.csv", NAMES).groups == ((5, 1), (4, 0, 2))
    run = files("run", "group-fel", "--fleet", "fleet.csv", "--groups", "groups.csv", *LITTLE).json["run"]
    shown = files("show", run, "--json").json
    assert shown["settings"]["partition"] == "counts:fleet.csv"
    assert shown["settings"]["data"] == "synthetic:classes=3"
    assert sorted(map(sorted, shown["groups"])) == [[0, 2, 4], [1, 5]]
    cost = files("price", "star-stars", "--fleet", "fleet.csv", "--groups", "groups.csv", "--rounds", 1, "--json").json
    assert cost["clients"] == 6
    rows = files("compare", "fedavg", "star-stars", "--fleet", "fleet.csv", "--groups", "groups.csv", *LITTLE).json[
        "rows"
    ]
    assert [row["settings"].get("grouping") for row in rows] == [None, "file:groups.csv"]


def test_what_group_writes_a_run_takes(files):
    files("group", "fleet.csv", "--within-edges", "--groups", "2", "--out", "out.csv")
    assert files("run", "group-fel", "--fleet", "fleet.csv", "--groups", "out.csv", *LITTLE).json["rounds"] == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("group-fel", "--groups", "mixed.csv"), "with ann and clients of another edge.; .*--within-edges"),
        (("fedgsp", "--groups", "groups.csv"), "algorithm is 'fedgsp'; allowed is one that takes groups from a file"),
        (("fedavg", "--edges", 2), "edges is 2; allowed is left out beside --fleet fleet.csv"),
        (("star-stars", "--groups", "none.csv"), "none.csv: no such file"),
        (("star-stars", "--groups", "fleet.csv"), "no column 'group'"),
    ],
)
def test_what_does_not_fit_is_said(files, words, sentence):
    assert re.search(sentence, files("run", *words, "--fleet", "fleet.csv").complaint)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([["ann", "1"]], "client 'bob' of the fleet has no line"),
        ([["ann", "1"], ["zoe", "1"]], "line 3: client 'zoe' is not in the fleet"),
        ([["ann", "1"], ["ann", "2"]], "line 3: client 'ann' is on line 2 already"),
        ([[name, ""] for name in NAMES], "no client is in a group"),
    ],
)
def test_files_of_groups_that_are_none_are_refused(tmp_path, rows, sentence):
    table(tmp_path / "g.csv", ["client", "group"], rows)
    with pytest.raises(BadData, match=sentence):
        read_groups(tmp_path / "g.csv", NAMES)


def test_clients_without_names_are_called_by_their_numbers(tmp_path):
    table(tmp_path / "g.csv", ["client", "group"], [["0", "a"], ["1", "b"], ["2", "a"]])
    word = f"file:{tmp_path / 'g.csv'}"
    fleet = Fleet(np.ones((3, 2)))
    rng = np.random.default_rng(0)
    assert make_algorithm("star-stars", {"grouping": word}).start(fleet, rng)["groups"] == [[0, 2], [1]]
    with pytest.raises(BadValue, match="groups is 3; allowed is 2, the groups in"):
        group(word, fleet.labels, groups=3, rng=rng, names=fleet.called)
    with pytest.raises(BadValue, match="names is None; allowed is what every client is called"):
        group(word, fleet.labels, rng=rng)
