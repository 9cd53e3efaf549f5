from typing import Any

import numpy as np
import pytest
import torch
from tests.narrow import order
from tests.tiny import fleet_of, loop_of, model_after, random_fleet, small_network, two_weights

from covey.algorithms import FedGSP, make_algorithm
from covey.execute.walk import Brief, walk
from covey.fleet import Fleet
from covey.grouping.measures import cpd_of
from covey.loop import Report
from covey.plan import Plan, Ring, Star, clients
from covey.theory import Hardware, communication_bytes, computing_seconds

SIZES = (7, 4, 9, 3, 6, 5, 8)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("growth", "alpha", "beta", "expected"),
    [
        ("linear", 0.5, 3, [3 * 1, 3 * 1, 3 * 2, 3 * 2, 3 * 3]),  # floor(0.5 (r - 1) + 1)
        ("log", 2.0, 10, [10, 10 * 2, 10 * 3, 10 * 3, 10 * 4]),  # 2 ln r + 1 = 1, 2.39, 3.20, 3.77, 4.22
        ("exp", 0.5, 2, [2 * 1, 2 * 1, 2 * 2, 2 * 3, 2 * 5]),  # 1.5^(r - 1) = 1, 1.5, 2.25, 3.38, 5.06
        ("exp", 1.0, 1, [1, 2, 4, 8, 16]),
    ],
)
def test_growth_is_eq_1_to_3(growth, alpha, beta, expected):
    algorithm = FedGSP(growth=growth, alpha=alpha, beta=beta)
    assert [algorithm.groups_in(r, 1000) for r in range(1, 6)] == expected
    assert algorithm.groups_in(10**6, 1000) <= 1000
    assert max(algorithm.groups_in(r, 12) for r in range(1, 2000)) <= 12


def test_a_round_is_rings_under_a_star():
    fleet = Fleet(np.eye(4, dtype=int)[np.arange(40) % 4] * 5)
    plan = FedGSP(kappa=0.5).plan(1, fleet, {}, rng())
    assert isinstance(plan, Star)
    assert plan.weights is None
    assert len(plan.children) == int(0.5 * 10)
    for ring in plan.children:
        assert isinstance(ring, Ring)
        assert sorted(np.argmax(fleet.labels[order(ring)], axis=1)) == [0, 1, 2, 3]
    assert FedGSP(weights="uniform").plan(1, fleet, {}, rng()).weights == (1.0,) * 3


def test_who_is_left_over_idles_or_is_dealt_out():
    # K = 7, M = 3: two clusters of three, so that one client is left.
    fleet = random_fleet(SIZES)
    settings: Any = {"growth": "linear", "alpha": 0, "beta": 3, "kappa": 1.0}
    assert len(clients(FedGSP(**settings).plan(1, fleet, {}, rng()))) == 6
    assert len(clients(FedGSP(**settings, rest="deal").plan(1, fleet, {}, rng()))) == 7


def test_rounds_regroup_and_reshuffle():
    fleet, algorithm = random_fleet(SIZES), FedGSP(beta=2, kappa=1.0, growth="linear", alpha=0)
    plans = [algorithm.plan(r, fleet, {}, np.random.default_rng(r)) for r in (1, 2, 3)]
    assert plans[0] != plans[1] != plans[2]


def test_as_many_groups_as_clients_is_fedavg():
    fleet, settings = random_fleet(SIZES), {"batch": 3, "lr": 0.2, "rounds": 2}
    gsp = model_after(
        "fedgsp", fleet, small_network(), growth="linear", alpha=0, beta=len(SIZES), kappa=1.0, **settings
    )
    torch.testing.assert_close(gsp, model_after("fedavg", fleet, small_network(), **settings), rtol=1e-5, atol=1e-6)


def test_one_group_is_a_ring():
    fleet = random_fleet(SIZES)
    loop = loop_of(
        "fedgsp", fleet, small_network(), growth="linear", alpha=0, beta=1, kappa=1.0, batch=3, lr=0.2, rounds=1
    )
    progress = loop.begin()
    start = progress.models[0]
    seen: list[Plan] = []

    def note(report: Report) -> None:
        seen.append(report.plan)

    loop.go(progress, [note])
    (ring,) = seen[0].children
    assert isinstance(ring, Ring)
    assert clients(ring) == set(range(7))
    walked = walk(ring, [start], fleet.sizes.tolist(), loop.executor, brief=Brief(rate=0.2))
    assert torch.equal(walked.models[0], progress.models[0])


def test_a_ring_by_hand():
    # x = 1 with label 0 and x = 1 with label 0 again, one step each of rate 1: 1/2, then + 1 - sigma(1).
    fleet = fleet_of([[(1.0, 0)], [(1.0, 0)]])
    model = model_after("fedgsp", fleet, two_weights(), beta=1)
    assert model[0].item() == pytest.approx(0.5 + 1 - 1 / (1 + np.exp(-1)), rel=1e-6)


def test_the_papers_prices_take_its_growth():
    algorithm = FedGSP()
    seconds = computing_seconds(lambda r: algorithm.groups_in(r, 368), rounds=34, clients=368)
    everyone = computing_seconds(lambda r: 368, rounds=34, clients=368)
    assert seconds[-1] > everyone[-1]
    assert communication_bytes(rounds=34, clients=368) == pytest.approx(2 * 0.3 * 368 * 34 * 4 * 6_603_710)


@pytest.mark.parametrize("name", ["fedgsp", "naive-gsp", "naive-gsp-icg"])
def test_traffic_is_eq_17_where_hand_overs_are_relayed(name):
    # 12 clients in 4 groups of 3, half of the groups a round, 2 rounds: 2 kappa K R = 2 x 1/2 x 12 x 2 models
    groups = {"growth": "linear", "alpha": 0, "beta": 4} if name == "fedgsp" else {"groups": 4}
    fleet, sent, models = random_fleet((5,) * 12), {}, {}
    for relay in (True, False):
        loop = loop_of(name, fleet, small_network(), kappa=0.5, rounds=2, lr=0.1, relay=relay, **groups)
        progress = loop.begin()
        loop.go(progress)
        sent[relay], models[relay] = progress.traffic, progress.models[0]
    eq_17 = communication_bytes(rounds=2, clients=12, kappa=0.5, hardware=Hardware(model_bytes=1))
    assert sent[True].total() == eq_17 == 24
    assert sent[True] == {("cloud", "client"): 12, ("client", "cloud"): 12}
    # directly: 2 rings of 3 a round, each with 2 hand-overs, one model from and one to the cloud
    assert sent[False] == {("cloud", "client"): 4, ("client", "cloud"): 4, ("client", "client"): 8}
    assert torch.equal(models[True], models[False])
    assert vars(make_algorithm(name))["relay"]


def test_groups_look_more_alike_than_random_ones():
    fleet = Fleet(np.random.default_rng(0).dirichlet([0.3] * 6, 60).round(2) * 100 // 1)
    rings = FedGSP(kappa=1.0, growth="linear", alpha=0).plan(1, fleet, {}, rng()).children
    grouped = cpd_of([fleet.labels[order(ring)].sum(axis=0) for ring in rings])
    random = np.mean(
        [
            cpd_of([fleet.labels[g].sum(axis=0) for g in np.random.default_rng(s).permutation(60).reshape(10, 6)])
            for s in range(5)
        ]
    )
    assert grouped < random


@pytest.mark.parametrize("name", ["fedgsp", "naive-gsp-icg"])
def test_every_ring_has_an_order_of_its_own(name):
    # ICG takes one of each of four kinds for a group, kind after kind; without a shuffle all rings would agree
    fleet = Fleet(np.eye(4, dtype=int)[np.arange(40) % 4] * 5)
    algorithm = make_algorithm(name, {"kappa": 1.0})
    rings = algorithm.plan(1, fleet, algorithm.start(fleet, rng()), rng()).children
    orders = {tuple(np.argmax(fleet.labels[order(ring)], axis=1)) for ring in rings}
    assert len(orders) > 1
