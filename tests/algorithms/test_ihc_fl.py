import numpy as np
import torch
from tests.algorithms.tiny import close, fleet_of, mean, run, step

from covey.algorithms import IHCFL, FedAvg
from covey.algorithms.base import Outcome
from covey.algorithms.ihc_fl import _costs
from covey.experiment import Experiment
from covey.plan import Mesh, clients

P, Q = (1.0, 0), (2.0, 1)
STATE = {"clusters": [[2, 0], [1, 3], [5, 4]], "links": [[0, 1], [1, 2]], "dead": []}


def six():
    return fleet_of([P], [Q, Q], [P], [Q], [P], [Q])


class Given(IHCFL):
    """IHC-FL whose clusters are given."""

    def _form(self, outcome, rng):
        outcome.models = outcome.models[:1] * 3
        return STATE


def test_stage_2_by_hand():
    # clusters {2, 0}, {1, 3}, {5, 4} linked in a line: a cluster averages by samples, heads mix uniformly
    fleet = six()
    progress = run(Given(), fleet, rounds=2)
    start = step((0, 0), P)  # models[0] of stage 1 is client 0's
    a = mean((1, step(start, P)), (1, step(start, P)))
    b = mean((2, step(start, Q, Q)), (1, step(start, Q)))
    c = mean((1, step(start, Q)), (1, step(start, P)))
    assert close(progress.models[0], mean((1, a), (1, b)))
    assert close(progress.models[1], mean((1, a), (1, b), (1, c)))
    assert close(progress.models[2], mean((1, b), (1, c)))
    assert progress.home.tolist() == [0, 1, 0, 1, 2, 2]


def test_stage_1_by_hand():
    # everybody trains the initial model alone; a cluster goes on from its members' mean
    fleet = fleet_of([P], [Q], [P], [Q])
    progress = run(IHCFL(), fleet)
    for k, model in enumerate(progress.models):
        members = np.flatnonzero(progress.home == k)
        assert close(model, mean(*((1, step((0, 0), (P, Q)[i % 2])) for i in members)))
    # the platform sends 4 models, gets 4 and gives every head one
    assert progress.traffic == {("cloud", "client"): 4 + len(progress.models), ("client", "cloud"): 4}


def test_one_cluster_is_fedavg():
    settings = {"data": "digits", "clients": 6, "samples": 30, "model": "softmax-regression", "rounds": 3}
    models = []
    for algorithm in (IHCFL(heads=1), FedAvg()):
        loop = Experiment.make({**settings, "partition": "iid", "mode": "stacked"}).make_loop(algorithm=algorithm)
        progress = loop.begin()
        loop.go(progress)
        models.append(progress.models)
    assert len(models[0]) == 1
    assert torch.allclose(models[0][0], models[1][0], atol=1e-6)


def outcome(round, lost=()):
    reasons = [(i, "gone") for i in lost]
    return Outcome(round, six(), [torch.zeros(2)] * 3, [], np.zeros(6, np.int64), lost=reasons)


def test_a_head_that_dies_is_replaced_by_the_next_best():
    algorithm = IHCFL(kill=(4,))
    state = {"clusters": [[2, 0, 3], [1], [5, 4]], "links": [[0, 1], [1, 2]], "dead": []}
    state = algorithm.learn(state, outcome(3), np.random.default_rng(0))
    assert state["dead"] == [2]
    assert state["clusters"][0] == [0, 3, 2]
    plan = algorithm.plan(4, six(), state, np.random.default_rng(0))
    assert isinstance(plan, Mesh)
    assert str(plan.children[0].at) == "client 0"
    assert clients(plan) == {0, 1, 3, 4, 5}


def test_a_head_that_does_not_answer_steps_back():
    state = IHCFL().learn(STATE, outcome(2, lost=[1, 4]), np.random.default_rng(0))
    assert state["clusters"] == [[2, 0], [3, 1], [5, 4]]
    assert state["dead"] == []
    plan = IHCFL().plan(3, six(), state, np.random.default_rng(0))
    assert str(plan.children[1].at) == "client 3"
    assert clients(plan) == {0, 1, 2, 3, 4, 5}


def test_a_run_goes_on_after_its_heads_have_died():
    settings = {"data": "digits", "clients": 12, "partition": "dirichlet:0.3", "samples": 60, "rounds": 6}
    settings |= {"model": "softmax-regression", "mode": "stacked"}
    scores = {}
    for kill in ((), (3, 4, 5)):
        loop = Experiment.make(settings).make_loop(algorithm=IHCFL(kill=kill))
        progress = loop.begin()
        scores[kill] = loop.go(progress)["own_accuracy"]
        assert len(progress.state["dead"]) == len(kill)
    assert scores[(3, 4, 5)] > scores[()] - 0.1


def test_costs_are_symmetric_and_similar_clients_are_cheaper():
    similar = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    drawn = np.stack([_costs(similar, np.random.default_rng(seed)) for seed in range(200)])
    assert (drawn == drawn.transpose(0, 2, 1)).all()
    assert (drawn[:, 0, 0] == 0).all()
    assert drawn[:, 0, 1].min() >= 1
    assert 1.45 < drawn[:, 0, 1].max() <= 1.5
    assert 1.9 < drawn[:, 0, 2].max() <= 2


def test_alone():
    progress = run(IHCFL(), fleet_of([P]), rounds=2)
    assert close(progress.models[0], step(step((0, 0), P), P))
