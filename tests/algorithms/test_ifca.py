import numpy as np
import torch
from tests.algorithms.tiny import close, fleet_of, mean, run, step

from covey.algorithms import IFCA, FedAvg
from covey.algorithms.base import Outcome
from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.plan import clients

P, Q = (1.0, 0), (2.0, 1)


def test_rounds_by_hand():
    # all models of a zero initialisation are alike, so everybody picks the first; its mean is unweighted: P counts as
    # much as (Q, Q). From (0, 0) P gives (.5, -.5) and Q gives (-1, 1): the mean is (-.25, .25).
    fleet = fleet_of([P], [Q, Q])
    progress = run(IFCA(k=2), fleet)
    assert close(progress.models[0], (-0.25, 0.25))
    assert close(progress.models[1], (0, 0))
    # now P loses less with (0, 0) and Q with (-.25, .25)
    assert progress.home.tolist() == [1, 0]
    progress = run(IFCA(k=2), fleet, rounds=2)
    assert close(progress.models[0], step((-0.25, 0.25), Q, Q))
    assert close(progress.models[1], step((0, 0), P))
    # 2 rounds, 2 clients: a client gets both models and sends one
    assert progress.traffic[("cloud", "client")] == 2 * 2 * 2
    assert progress.traffic[("client", "cloud")] == 2 * 2


def test_an_empty_cluster_keeps_its_model():
    fleet = fleet_of([P], [P])
    progress = run(IFCA(k=3), fleet, rounds=3)
    assert close(progress.models[1], (0, 0))
    assert close(progress.models[2], (0, 0))


def test_one_model_is_fedavg():
    settings = {"data": "digits", "clients": 6, "samples": 30, "model": "softmax-regression", "rounds": 2}
    fingerprints = []
    for algorithm in (IFCA(k=1, weighted=True), FedAvg()):
        loop = assemble(Experiment.make({**settings, "mode": "stacked"}), algorithm=algorithm)
        fingerprints.append(loop.go(loop.begin())["model_sha256"])
    assert fingerprints[0] == fingerprints[1]


def test_unweighted_unless_told():
    fleet = fleet_of([P], [Q, Q])
    progress = run(IFCA(k=1, weighted=True), fleet)
    assert close(progress.models[0], mean((1, step((0, 0), P)), (2, step((0, 0), Q, Q))))


def test_first_models_differ_and_hold_the_same_values():
    settings = {"data": "digits", "clients": 4, "model": "softmax-regression", "mode": "one-by-one"}
    loop = assemble(Experiment.make({**settings, "algorithm": "ifca", "k": 3}))
    progress = loop.begin()
    first, *others = progress.models
    assert len(others) == 2
    for other in others:
        assert not other.equal(first)
        weights, bias = other[:640], other[640:]
        assert weights.sort().values.equal(first[:640].sort().values)
        assert bias.sort().values.equal(first[640:].sort().values)


def test_a_model_that_blew_up_is_not_picked():
    class Asked:
        def losses(self, models, clients):
            return np.array([[np.nan, 2.0], [1.0, 3.0]])

        def gradients(self, model, clients):
            raise NotImplementedError("IFCA asks for losses only")

    outcome = Outcome(1, fleet_of([P], [Q]), [torch.zeros(2)] * 2, [], np.zeros(2, np.int64), asked=Asked())
    assert IFCA(k=2).learn({}, outcome, np.random.default_rng(0)) == {"pick": [1, 0]}


def test_a_sample_trains_the_models_it_picked():
    fleet = fleet_of([P], [Q], [P], [Q])
    algorithm, state = IFCA(k=3, sample=0.25), {"pick": [2, 1, 2, 1]}
    for seed in range(8):
        plan = algorithm.plan(1, fleet, state, np.random.default_rng(seed))
        ((i,),) = [sorted(clients(child)) for child in plan.children]
        assert plan.slots == (state["pick"][i],)
