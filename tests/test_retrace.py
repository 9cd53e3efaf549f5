from typing import Any

import numpy as np
import pytest
from tests.tiny import random_fleet, small_network

import covey
from covey.retrace import retrace
from covey.store import Store

SMALL: dict[str, Any] = {"clients": 6, "samples": 20, "rounds": 3, "mode": "one-by-one", "network": "star"}


@pytest.mark.parametrize(
    ("algorithm", "options"), [("fedgsp", {"beta": 2}), ("ihc-fl", {}), ("fedavg", {"sample": 0.5})]
)
def test_the_plan_is_the_one_that_comes_next(tmp_path, algorithm, options):
    run = covey.run(algorithm, out=tmp_path, **SMALL, **options)
    with Store(tmp_path, read_only=True) as store:
        story = retrace(store, run.name)
    plans = []
    covey.experiment.life.resume(run.name, tmp_path, [lambda report: plans.append(report.plan)], rounds=4)
    assert [story.plan] == plans
    assert story.plan_round == 4
    assert story.price is not None
    assert story.own is not None
    assert story.labels is not None
    assert story.price.seconds > 0
    assert np.nanmean(story.own) == pytest.approx(run.summary["own_accuracy"])
    assert (
        story.labels.sum()
        == covey.load_fleet("digits", clients=6, samples=20, partition="dirichlet:0.1", edges=5).labels.sum()
    )
    assert story.versions[0].startswith(f"covey {covey.__version__}, Python 3")
    assert (story.groups is not None) == (algorithm == "ihc-fl")  # the others have one group so far


def test_what_cannot_be_made_again_is_told_with_its_reason(tmp_path):
    fleet, module = random_fleet([4, 4, 4]), small_network()
    run = covey.run("fedavg", fleet, model=module, out=tmp_path, rounds=2, mode="one-by-one")
    with Store(tmp_path, read_only=True) as store:
        story = retrace(store, run.name)
    assert set(story.missing) == {"labels", "groups", "plan", "network", "own"}
    assert "fleet is 'one of your own'" in story.missing["plan"]
    assert len(story.rounds) == 2


def test_a_run_without_a_network_says_so(tmp_path):
    run = covey.run("fedavg", out=tmp_path, **{**SMALL, "network": None})
    with Store(tmp_path, read_only=True) as store:
        story = retrace(store, run.name)
    assert "not timed on a network" in story.missing["network"]
    assert story.missing["groups"] == "all clients train as one: there are no groups"


def test_epochs_are_counted(tmp_path):
    run = covey.run("fedavg", out=tmp_path, **{**SMALL, "epochs": 2, "network": None})
    assert [row["epochs"] for row in run.rounds] == [2.0, 4.0, 6.0]
