from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from covey.cli.data import app
from covey.data import DATASETS, files
from covey.errors import BadData, BadValue, UnknownName


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A data folder, a cache and a system place that are empty."""
    monkeypatch.setenv("COVEY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(files, "SYSTEM", (tmp_path / "system",))
    return tmp_path / "data"


def run(*words):
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("words", [["list"], []])
def test_the_list_names_every_set_and_how_to_get_it(words):
    lines = run(*words).splitlines()
    assert len(lines) == 1 + len(DATASETS)
    assert "built in" in lines[1]
    assert lines[1].split()[0] == "digits"
    assert any("covey data get fashion-mnist" in line and "70,000" in line for line in lines)


@pytest.mark.parametrize("words", [["list", "--json"], ["--json"]])
def test_the_list_as_json(words):
    rows = {row["name"]: row for row in json.loads(run(*words).splitlines()[-1])}
    assert set(rows) == set(DATASETS.names)
    assert rows["digits"]["here"]
    assert rows["mnist"] == {
        "name": "mnist",
        "summary": "handwritten digits 28 x 28",
        "paper": "LeCun et al. 1998",
        "samples": 70_000,
        "built_in": False,
        "here": False,
        "path": None,
        "get": "covey data get mnist",
    }
    assert "LEAF" in rows["celeba"]["get"]


def test_the_list_says_where_a_set_is(home):
    (home / "spoken-digits").mkdir(parents=True)
    (home / "spoken-digits" / "fsdd.tgz").touch()
    rows = {row["name"]: row for row in json.loads(run("--json"))}
    assert rows["spoken-digits"]["path"] == str(home / "spoken-digits")
    assert str(home / "spoken-digits") in run("list").replace("\n", "")


def test_writers_without_their_digits_are_not_here(home):
    (home / "mnist-writers").mkdir(parents=True)
    (home / "mnist-writers" / "qmnist-train-labels-idx2-int.gz").touch()
    rows = {row["name"]: row for row in json.loads(run("--json"))}
    assert not rows["mnist-writers"]["here"]
    assert rows["mnist-writers"]["path"] is None


def test_show_a_set():
    shown = run("show", "digits")
    assert "1 x 8 x 8" in shown
    assert "1,433" in shown


def test_show_a_set_as_json():
    facts = json.loads(run("show", "digits", "--json"))
    assert facts == {
        "name": "digits",
        "what": "handwritten digits 8 x 8",
        "shape": [1, 8, 8],
        "values": "float32",
        "classes": 10,
        "train": 1433,
        "test": 364,
        "owners": None,
    }


def test_show_a_split_and_its_picture(tmp_path):
    words = ["--clients", "12", "--partition", "shards:2", "--edges", "3", "--samples", "50"]
    facts = json.loads(run("show", "digits", *words, "--plot", str(tmp_path / "p.png"), "--json"))
    assert (facts["clients"], facts["edges"], facts["partition"]) == (12, 3, "shards:2")
    assert facts["train_per_client"] == {"min": 40, "median": 40.0, "max": 40}  # four fifths of 50
    assert facts["classes_per_client"]["max"] <= 4
    assert (tmp_path / "p.png").stat().st_size > 5000


def test_errors_are_left_to_the_main_program():
    with pytest.raises(UnknownName, match="did you mean 'mnist'"):
        run("show", "mnits")
    with pytest.raises(BadData, match="covey data get mnist"):
        run("show", "mnist")
    with pytest.raises(BadData, match="celeba cannot be fetched by covey"):
        run("get", "celeba")
    with pytest.raises(BadValue, match="clients is -1"):
        run("show", "digits", "--partition", "iid", "--clients", "-1")


def test_get_what_is_built_in():
    assert run("get", "digits") == "digits: built in\n"


def test_get_fetches_with_a_bar(tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "covey" / "mnist"
    fetched = []

    def fetch(name, remote, *, progress):
        """What pooch does with its bar, and the file it leaves."""
        progress.total = 3
        progress.update(2)
        fetched.append((name, remote.name, progress.total))
        progress.reset()
        progress.update(3)
        progress.close()
        cache.mkdir(parents=True, exist_ok=True)
        (cache / remote.name).touch()

    monkeypatch.setattr("covey.data.datasets.fetch", fetch)
    assert json.loads(run("get", "mnist", "--json")) == {"name": "mnist", "path": str(cache)}
    assert fetched == [("mnist", remote.name, 3) for remote in DATASETS["mnist"].upstream]
    assert run("get", "mnist") == f"mnist: {cache}\n"
    assert len(fetched) == 4


def test_runs_prices_and_comparisons_take_data_of_ones_own(covey, tmp_path):
    rows = [f"q{i},{i % 3 + i % 7 / 10},{'abc'[i % 3]},s{i % 4}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["id,size,species,site", *rows]))
    word = "t.csv:label=species,owner=site,drop=id"
    summary = covey("run", "fedavg", "--data", word, "--rounds", 2, "--mode", "one-by-one", "--json").json
    assert summary["run"] == "fedavg-t-1"
    kept = covey("show", "fedavg-t-1", "--json").json["settings"]
    assert (kept["partition"], kept["clients"]) == ("natural", 0)
    assert covey("price", "fedavg", "--data", word, "--json").json["clients"] == 4
    found = covey("compare", "fedavg", "hierfavg", "--data", word, "--rounds", 2, "--mode", "one-by-one", "--json").json
    assert len(found["rows"]) == 2
    assert covey("data", "show", word, "--json").json["owners"] == 4
    said = covey("data", "show", word, "--partition", "iid", "--clients", 3).out
    assert "data of your own" in said


def test_a_file_may_name_data_but_no_code(covey, tmp_path):
    (tmp_path / "n.csv").write_text("\n".join(["a,label", *(f"{i},{i % 2}" for i in range(20))]))
    (tmp_path / "e.toml").write_text('data = "n.csv:label=label"\nclients = 3\nrounds = 1\n')
    assert covey("run", "e.toml", "--json").json["rounds"] == 1
    (tmp_path / "e.toml").write_text('data = "./mine.py:make"\n')
    assert "only with --allow-code" in covey("run", "e.toml").complaint


def test_data_of_ones_own_may_be_code_that_gives_a_torch_data_set(covey, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "class Coins(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 40\n"
        "    def __getitem__(self, i): return torch.full((2,), float(i % 2)), i % 2\n"
        "def broken(): raise KeyError('lost')\n"
        "nothing = 3\n"
    )
    words = ("--clients", 4, "--rounds", 1, "--mode", "one-by-one", "--json")
    assert covey("run", "fedavg", "--data", "./mine.py:Coins", *words).json["rounds"] == 1
    said = covey("run", "fedavg", "--data", "./mine.py:broken", *words).complaint
    assert said.startswith("data is 'broken'; allowed is code that gives a data set (KeyError: 'lost'")
    assert "allowed is a covey.Dataset" in covey("run", "fedavg", "--data", "./mine.py:nothing", *words).complaint
