from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.algorithms.tiny import close, fleet_of, mean, run, step
from tests.narrow import a, trains

from covey.algorithms import FedAvg, FedAvgIC, make_algorithm
from covey.errors import BadValue
from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.grouping import group
from covey.plan import Star, client, clients, combine, leaves, starts_at, transfers

P, Q, R = (1.0, 0), (2.0, 1), (3.0, 0)
DIGITS = {
    "data": "digits",
    "clients": 12,
    "partition": "dirichlet:0.3",
    "edges": 4,
    "samples": 30,
    "model": "softmax-regression",
    "rounds": 3,
    "batch": 0,
    "mode": "stacked",
}


def digits(algorithm, **more):
    loop = assemble(Experiment.make({**DIGITS, **more}), algorithm=algorithm)
    progress = loop.begin()
    loop.go(progress)
    return progress


def test_two_rounds_by_hand():
    # one group: round 1 is an epoch of FedAvg, round 2 two group averages of two epochs each at rates .9, .81, .729 …
    fleet = fleet_of([P], [Q, Q])
    algorithm = FedAvgIC(groups=1, tau1=2, tau2=2, epoch_decay=0.9)
    w = mean((1, step((0, 0), P)), (2, step((0, 0), Q, Q)))
    assert close(run(algorithm, fleet).models[0], w)
    for first in (1, 3):
        at_p, at_q = w, w
        for epoch in (first, first + 1):
            at_p, at_q = step(at_p, P, rate=0.9**epoch), step(at_q, Q, Q, rate=0.9**epoch)
        w = mean((1, at_p), (2, at_q))
    assert close(run(algorithm, fleet, rounds=2).models[0], w)


def test_groups_average_on_their_own_before_the_global_mean():
    fleet = fleet_of([P], [Q], [R])
    algorithm = FedAvgIC(groups=3, tau2=2, epoch_decay=1.0)
    w = mean((1, step((0, 0), P)), (1, step((0, 0), Q)), (1, step((0, 0), R)))
    alone = [step(step(w, sample), sample) for sample in (P, Q, R)]
    assert close(run(algorithm, fleet, rounds=2).models[0], mean(*((1, v) for v in alone)))


def test_one_group_is_fedavg():
    grouped = digits(FedAvgIC(groups=1, tau1=1, tau2=1, epoch_decay=1.0, combined=False))
    # equal up to the order in which models arrive and are added
    assert torch.allclose(grouped.models[0], digits(FedAvg()).models[0], atol=1e-6)


class Grouped(FedAvgIC):
    """FedAvg-IC with given groups: rounding in the gradients must not decide who is grouped with whom."""

    def learn(self, state, outcome, rng):
        return {"groups": [[0, 3, 6, 9, 11], [1, 4, 7, 10], [2, 5, 8]], "heads": [3, 1, 8]}


def test_combined_aggregation_changes_no_model_and_saves_traffic():
    apart = digits(Grouped(combined=False), edges=3)
    together = digits(Grouped(combined=True), edges=3)
    assert torch.allclose(apart.models[0], together.models[0], atol=1e-6)
    algorithm = FedAvgIC(groups=2, combined=False)
    fleet = fleet_of(*[[P]] * 8, edge_of=[0, 0, 0, 0, 1, 1, 1, 1])
    plan = algorithm.plan(2, fleet, {"groups": [[0, 1, 4, 5], [2, 3, 6, 7]], "heads": [0, 2]}, np.random.default_rng(0))

    def far(plan):
        return sum(n for pair, n in transfers(plan).items() if set(pair) != {"client", "edge"})

    assert far(combine(plan, fleet)) < far(plan)


def test_the_decay_is_a_ring_of_stars_and_equals_rounds_without_it():
    fleet = fleet_of([P], [Q], [R])
    state = {"groups": [[0, 1], [2]], "heads": [1, 2]}
    rng = np.random.default_rng(0)
    plan = FedAvgIC(combined=False, tau2=3, epoch_decay=0.5).plan(3, fleet, state, rng)
    # epochs 1 + 3 = 4, 5 and 6 came before those of round 3
    rates = [trains(star)[0].rate for star in plan.children[0].children]
    assert rates == [0.5**4, 0.5**5, 0.5**6]
    assert str(a(Star, plan.children[0].children[0]).at) == "client 1"


def test_gradients_are_sent_once_and_by_those_who_group_by_them():
    # 12 models of the warm-up, 12 gradients, and in round 2 one model per group
    for name, gradients in (("fedavg-ic", 12), ("fedavg-i", 12), ("fedavg-c", 0)):
        progress = digits(make_algorithm(name, {"groups": 2, "combined": False, "tau2": 1}), rounds=2)
        assert progress.traffic[("client", "cloud")] == 12 + gradients + 2


def test_the_variants_look_at_one_cost_each():
    fleet = make_fleet(Experiment.make(DIGITS))
    sizes = {}
    for name in ("fedavg-i", "fedavg-c", "fedavg-ic"):
        algorithm = make_algorithm(name, {"groups": 4})
        loop = assemble(Experiment.make(DIGITS), algorithm=algorithm, fleet=fleet)
        progress = loop.begin()
        loop.go(progress, [lambda report: True])
        sizes[name] = progress.state["groups"]
        plan = algorithm.plan(2, fleet, progress.state, np.random.default_rng(0))
        assert clients(plan) == set(range(12))
    assert sizes["fedavg-i"] != sizes["fedavg-c"]
    with pytest.raises(BadValue, match=r"alpha_comm is 1; allowed is 0.0, which is what 'fedavg-i' stands for"):
        make_algorithm("fedavg-i", {"alpha_comm": 1})


def test_the_settings_of_the_grouping_reach_it(monkeypatch):
    asked = []

    def noted(name, labels, **given):
        asked.append(given)
        return group(name, labels, **given)

    monkeypatch.setattr("covey.algorithms.fedavg_ic.group", noted)
    settings: Any = {"assign": "own", "steady": 2, "max_size": 9, "search": 0, "alpha_iid": 0.5, "alpha_comm": 2.0}
    digits(FedAvgIC(groups=3, **settings), rounds=1)
    digits(FedAvgIC(groups=3, search=2), rounds=1)
    assert {name: asked[0][name] for name in settings} == settings
    assert asked[1]["search"] == 2


def test_settings_that_no_grouping_could_meet_are_refused_before_training():
    with pytest.raises(BadValue, match="search is 1; allowed is 0 with assign 'own'"):
        FedAvgIC(assign="own", search=1)
    fleet = fleet_of([P], [Q], [R])
    with pytest.raises(BadValue, match="max_size is 1; allowed is 2 or more for 3 clients in 2 groups"):
        run(FedAvgIC(groups=2, max_size=1), fleet)
    assert run(FedAvgIC(groups=2, max_size=2), fleet).round == 1


def test_plans_are_combined_unless_told():
    fleet = fleet_of(*[[P]] * 8, edge_of=[0, 0, 0, 0, 1, 1, 1, 1])
    state = {"groups": [[0, 1, 4, 5], [2, 3, 6, 7]], "heads": [0, 2]}
    for round in (1, 2):
        plain = FedAvgIC(combined=False).plan(round, fleet, state, np.random.default_rng(0))
        assert FedAvgIC().plan(round, fleet, state, np.random.default_rng(0)) == combine(plain, fleet) != plain


@pytest.mark.parametrize("epoch_decay", [1.0, 0.9])
def test_epochs_are_its_own_and_groups_meet_at_their_heads(epoch_decay):
    fleet = fleet_of([P], [Q], [R])
    algorithm = FedAvgIC(combined=False, tau1=2, tau2=2, epoch_decay=epoch_decay)
    assert {t.epochs for t in leaves(algorithm.plan(1, fleet, {}, np.random.default_rng(0)))} == {1}
    plan = algorithm.plan(2, fleet, {"groups": [[0, 1], [2]], "heads": [1, 2]}, np.random.default_rng(0))
    # two group averages of two epochs, as one training of two or, where the rate falls, as two of one
    assert {t.epochs for t in leaves(plan)} == ({2} if epoch_decay == 1 else {1})
    assert [starts_at(child) for child in plan.children] == [client(1), client(2)]


def test_no_more_groups_than_clients():
    progress = run(FedAvgIC(groups=9), fleet_of([P], [Q], [R]))
    assert sorted(map(len, progress.state["groups"])) == [1, 1, 1]


def test_what_the_grouping_is_given(monkeypatch):
    asked = []

    def noted(name, labels, **given):
        asked.append(given)
        return group(name, labels, **given)

    monkeypatch.setattr("covey.algorithms.fedavg_ic.group", noted)
    fleet = fleet_of([P], [Q, Q], [R] * 3)
    table = np.array([[0.0, 1, 5], [1, 0, 5], [5, 5, 0]])
    run(FedAvgIC(groups=2), replace(fleet, distances=table))
    assert asked[0]["sizes"].tolist() == [1, 2, 3]
    assert asked[0]["distances"].tolist() == table.tolist()
    run(FedAvgIC(groups=2), fleet)  # without a table of its own: hops on a fat-tree
    assert set(asked[1]["distances"].ravel()) <= {0, 2, 4, 6}
