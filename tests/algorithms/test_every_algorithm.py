"""Registering an algorithm enrols it here: it runs, resumes to the bit, repeats itself, counts what it sends."""

import numpy as np
import pytest

from covey.algorithms import ALGORITHMS, make_algorithm
from covey.checkpoint import Checkpoint, fingerprint
from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.plan import check, trainings

SMALL = {
    "data": "digits",
    "clients": 12,
    "partition": "dirichlet:0.3",
    "edges": 3,
    "samples": 40,
    "model": "softmax-regression",
    "rounds": 3,
    "batch": 20,
    "mode": "stacked",
}
# settings with which a small fleet and three rounds show what the algorithm does
OPTIONS = {
    "cfl": {"after": 1, "eps1": 10.0, "eps2": 0.0},
    "fl-hc": {"after": 1},
    "hfl": {"after": 1, "global_every": 2},
    "ihc-fl": {"kill": (3,)},
    **{entry.name: {"tau1": 1} for entry in ALGORITHMS if entry.name.startswith("tornado")},  # Table 4's 10 take long
}
NAMES = [entry.name for entry in ALGORITHMS]


@pytest.fixture(scope="module")
def fleet():
    return make_fleet(Experiment.make(SMALL))


def loop_of(name, fleet, **more):
    return assemble(
        Experiment.make({**SMALL, **more, "algorithm": name, "options": OPTIONS.get(name, {})}), fleet=fleet
    )


@pytest.fixture(scope="module")
def runs(fleet):
    """The summary and the plans of three rounds, run once an algorithm."""
    done = {}

    def run(name):
        if name not in done:
            plans = []
            loop = loop_of(name, fleet)
            progress = loop.begin()
            summary = loop.go(progress, [lambda report: plans.append(report.plan)])
            done[name] = summary, plans, progress
        return done[name]

    return run


@pytest.mark.parametrize("name", NAMES)
def test_runs_and_counts(name, runs, fleet):
    summary, plans, progress = runs(name)
    assert summary["rounds"] == 3
    assert summary["traffic_bytes"] > 0
    assert summary["trainings"] == sum(map(trainings, plans))
    assert 0 <= summary["accuracy"] <= 1
    assert 0 <= summary["own_accuracy"] <= 1
    for plan in plans:
        check(plan, fleet.clients)
    assert set(progress.home.tolist()) <= set(range(len(progress.models)))
    assert all(np.isfinite(model.numpy()).all() for model in progress.models)


@pytest.mark.parametrize("name", NAMES)
def test_resumes_to_the_bit_and_repeats_itself(name, runs, fleet, tmp_path):
    loop, path = loop_of(name, fleet), tmp_path / "checkpoint"
    progress = loop.begin()

    def save_round_2(report):
        if report.metrics["round"] == 2:
            path.write_bytes(Checkpoint(loop.checkpoint(progress)).encode())

    assert loop.go(progress, [save_round_2])["model_sha256"] == runs(name)[0]["model_sha256"]
    again = loop_of(name, fleet)
    restored = again.restore(Checkpoint.load(path).data)
    summary = again.go(restored)
    straight = runs(name)[0]
    assert summary["model_sha256"] == straight["model_sha256"] == fingerprint(restored.models)
    assert summary["traffic"] == straight["traffic"]


@pytest.mark.parametrize("name", NAMES)
def test_another_seed_is_another_model(name, fleet):
    loops = [loop_of(name, fleet, seed=seed, rounds=1, mode="one-by-one") for seed in (0, 1)]
    one, other = (loop.go(loop.begin())["model_sha256"] for loop in loops)
    assert one != other


@pytest.mark.parametrize("name", NAMES)
def test_goes_on_when_clients_drop_out(name, fleet):
    loop = loop_of(name, fleet, dropout=0.4, rounds=2, mode="one-by-one")
    summary = loop.go(loop.begin())
    assert np.isfinite(summary["loss"])


@pytest.mark.parametrize("name", NAMES)
def test_says_what_it_is(name):
    entry = ALGORITHMS.entry(name)
    assert entry.summary.endswith(".")
    assert entry.paper
    assert make_algorithm(name) == make_algorithm(name, {})
    for field in entry.thing.__dataclass_fields__.values():
        assert field.kw_only
