from typing import Any

import numpy as np
import pytest
import torch
from tests.algorithms.tiny import close, fleet_of, mean, run, step
from tests.narrow import a, order

from covey.algorithms import Architecture, FedAvg, Tornado, Tornadoes, TornadoRings, make_algorithm
from covey.algorithms.base import Algorithm
from covey.errors import BadValue
from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.plan import Plan, Ring, Star, Train, clients

P, Q, R, S = (1.0, 0), (2.0, 1), (3.0, 0), (0.5, 1)
DIGITS = {
    "data": "digits",
    "clients": 8,
    "partition": "shards:2",
    "samples": 30,
    "model": "softmax-regression",
    "rounds": 2,
    "mode": "stacked",
}


# one epoch a node and all clients, as by hand
PLAIN: Any = {"tau1": 1, "sample": 1.0}


def digits(algorithm, **more):
    loop = assemble(Experiment.make({**DIGITS, **more}), algorithm=algorithm)
    progress = loop.begin()
    loop.go(progress)
    return progress


def test_tornado_by_hand():
    # two groups of one client each, two chains: after round 1 one chain has been at P and the other at Q
    fleet = fleet_of([P], [Q])
    progress = run(Tornado(**PLAIN, groups=2, chains=2, tau2=2), fleet)
    at_p, at_q = step(step((0, 0), P), P), step(step((0, 0), Q), Q)
    first, second, shown = progress.models
    assert {close(first, at_p), close(first, at_q)} == {True, False}
    assert close(shown, mean((1, at_p), (1, at_q)))
    assert close(first + second, np.add(at_p, at_q))
    assert progress.home.tolist() == [2, 2]


def test_tornado_chains_change_groups_and_live_on():
    fleet = fleet_of([P], [Q])
    algorithm = Tornado(**PLAIN, groups=2, chains=2, tau2=1)
    state = algorithm.start(fleet, np.random.default_rng(0))
    plans = [algorithm.plan(r, fleet, state, np.random.default_rng(r)) for r in (1, 2)]
    where = [[sorted(clients(child)) for child in plan.children] for plan in plans]
    assert where[0] == where[1][::-1]
    progress = run(algorithm, fleet, rounds=2)
    through = {"pq": step(step((0, 0), P), Q), "qp": step(step((0, 0), Q), P)}
    assert close(progress.models[2], mean((1, through["pq"]), (1, through["qp"])))


def test_tornadoes_by_hand():
    # one group of P and (R, R), two chains that visit one node each: their mean is by the samples of the node they left
    fleet = fleet_of([P], [R, R])
    progress = run(Tornadoes(**PLAIN, groups=1, chains=2, tau2=1), fleet)
    assert close(progress.models[0], mean((1, step((0, 0), P)), (2, step((0, 0), R, R))))
    # two hops: the chain that began at P ends at R and weighs 2, the other ends at P and weighs 1
    progress = run(Tornadoes(**PLAIN, groups=1, chains=2, tau2=2), fleet)
    ends_at_r, ends_at_p = step(step((0, 0), P), R, R), step(step((0, 0), R, R), P)
    assert close(progress.models[0], mean((2, ends_at_r), (1, ends_at_p)))


def test_tornado_rings_by_hand():
    # groups of one client each keep their own models
    fleet = fleet_of([P], [Q])
    progress = run(TornadoRings(**PLAIN, groups=2, chains=2, tau2=2), fleet)
    for i, sample in enumerate((P, Q)):
        assert close(progress.models[progress.home[i]], step(step((0, 0), sample), sample))


def test_tornadoes_with_one_client_groups_is_fedavg():
    tornadoes = digits(Tornadoes(**PLAIN, groups=8, chains=3, tau2=1))
    assert torch.allclose(tornadoes.models[0], digits(FedAvg()).models[0], atol=1e-6)


def test_tornadoes_with_one_chain_and_one_group_is_ring():
    fleet = fleet_of([P], [Q], [R], [S])
    state = {"groups": [[0, 1, 2, 3]], "seed": 5}
    for round in (1, 2):
        rng = np.random.default_rng(0)
        plan = Tornadoes(**PLAIN, groups=1, chains=1, tau2=4).plan(round, fleet, state, rng)
        ring = make_algorithm("rings", {"groups": 1, "tau1": 1}).plan(round, fleet, state, rng).children[0]
        assert plan.children == (ring,)
        assert isinstance(ring, Ring)
        assert sorted(order(ring)) == [0, 1, 2, 3]
    # a Star of one child changes nothing: the model is that of the ring, to the bit
    samples = [(P, Q, R, S)[i] for i in order(ring)]
    w = (0.0, 0.0)
    for sample in samples:
        w = step(w, sample)
    starred = run(_Fixed(Star([ring])), fleet)
    plain = run(_Fixed(ring), fleet)
    assert starred.models[0].equal(plain.models[0])
    assert close(plain.models[0], w)


class _Fixed(Algorithm):
    """Always the same plan."""

    fixed: Plan

    def __init__(self, plan):
        object.__setattr__(self, "fixed", plan)

    def plan(self, round, fleet, state, rng):
        return self.fixed


@pytest.mark.parametrize("sample", [0.5, 4])
@pytest.mark.parametrize("kind", [Tornado, Tornadoes, TornadoRings])
def test_sampled_clients_only(kind, sample):
    fleet = make_fleet(Experiment.make(DIGITS))
    algorithm = kind(groups=3, chains=2, tau2=2, sample=sample)
    state = algorithm.start(fleet, np.random.default_rng(0))
    seen = [clients(algorithm.plan(r, fleet, state, np.random.default_rng(r))) for r in range(1, 9)]
    assert all(1 <= len(s) <= 4 for s in seen)
    together = set().union(*seen)
    assert len(together) <= 4 if kind is TornadoRings else len(together) > 4


def test_rings_of_tornadoes_follow_the_sun():
    windows = np.array([1, 0, 1, 0, 1, 0])
    fleet = fleet_of([P], [Q], [R], [S], [P], [Q], window_of=windows)
    plan = Tornadoes(**PLAIN, groups=1, chains=3, tau2=6).plan(
        1, fleet, {"groups": [list(range(6))], "seed": 1}, fresh()
    )
    for ring in plan.children[0].children:
        assert windows[order(ring)].tolist() == [0, 0, 0, 1, 1, 1]


def test_groups_of_tornado_are_awake_together():
    windows = np.array([1, 0, 1, 0, 1, 0])
    fleet = fleet_of([P], [Q], [R], [S], [P], [Q], window_of=windows)
    algorithm = Tornado(**PLAIN, groups=2, chains=1, tau2=1)
    state = algorithm.start(fleet, fresh())
    days = [algorithm.plan(r, fleet, state, fresh()) for r in (1, 2, 3, 4)]
    assert [set(windows[list(clients(day))]) for day in days] == [{0}, {1}, {0}, {1}]


def fresh():
    return np.random.default_rng(0)


def test_clients_of_tornado_rings_belong_to_their_group_though_they_are_not_sampled():
    fleet = fleet_of(*[[P]] * 6, *[[Q]] * 6)
    progress = run(TornadoRings(groups=2, chains=1, tau1=1, sample=2), fleet, rounds=2)
    groups = progress.state["groups"]
    assert len(progress.models) == 2
    assert [progress.home[i] for members in groups for i in members] == [k for k, g in enumerate(groups) for _ in g]
    trained = {i for g in progress.state["sampled"] for i in g}
    assert len(trained) == 2


def test_tornadoes_weigh_groups_by_their_samples():
    fleet = fleet_of([P], [P, P], [Q] * 4, [Q] * 8)
    state = {"groups": [[0, 1], [2, 3]], "seed": 1}
    plan = Tornadoes(chains=1, tau2=3).plan(1, fleet, state, fresh())
    assert a(Star, plan).weights == (1 + 2, 4 + 8)


# TornadoAggregate's Table 4: grouping, |G|, chains, and how the 100 epochs of a round are spent
TABLE_4 = {
    "tornado-fedavg": ("star", "random", 1, 1, [100]),
    "tornado-hierfavg": ("star-stars", "random", 5, 1, [10] * 10),
    "tornado-astraea": ("star-rings", "emd-iid", 2, 1, [10] * 10),
    "tornado-mm-psgd": ("ring-stars", "emd-cluster", 10, 1, [10] * 10),
    "tornado-ifca": ("stars", "emd-cluster", 10, 1, [100]),
    "tornado-semicyclic": ("rings", "random", 5, 1, [100]),
    "tornado": (None, "emd-iid", 2, 2, [10] * 10),
    "tornadoes": (None, "emd-cluster", 10, 10, [10] * 10),
    "tornado-rings": (None, "emd-cluster", 10, 10, [100]),
}


def in_sequence(plan):
    """The epochs of the trainings that come one after the other along the first branch."""
    if isinstance(plan, Train):
        return [plan.epochs]
    if isinstance(plan, Ring):
        return [epochs for child in plan.children for epochs in in_sequence(child)]
    return in_sequence(plan.children[0]) * getattr(plan, "rounds", 1)


@pytest.mark.parametrize("name", TABLE_4)
def test_a_round_is_as_table_4_has_it(name):
    shape, grouping, groups, chains, epochs = TABLE_4[name]
    algorithm: Any = make_algorithm(name)
    assert getattr(algorithm, "shape", None) == shape
    assert getattr(algorithm, "grouping", grouping) == grouping
    assert algorithm.chains == chains
    fleet = fleet_of(*[[(1.0, i % 2)] for i in range(110)])
    state = algorithm.start(fleet, fresh())
    assert len(state["groups"]) == groups
    plans = [algorithm.plan(r, fleet, state, np.random.default_rng(r)) for r in range(1, 9)]
    assert in_sequence(plans[0]) == epochs
    # a hundred clients are sampled; stars and rings sample once, all others every round
    seen = [clients(plan) for plan in plans]
    if name in ("tornado-ifca", "tornado-semicyclic", "tornado-rings"):
        once = {i for g in state["sampled"] for i in g}
        assert len(once) == 100
        assert set().union(*seen) <= once
    else:
        assert "sampled" not in state
    if name in ("tornado-fedavg", "tornado-hierfavg", "tornado-ifca"):  # the others visit a part of the sample
        assert {len(taken) for taken in seen} == {100}


def test_a_preset_takes_other_settings_but_not_another_shape():
    assert a(Architecture, make_algorithm("tornado-hierfavg", {"tau2": 3, "sample": 0.5})).tau2 == 3
    with pytest.raises(BadValue, match="shape is 'rings'; allowed is 'star-stars', which is what 'tornado-hierfavg'"):
        make_algorithm("tornado-hierfavg", {"shape": "rings"})


def test_no_more_chains_than_groups_and_groups_have_rings_of_their_own():
    fleet = fleet_of([P], [Q])
    progress = run(Tornado(**PLAIN, groups=2, chains=9, tau2=1), fleet)
    assert len(progress.models) == 2 + 1
    assert progress.home.tolist() == [2, 2]
    assert len(Tornado(chains=9).plan(1, fleet, {"groups": [[0], [1]], "seed": 0}, fresh()).children) == 2
    state = {"groups": [list(range(6)), list(range(6, 12))], "seed": 1}
    many = fleet_of(*[[P]] * 12)
    orders = set()
    for round in range(1, 6):
        plan = Tornadoes(**PLAIN, chains=1, tau2=6).plan(round, many, state, fresh())
        one, other = ([i % 6 for i in order(ring)] for ring in plan.children)
        orders.add(one == other)
    assert False in orders


def test_groups_of_tornado_rings_of_whom_nobody_is_sampled_keep_their_models():
    fleet = fleet_of(*[[P]] * 4)
    state = {"groups": [[0, 1], [2, 3]], "sampled": [[], [3]], "seed": 1}
    plan = TornadoRings().plan(1, fleet, state, fresh())
    assert plan.slots == (1,)
