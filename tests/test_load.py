"""`covey.load`: a run out of its store."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.narrow import known, samples
from torch import nn

import covey

SMALL: Any = {"clients": 4, "samples": 20, "rounds": 3, "edges": 1, "mode": "one-by-one"}


def test_what_is_loaded_is_what_ran(tmp_path):
    made = covey.run("stars", out=tmp_path, groups=2, **SMALL)
    found = covey.load(made.name, tmp_path)
    assert (found.name, found.summary, found.rounds) == (made.name, made.summary, made.rounds)
    assert found.settings["options"] == {"shape": "stars", "groups": 2}  # with what the preset stands for
    assert sorted(i for members in known(found.groups) for i in members) == [0, 1, 2, 3]
    assert {found.model_of[i] for i in known(found.groups)[1]} == {1}
    assert list(found.frame().index) == [1, 2, 3]
    weights = found.state_dict(model=1)
    flat = torch.cat([tensor.reshape(-1) for tensor in weights.values()])
    assert torch.equal(flat, made.models[1])


def test_evaluated_on_samples_of_ones_own(tmp_path):
    made = covey.run("fedavg", out=tmp_path, **SMALL)
    found = covey.load(made.name, tmp_path)
    data = samples(covey.Fleet.load("digits", clients=4))
    scores = found.evaluate(data.test_x, data.test_y)
    assert scores["accuracy"] == pytest.approx(made.accuracy, abs=1e-6)
    assert scores["loss"] == pytest.approx(made.summary["loss"], rel=1e-4)
    as_doubles = found.evaluate(data.test_x.astype(np.float64), data.test_y.tolist())
    assert as_doubles["accuracy"] == scores["accuracy"]
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    assert found.evaluate(data.test_x, data.test_y, module=module)["accuracy"] == scores["accuracy"]
    with pytest.raises(covey.BadValue, match="y is '2 labels'; allowed is one for each of 3 samples"):
        found.evaluate(data.test_x[:3], data.test_y[:2])


def test_a_run_that_is_not_over(tmp_path):
    class Killed(BaseException):
        pass

    def kill(report):
        if report.metrics["round"] == 2:
            raise Killed

    with pytest.raises(Killed):
        covey.run("fedavg", out=tmp_path, callbacks=[kill], **SMALL)
    found = covey.load("fedavg-digits-1", tmp_path)
    assert (found.summary["status"], found.summary["rounds"]) == ("interrupted", 1)
    assert found.accuracy == found.rounds[-1]["accuracy"]


def test_a_run_that_is_not_there(tmp_path):
    with pytest.raises(covey.BadValue, match="run is 'x'"):
        covey.load("x", tmp_path)
