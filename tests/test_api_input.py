"""What covey.run and what it gives refuse, in one sentence each."""

from typing import Any

import pytest
from tests.tiny import random_fleet
from torch import nn

import covey
from covey.errors import BadValue

FLEET = random_fleet([6, 9, 12, 8])
QUICK: Any = {"rounds": 1, "batch": 4, "mode": "one-by-one"}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("data", "digits"), ("clients", 3), ("partition", "iid"), ("edges", 2), ("samples", 5), ("test_fraction", 0.5)],
)
def test_settings_that_a_given_fleet_makes_idle(setting, value):
    with pytest.raises(BadValue, match=f"{setting} is .*; allowed is left out beside a fleet, which has its own"):
        covey.run("fedavg", FLEET, model="softmax-regression", **QUICK, **{setting: value})


@pytest.mark.parametrize(
    ("algorithm", "more", "sentence"),
    [
        (None, {}, "algorithm is None; allowed is a name, an Experiment, or an Algorithm"),
        (covey.FedAvg, {}, "algorithm is <class .*FedAvg'>; allowed is a name, an Experiment, or an Algorithm"),
        (("fedavg",), {}, "algorithm is"),
        ("fedavg", {"model": nn.Linear}, "model is <class .*Linear'>; allowed is a name, or a torch.nn.Module"),
        ("fedavg", {"model": 3}, "model is 3"),
        (covey.FedAvg(), {"sample": 0.5}, "setting is 'sample'; allowed is one of"),
    ],
)
def test_objects_that_are_none_of_what_run_takes(algorithm, more, sentence):
    with pytest.raises(BadValue, match=sentence):
        covey.run(algorithm, FLEET, **QUICK, **more)


@pytest.mark.parametrize("fleet", [3, "digits", (FLEET,), [[1, 2]]])
def test_a_fleet_that_is_none(fleet):
    with pytest.raises(BadValue, match=r"fleet is .*; allowed is a covey\.Fleet"):
        covey.run("fedavg", fleet, **QUICK)


def test_weights_go_only_into_a_module_they_fit():
    done = covey.run("fedavg", FLEET, model="softmax-regression", **QUICK)
    fits = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    assert done.load_into(fits) is fits
    with pytest.raises(BadValue, match="module is 'Linear of 10 numbers'; allowed is one of 15, as the run's model is"):
        done.load_into(nn.Linear(4, 2))  # 4 x 2 + 2; the run's has 4 x 3 + 3
    not_modules: list[Any] = [None, nn.Linear, "2nn"]
    for wrong in not_modules:
        with pytest.raises(BadValue, match=r"module is .*; allowed is a torch\.nn\.Module"):
            done.load_into(wrong)
    not_models: list[Any] = [1, -1, "0"]
    for number in not_models:
        with pytest.raises(BadValue, match=r"model is .*; allowed is a number from 0 to 0, the models of the run"):
            done.load_into(fits, number)
