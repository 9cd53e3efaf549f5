import json

import pytest
from tests.cli.conftest import SMALL

from covey.cli.options import parse_set
from covey.errors import BadValue
from covey.store import Store

KEYS = {"run", "algorithm", "rounds", "accuracy", "loss", "traffic_bytes", "wall_seconds", "model_sha256"}


def test_the_last_line_is_one_json_object(small):
    found = small("fedavg", "--json").json
    assert found.keys() >= KEYS
    assert (found["run"], found["algorithm"], found["rounds"]) == ("fedavg-digits-1", "fedavg", 3)
    assert 0 <= found["accuracy"] <= 1
    assert len(found["model_sha256"]) == 64
    # 8 x 8 pixels and a bias for 10 classes, 4 clients, both ways, 3 rounds
    assert found["traffic_bytes"] == 65 * 10 * 4 * 4 * 2 * 3


def test_for_a_person(small):
    said = small("stars", "--set", "groups=2")
    first, second, third = said.out.splitlines()
    assert first.startswith("stars-digits-1  3 rounds  accuracy 0.")
    assert "clients' own accuracy 0." in first
    assert second.startswith("traffic 62.4 kB  time ")
    assert third == "more: covey show stars-digits-1"
    assert said.err == ""
    assert "\x1b" not in said.out


def test_options_settings_and_a_file(covey, tmp_path):
    (tmp_path / "mine.toml").write_text('algorithm = "star-rings"\nrounds = 9\nclients = 4\ngroups = 3\nsamples = 20\n')
    said = covey("run", "mine.toml", *SMALL[4:], "--set", "groups=2", "--set", "seed=3", "--out", "here", "--json")
    assert said.json["rounds"] == 3
    with Store(tmp_path / "here") as store:
        config = store.get(said.json["run"]).config
    assert (config["clients"], config["seed"], config["options"]) == (4, 3, {"shape": "star-rings", "groups": 2})


def test_a_file_that_is_named_like_an_algorithm_is_not_in_its_way(covey, small, tmp_path):
    (tmp_path / "fedavg").write_text("this is no experiment")
    assert small("fedavg").code == 0
    (tmp_path / "mine").write_text('algorithm = "ring"')
    assert covey("run", "mine", *SMALL, "--json").json["algorithm"] == "ring"


def test_resuming(covey, small):
    first = small("fedavg", "--json").json
    assert covey("resume", first["run"], "--json").json == first
    assert covey("resume").complaint.startswith("the store in runs has no unfinished run")
    assert covey("resume", "fedavg-digits-2").complaint.endswith(
        "one of fedavg-digits-1 (did you mean 'fedavg-digits-1'?)"
    )


def test_the_store_may_be_named_in_the_environment(small, monkeypatch, tmp_path):
    monkeypatch.setenv("COVEY_RUNS", str(tmp_path / "elsewhere"))
    small("fedavg")
    assert (tmp_path / "elsewhere" / "covey.db").exists()
    assert not (tmp_path / "runs").exists()


def test_a_model_of_ones_own(covey, tmp_path):
    (tmp_path / "my_net.py").write_text(
        "from torch import nn\n\n"
        "class Net(nn.Sequential):\n"
        "    def __init__(self, shape, classes):\n"
        "        super().__init__(nn.Flatten(), nn.Linear(64, classes))\n"
    )
    said = covey("run", "fedavg", *SMALL, "--model", "my_net:Net", "--json")
    assert said.json["traffic_bytes"] == 65 * 10 * 4 * 4 * 2 * 3


def test_settings_from_text():
    given = [
        "rounds=3",
        "lr=0.5",
        "partition=dirichlet:0.1",
        "model=2nn",
        "flag=true",
        "list=[1, 2]",
        "text=a=b",
        "tau-2=5",
    ]
    assert parse_set(given) == {
        "rounds": 3,
        "lr": 0.5,
        "partition": "dirichlet:0.1",
        "model": "2nn",
        "flag": True,
        "list": [1, 2],
        "text": "a=b",
        "tau_2": 5,
    }
    assert parse_set(None) == {}
    with pytest.raises(BadValue, match="set is 'rounds'; allowed is key=value"):
        parse_set(["rounds"])


def test_numbers_that_are_none_are_left_out_for_a_person_and_null_for_a_program(small, monkeypatch):
    from covey.execute.evaluate import LocalEvaluator, Scores

    monkeypatch.setattr(LocalEvaluator, "scores", lambda *_: Scores(0.5, float("inf"), float("nan")))
    found = json.loads(small("fedavg", "--json").out)
    assert (found["accuracy"], found["loss"]) == (0.5, None)
    assert "loss" not in small("fedavg").out


def test_set_comes_before_an_option_and_an_option_before_the_file(covey, tmp_path):
    (tmp_path / "mine.toml").write_text("algorithm = 'fedavg'\nrounds = 3\nclients = 4\nsamples = 20\nlr = 0.5\n")
    words = ("run", "mine.toml", "--model", "softmax-regression", "--mode", "one-by-one", "--json")
    assert covey(*words).json["rounds"] == 3
    assert covey(*words, "--rounds", "2").json["rounds"] == 2
    assert covey(*words, "--rounds", "2", "--set", "rounds=1").json["rounds"] == 1
    assert covey(*words, "--set", "rounds=1", "--rounds", "2").json["rounds"] == 1
