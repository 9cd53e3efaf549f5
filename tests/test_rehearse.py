"""A rehearsal has the rounds of the run."""

import numpy as np
import pytest
from tests.fakes import small_fleet

from covey.errors import BadValue
from covey.execute.effects import Answer
from covey.execute.walk import Brief, walk
from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.plan import Train
from covey.rehearse import Rehearsal, rehearse

SETTINGS = {"clients": 6, "rounds": 3, "network": "star", "model": "softmax-regression", "mode": "one-by-one"}


@pytest.mark.parametrize("algorithm", ["fedavg", "fedgsp", "star-rings", "group-fel", "ring"])
def test_plans_that_do_not_depend_on_training_cost_what_the_run_does(algorithm):
    experiment = Experiment.make({"algorithm": algorithm, "dropout": 0.2, **SETTINGS})
    loop = assemble(experiment)
    summary = loop.go(loop.begin())
    prices = rehearse(experiment).prices
    assert sum(cost.seconds for cost in prices) == pytest.approx(summary["simulated_seconds"])
    assert sum(cost.joules for cost in prices) == pytest.approx(summary["joules"])
    assert sum(cost.bytes for cost in prices) == pytest.approx(summary["traffic_bytes"])


def test_a_stand_in_for_training_is_one_gradient_step():
    fleet = small_fleet([3, 2])
    settings = {"algorithm": "cfl", "lr": 0.5, "model": "softmax-regression", "rounds": 1, "network": "star"}
    loop = assemble(Experiment.make(settings), fleet=fleet, backend=Rehearsal(steps=True))
    model = loop.layout.initial()
    seen: list[Answer] = []
    brief = Brief(rate=0.5)
    walk(Train(1), [model], [3, 2], loop.executor, brief=brief, observe=lambda _, got: seen.append(got))
    step = 0.5 * loop.evaluator.gradients(model, [1])[0]
    assert np.allclose(seen[0].model.numpy(), model.numpy() - step, atol=1e-6)


def test_a_rehearsal_needs_a_network():
    with pytest.raises(BadValue, match="network is None; allowed is a network such as"):
        rehearse(Experiment.make({**SETTINGS, "network": None}))


def test_the_clock_of_a_run_that_was_resumed_goes_on(tmp_path):
    from covey.experiment.life import resume, start

    def stop(report):
        if report.metrics["round"] == 2:
            raise KeyboardInterrupt

    experiment = Experiment.make({**SETTINGS, "algorithm": "fedgsp", "windows": 2, "day": 0.01})
    _, whole = start(experiment, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        start(experiment, tmp_path / "killed", [stop])
    _, resumed = resume(None, tmp_path / "killed")
    assert resumed["simulated_seconds"] == whole["simulated_seconds"]
    assert resumed["joules"] == whole["joules"]
