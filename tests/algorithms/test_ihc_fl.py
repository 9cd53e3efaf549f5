from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.algorithms.tiny import Two, close, fleet_of, mean, run, step
from tests.narrow import a, known

from covey.algorithms import IHCFL, FedAvg, make_algorithm
from covey.algorithms.base import Outcome, State
from covey.algorithms.ihc_fl import _line
from covey.errors import BadValue, RunFailed
from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.grouping import group
from covey.plan import Forest, Mesh, Star, Train, client, clients, transfers

P, Q = (1.0, 0), (2.0, 1)
STATE = {"clusters": [[2, 0], [1, 3], [5, 4]], "links": [[0, 1], [1, 2]], "dead": []}


def six():
    return fleet_of([P], [Q, Q], [P], [Q], [P], [Q])


class Given(IHCFL):
    """IHC-FL whose clusters are given."""

    def _form(self, outcome, rng):
        outcome.models, outcome.home = outcome.models[:1] * 3, np.array([0, 1, 0, 1, 2, 2])
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
        loop = assemble(Experiment.make({**settings, "partition": "iid", "mode": "stacked"}), algorithm=algorithm)
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
    state: State = {"clusters": [[2, 0, 3], [1], [5, 4]], "links": [[0, 1], [1, 2]], "dead": []}
    state = algorithm.learn(state, outcome(3), np.random.default_rng(0))
    assert state["dead"] == [2]
    assert state["clusters"][0] == [0, 3, 2]
    plan = algorithm.plan(4, six(), state, np.random.default_rng(0))
    assert isinstance(plan, Mesh)
    assert str(a(Star, plan.children[0]).at) == "client 0"
    assert clients(plan) == {0, 1, 3, 4, 5}


def killed(algorithm, state, rounds):
    """The state before every one of these rounds."""
    states = []
    for round in rounds:
        state = algorithm.learn(state, outcome(round - 1), np.random.default_rng(0))
        states.append(state)
    return states


def test_the_dead_do_not_count_and_nobody_dies_twice():
    # sizes 3, 2, 1: first the head of the first cluster, whose two others tie with the second cluster; then 0, 5, 3 …
    state = {"clusters": [[2, 0, 3], [5, 4], [1]], "links": [[0, 1], [1, 2]], "dead": []}
    dead = [s["dead"] for s in killed(IHCFL(kill=(3, 4, 5, 6, 7, 8)), state, range(3, 9))]
    assert dead[0] == [2]
    assert dead[1] in ([2, 0], [2, 5])
    assert dead[2] == [2, 0, 5]
    assert sorted(dead[-1]) == [0, 1, 2, 3, 4, 5]


def test_two_heads_may_die_at_once():
    state = {"clusters": [[2, 0, 3], [5, 4], [1]], "links": [[0, 1], [1, 2]], "dead": []}
    assert len(killed(IHCFL(kill=(3, 3)), state, [3])[0]["dead"]) == 2


def test_when_all_are_dead_the_run_ends_and_says_so():
    loop = assemble(
        Experiment.make({"rounds": 6, "mode": "one-by-one", "batch": 0}),
        algorithm=IHCFL(kill=(2, 3, 4, 5)),
        fleet=fleet_of([P], [Q], [P]),
        module=Two(),
    )
    progress = loop.begin()
    with pytest.raises(RunFailed, match=r"round 4: all 3 clients have died \(kill\); nobody is left to train"):
        loop.go(progress)
    assert progress.trainings == 3 + 2 + 1
    with pytest.raises(BadValue, match=r"kill\.0 is 1; allowed is a number greater than or equal to 2"):
        make_algorithm("ihc-fl", {"kill": [1]})


def test_members_lead_in_the_order_of_their_costs():
    # head 4; sums of costs to the others: 0 pays 1 + 2 + 9 = 12, 1 pays 1 + 1 + 9 = 11, 2 pays 2 + 1 + 1 = 4
    costs = np.zeros((5, 5))
    for i, j, cost in ((0, 1, 1.0), (0, 2, 2.0), (1, 2, 1.0), (0, 4, 9.0), (1, 4, 9.0), (2, 4, 1.0), (3, 2, 50.0)):
        costs[i, j] = costs[j, i] = cost
    assert _line(4, [0, 1, 2, 4], costs) == [4, 2, 1, 0]


def test_the_settings_of_the_grouping_reach_it(monkeypatch):
    asked = []

    def noted(name, labels, **given):
        asked.append(given)
        return group(name, labels, **given)

    monkeypatch.setattr("covey.algorithms.ihc_fl.group", noted)
    settings: Any = {"epsilon": 0.9, "between": "heads", "degree": 3, "method": "search"}
    run(IHCFL(**settings, ratio=2.0, heads=2), six())
    assert {name: asked[0][name] for name in settings} == settings
    assert (asked[0]["gamma"], asked[0]["groups"]) == (1.8, 2)
    assert asked[0]["sizes"].tolist() == [1, 2, 1, 1, 1, 1]
    table = 3 - 3 * np.eye(6)
    run(IHCFL(), replace(six(), distances=table))
    assert (asked.pop()["distances"] == table).all()
    run(IHCFL(), six())
    # P and Q pull in opposite directions, and everybody has an alike: epsilon, and so gamma, are 0
    assert (asked[1]["epsilon"], asked[1]["between"], asked[1]["groups"]) == (None, "clusters", None)
    assert asked[1]["gamma"] == pytest.approx(0)


def test_more_heads_than_clients_are_refused_before_training():
    with pytest.raises(BadValue, match="heads is 7; allowed is at most the 6 clients"):
        run(IHCFL(heads=7), six())


def test_a_head_that_does_not_answer_steps_back():
    state = IHCFL().learn(STATE, outcome(2, lost=[1, 4]), np.random.default_rng(0))
    assert state["clusters"] == [[2, 0], [3, 1], [5, 4]]
    assert state["dead"] == []
    plan = IHCFL().plan(3, six(), state, np.random.default_rng(0))
    assert str(a(Star, plan.children[1]).at) == "client 3"
    assert clients(plan) == {0, 1, 2, 3, 4, 5}


def test_a_run_goes_on_after_its_heads_have_died():
    settings = {"data": "digits", "clients": 12, "partition": "dirichlet:0.3", "samples": 60, "rounds": 6}
    settings |= {"model": "softmax-regression", "mode": "stacked"}
    loop = assemble(Experiment.make(settings), algorithm=IHCFL(kill=(3, 4, 5)))
    progress = loop.begin()
    scores = loop.go(progress)
    assert len(set(progress.state["dead"])) == 3
    assert scores["trainings"] == 12 + 12 + 11 + 10 + 9 + 9
    assert scores["own_accuracy"] > 0.25  # one of ten classes


def test_what_is_sent_is_what_the_plans_say_and_stage_1():
    # stage 1: 6 models down, 6 up and one to every head; then nothing but what the plans send
    settings = {"rounds": 3, "mode": "one-by-one", "batch": 0}
    loop = assemble(Experiment.make(settings), algorithm=IHCFL(kill=(3,)), fleet=six(), module=Two())
    progress = loop.begin()
    planned: Counter[tuple[str, str]] = Counter()
    heads: list[int] = []

    def note(report):
        if report.metrics["round"] == 1:
            heads.extend(members[0] for members in progress.state["clusters"])
            assert progress.where == [client(head) for head in heads]
        else:
            planned.update(transfers(report.plan))

    loop.go(progress, [note])
    stage_1 = Counter({("cloud", "client"): 6 + len(heads), ("client", "cloud"): 6})
    assert progress.traffic == stage_1 + planned
    # the head that died sends its successor nothing: the model lives on with the cluster
    (dead,) = progress.state["dead"]
    assert dead in heads
    assert client(dead) not in progress.where or all(dead in c and len(c) == 1 for c in progress.state["clusters"])


def test_a_head_that_stepped_back_sends_its_model_to_the_next():
    given = outcome(2, lost=[1])
    given.where = [client(2), client(1), client(5)]
    IHCFL().learn(STATE, given, np.random.default_rng(0))
    assert given.where == [client(2), client(1), client(5)]
    IHCFL(kill=(3,)).learn({**STATE, "clusters": [[2, 0, 3], [1], [5, 4]]}, given, np.random.default_rng(0))
    assert given.where == [client(0), client(1), client(5)]


def test_costs_are_the_fleets_and_every_algorithm_pays_the_same():
    costs = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]], dtype=float)
    fleet = replace(fleet_of([P], [P], [Q], [Q]), distances=costs)
    progress = run(IHCFL(), fleet, rounds=2)
    assert progress.home[0] == progress.home[1] != progress.home[2] == progress.home[3]
    # two clusters of two, 1 each, whose heads exchange models at 9 each way; stage 1 goes by way of the platform
    assert progress.spent["link_cost"] == 1 + 1 + 9 + 9
    # FedAvg's server stands where all are cheapest to reach, with client 0: 0 + 1 + 9 + 9 a round
    assert run(FedAvg(), fleet, rounds=2).spent["link_cost"] == 2 * 19
    assert "link_cost" not in run(FedAvg(), fleet_of([P], [Q])).spent


def test_its_own_costs_are_those_that_others_are_given():
    spent = {}
    for name, more in (("ihc-fl", {"heads": 1}), ("fedavg", {"distances": "similar"})):
        settings = {"algorithm": name, "clients": 6, "samples": 12, "rounds": 2, "mode": "one-by-one", **more}
        loop = assemble(Experiment.make({**settings, "model": "softmax-regression"}))
        spent[name] = known(loop.fleet.distances)
    assert (spent["ihc-fl"] == spent["fedavg"]).all()


def test_alone():
    progress = run(IHCFL(), fleet_of([P]), rounds=2)
    assert close(progress.models[0], step(step((0, 0), P), P))


def test_stage_1_has_epochs_of_its_own():
    plan = IHCFL(stage1=4).plan(1, six(), {}, np.random.default_rng(0))
    assert plan == Forest(Train(i, 4) for i in range(6))


def test_k_means_and_a_ring():
    config = {"algorithm": "ihc-fl", "method": "k-means", "heads": 3, "clients": 8, "samples": 20, "rounds": 2}
    loop = assemble(Experiment.make({**config, "edges": 1, "mode": "one-by-one", "evaluate_every": 9}))
    progress = loop.begin()
    loop.go(progress)
    assert len(progress.models) == 3
    assert sorted(map(tuple, progress.state["links"])) == [(0, 1), (0, 2), (1, 2)]
    assert sorted(i for members in progress.state["clusters"] for i in members) == list(range(8))
    assert progress.spent["epochs"] == 2  # one in stage 1, one in stage 2
