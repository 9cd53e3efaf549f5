import tomllib

import pytest
import torch

from covey.execute.choose import Way
from covey.experiment import Experiment
from covey.tune import tune

FLEET = ("--clients", "12", "--samples", "20", "--rounds", "2")


def test_every_way_is_timed_and_the_fastest_can_be_kept(covey, tmp_path):
    found = covey("tune", "fedavg", *FLEET, "--set", "sample=1.0", "--no-compiled", "--to", "tuned.toml", "--json").json
    assert [(way["mode"], way["chunk"]) for way in sorted(found["ways"], key=lambda way: way["chunk"])] == [
        ("one-by-one", 1),
        ("stacked", 8),
        ("stacked", 12),
    ]
    assert found["clients"] == 12
    speeds = [way["microseconds"] for way in found["ways"]]
    assert speeds == sorted(speeds)
    assert found["best"] == {key: found["ways"][0][key] for key in ("mode", "chunk", "workers")}
    assert found["rule"]["mode"] == "one-by-one"  # two rounds are over before a step is traced
    kept = tomllib.loads((tmp_path / "tuned.toml").read_text())
    assert kept["mode"] == found["best"]["mode"]
    assert (kept["clients"], kept["samples"], kept["rounds"], kept["sample"]) == (12, 20, 2, 1.0)
    run = covey("run", "tuned.toml", "--json").json
    assert run["rounds"] == 2


def test_a_table_says_what_the_rule_takes(covey):
    said = covey("tune", "fedavg", *FLEET, "--no-compiled")
    assert said.code == 0
    assert "one by one" in said.out
    assert "a run of 2 rounds takes: one by one (by a rule" in said.out


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's compiler against torch itself
def test_compiled_stacks_and_workers(monkeypatch):
    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda line, **given: compile_(line, **given, backend="aot_eager"))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    said: list[str] = []
    wanted = Experiment.make({"clients": 4, "samples": 20, "rounds": 10**6, "sample": 1.0})
    found = tune(wanted, say=said.append)
    assert said == ["one by one", "one by one, 2 at once", "stacks of 4", "stacks of 4, compiled"]
    assert found.rule == Way("stacked", 4)
    assert found.steps == sum(-(-16 // 10) for _ in range(4))  # a fifth of 20 samples is for tests


def test_a_model_that_does_not_stack_is_trained_one_by_one(tmp_path):
    wanted = Experiment.make({"algorithm": "ring", "clients": 3, "samples": 20, "rounds": 1})
    assert [one.way for one in tune(wanted).ways] == [Way("one-by-one")]  # a ring's wave is one client


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--set", "mode=stacked"], "set is 'mode'; allowed is a setting that tune does not decide itself"),
        (["--to", "x.json"], "to is 'x.json'; allowed is a file that ends in .toml"),
        (["--set", "nope=1"], "setting is 'nope'"),
    ],
)
def test_what_cannot_be_tuned(covey, words, sentence):
    assert covey("tune", "fedavg", *words).complaint.startswith(sentence)


@pytest.mark.parametrize("mode", ["auto", "one-by-one"])
def test_a_stack_where_nobody_is_stacked_is_refused(covey, mode):
    said = covey("run", "fedavg", "--mode", mode, "--stack", 4)
    assert said.complaint == f"stack is 4; allowed is none with mode {mode}; set mode to stacked or compiled"


def test_a_stack_of_a_given_size(covey):
    words = ("run", "fedavg", *FLEET, "--set", "sample=1.0", "--mode", "stacked", "--json")
    whole, halves = covey(*words).json, covey(*words, "--stack", 6).json
    assert halves["accuracy"] == pytest.approx(whole["accuracy"], abs=0.02)
