import numpy as np
import pytest
import torch
from tests.algorithms.tiny import close, fleet_of, mean, run, step

from covey.algorithms import FedAvg, Tornado, Tornadoes, TornadoRings, make_algorithm
from covey.experiment import Experiment
from covey.plan import Forest, Ring, Star, Train, clients

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


def digits(algorithm, **more):
    loop = Experiment.make({**DIGITS, **more}).make_loop(algorithm=algorithm)
    progress = loop.begin()
    loop.go(progress)
    return progress


def test_tornado_by_hand():
    # two groups of one client each, two chains: after round 1 one chain has been at P and the other at Q
    fleet = fleet_of([P], [Q])
    progress = run(Tornado(groups=2, chains=2, tau2=2), fleet)
    at_p, at_q = step(step((0, 0), P), P), step(step((0, 0), Q), Q)
    first, second, shown = progress.models
    assert {close(first, at_p), close(first, at_q)} == {True, False}
    assert close(shown, mean((1, at_p), (1, at_q)))
    assert close(first + second, np.add(at_p, at_q))
    assert progress.home.tolist() == [2, 2]


def test_tornado_chains_change_groups_and_live_on():
    fleet = fleet_of([P], [Q])
    algorithm = Tornado(groups=2, chains=2, tau2=1)
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
    progress = run(Tornadoes(groups=1, chains=2, tau2=1), fleet)
    assert close(progress.models[0], mean((1, step((0, 0), P)), (2, step((0, 0), R, R))))
    # two hops: the chain that began at P ends at R and weighs 2, the other ends at P and weighs 1
    progress = run(Tornadoes(groups=1, chains=2, tau2=2), fleet)
    ends_at_r, ends_at_p = step(step((0, 0), P), R, R), step(step((0, 0), R, R), P)
    assert close(progress.models[0], mean((2, ends_at_r), (1, ends_at_p)))


def test_tornado_rings_by_hand():
    # groups of one client each keep their own models
    fleet = fleet_of([P], [Q])
    progress = run(TornadoRings(groups=2, chains=2, tau2=2), fleet)
    for i, sample in enumerate((P, Q)):
        assert close(progress.models[progress.home[i]], step(step((0, 0), sample), sample))


def test_tornadoes_with_one_client_groups_is_fedavg():
    tornadoes = digits(Tornadoes(groups=8, chains=3, tau2=1))
    assert torch.allclose(tornadoes.models[0], digits(FedAvg()).models[0], atol=1e-6)


def test_tornadoes_with_one_chain_and_one_group_is_ring():
    fleet = fleet_of([P], [Q], [R], [S])
    state = {"groups": [[0, 1, 2, 3]], "seed": 5}
    for round in (1, 2):
        rng = np.random.default_rng(0)
        plan = Tornadoes(groups=1, chains=1, tau2=4).plan(round, fleet, state, rng)
        ring = make_algorithm("rings", {"groups": 1}).plan(round, fleet, state, rng).children[0]
        assert plan.children == (ring,)
        assert isinstance(ring, Ring)
        assert sorted(leaf.client for leaf in ring.children) == [0, 1, 2, 3]
    # a Star of one child changes nothing: the model is that of the ring, to the bit
    order = [leaf.client for leaf in ring.children]
    samples = [(P, Q, R, S)[i] for i in order]
    w = (0.0, 0.0)
    for sample in samples:
        w = step(w, sample)
    starred = run(_Fixed(Star([ring])), fleet)
    plain = run(_Fixed(ring), fleet)
    assert starred.models[0].equal(plain.models[0])
    assert close(plain.models[0], w)


class _Fixed(FedAvg):
    """Always the same plan."""

    def __init__(self, plan):
        object.__setattr__(self, "fixed", plan)
        object.__setattr__(self, "sample", 1.0)

    def plan(self, round, fleet, state, rng):
        return self.fixed


@pytest.mark.parametrize("kind", [Tornado, Tornadoes, TornadoRings])
def test_sampled_clients_only(kind):
    fleet = Experiment.make(DIGITS).make_fleet()
    algorithm = kind(groups=3, chains=2, tau2=2, sample=0.5)
    state = algorithm.start(fleet, np.random.default_rng(0))
    seen = [clients(algorithm.plan(r, fleet, state, np.random.default_rng(r))) for r in range(1, 9)]
    assert all(1 <= len(s) <= 4 for s in seen)
    together = set().union(*seen)
    assert len(together) <= 4 if kind is TornadoRings else len(together) > 4


def test_rings_of_tornadoes_follow_the_sun():
    windows = np.array([1, 0, 1, 0, 1, 0])
    fleet = fleet_of([P], [Q], [R], [S], [P], [Q], window_of=windows)
    plan = Tornadoes(groups=1, chains=3, tau2=6).plan(1, fleet, {"groups": [list(range(6))], "seed": 1}, fresh())
    for ring in plan.children[0].children:
        assert windows[[leaf.client for leaf in ring.children]].tolist() == [0, 0, 0, 1, 1, 1]


def test_groups_of_tornado_are_awake_together():
    windows = np.array([1, 0, 1, 0, 1, 0])
    fleet = fleet_of([P], [Q], [R], [S], [P], [Q], window_of=windows)
    algorithm = Tornado(groups=2, chains=1, tau2=1)
    state = algorithm.start(fleet, fresh())
    days = [algorithm.plan(r, fleet, state, fresh()) for r in (1, 2, 3, 4)]
    assert [set(windows[list(clients(day))]) for day in days] == [{0}, {1}, {0}, {1}]


def fresh():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "shape", "chains", "groups"),
    [
        ("tornado-hierfavg", Star, 1, 5),
        ("tornado-astraea", Star, 1, 2),
        ("tornado-mm-psgd", Ring, 1, 10),
        ("tornado-ifca", Forest, 1, 10),
        ("tornado-semicyclic", Forest, 1, 5),
    ],
)
def test_what_tornadoaggregate_makes_of_its_baselines(name, shape, chains, groups):
    algorithm = make_algorithm(name)
    assert (algorithm.chains, algorithm.groups) == (chains, groups)
    labels = [[(1.0, i % 2)] for i in range(20)]
    fleet = fleet_of(*labels)
    state = algorithm.start(fleet, fresh())
    plan = algorithm.plan(1, fleet, state, fresh())
    assert isinstance(plan, shape)
    assert len(state["groups"]) == groups
    assert isinstance(plan.children[0].children[0], Train)
