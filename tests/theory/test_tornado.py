from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue, UnknownName
from covey.plan import Forest, Ring, Star, Train, transfers
from covey.theory import ARCHITECTURES, Divergences, fedavg_ic_bound, tornado_bound, tornado_traffic

MEASURED = Divergences(delta=1, Delta=2, D=4)
NESTED = ["star-stars", "star-rings", "ring-stars", "ring-rings"]
SINGLE = ["star", "ring", "stars", "rings"]


def test_all_eight_are_here():
    assert set(ARCHITECTURES) == set(NESTED) | set(SINGLE)


@pytest.mark.parametrize(
    ("architecture", "tau2", "expected"),
    [
        # rho/beta = 3/2, h(t) = (0.5 x 2 + 1)^t - 1 = 2^t - 1, tau1 = 2
        ("star", 1, 1.5 * 4 * 3),
        ("ring", 1, 0),
        ("star-stars", 3, 1.5 * (1 * 3 + 2 * 63)),
        ("star-rings", 3, 1.5 * 4 * 63),
        ("ring-stars", 3, 1.5 * 4 * 3),
        ("ring-rings", 3, 0),
        ("stars", 1, 1.5 * 1 * 3),
        ("rings", 1, 0),
    ],
)
def test_bounds_by_hand(architecture, tau2, expected):
    found = tornado_bound(architecture, MEASURED, tau1=2, tau2=tau2, eta=0.5, beta=2, rho=3)
    assert found == pytest.approx(expected)


@given(st.floats(0, 10), st.integers(1, 10))
def test_star_is_star_stars_with_one_group_and_no_group_rounds(d, tau):
    rates: Any = {"eta": 0.1, "beta": 1.0, "rho": 1.0}
    star = tornado_bound("star", Divergences(delta=0, Delta=0, D=d), tau1=tau, **rates)
    assert star == tornado_bound("star-stars", Divergences(delta=d, Delta=0, D=d), tau1=tau, tau2=1, **rates)


@given(st.integers(1, 8), st.integers(1, 8))
def test_fedavg_ic_adds_the_way_to_go(tau1, tau2):
    rates: Any = {"eta": 0.1, "beta": 1.0, "rho": 2.0}
    whole = fedavg_ic_bound(MEASURED, tau1=tau1, tau2=tau2, omega=1.0, **rates)
    stray = tornado_bound("star-stars", MEASURED, tau1=tau1, tau2=tau2, **rates)
    assert whole - stray == pytest.approx(1 / (2 * tau1 * tau2 * 0.1), abs=1e-9 * whole)


@given(st.integers(1, 8), st.integers(2, 8))
def test_ring_stars_drift_for_less_long_than_star_rings(tau1, tau2):
    rates: Any = {"eta": 0.1, "beta": 1.0, "rho": 1.0}
    ring_stars = tornado_bound("ring-stars", MEASURED, tau1=tau1, tau2=tau2, **rates)
    assert ring_stars < tornado_bound("star-rings", MEASURED, tau1=tau1, tau2=tau2, **rates)


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        # 100 nodes in 10 groups, 1,000 steps, 10 between transfers: 100 transfers by each sender
        ("star", 100 * 100),
        ("ring", 100),
        ("star-stars", 100 * 100),
        ("star-rings", 10 * 100),
        ("ring-stars", 100 / 10 * 100),
        ("ring-rings", 100),
        ("stars", 100 * 100),
        ("rings", 10 * 100),
    ],
)
def test_traffic_by_hand(architecture, expected):
    assert tornado_traffic(architecture, nodes=100, groups=10, steps=1000, tau1=10) == expected


def test_star_stars_is_the_sum_of_group_and_global_aggregations():
    # M|N|(tau2 - 1) tau_c + M|N| tau_c with tau_c = T/(tau1 tau2) = 1000/(10 x 5) = 20
    assert tornado_traffic("star-stars", nodes=30, groups=3, steps=1000, tau1=10) == 30 * 4 * 20 + 30 * 20


@pytest.mark.parametrize("architecture", ["ring", "star-rings", "ring-stars", "ring-rings", "rings"])
def test_chains_multiply_a_rings_traffic(architecture):
    size = {"nodes": 12, "groups": 3, "steps": 20, "tau1": 2}
    assert tornado_traffic(architecture, chains=3, **size) == 3 * tornado_traffic(architecture, **size)


GROUPS = [[Train(i) for i in range(4 * k, 4 * k + 4)] for k in range(3)]
EVERYONE = [train for group in GROUPS for train in group]


@pytest.mark.parametrize(
    ("architecture", "plan", "transfers_each", "to_the_next_round"),
    [
        ("star", Star(EVERYONE), 1, 0),
        ("ring", Ring(EVERYONE), 12, 1),
        ("star-stars", Star(Star(group, rounds=5) for group in GROUPS), 5, 0),
        ("star-rings", Star(Ring(group) for group in GROUPS), 4, 0),
        ("ring-stars", Ring(Star(group, rounds=5) for group in GROUPS), 15, 0),
        ("ring-rings", Ring(Ring(group) for group in GROUPS), 12, 1),
        ("stars", Forest(Star(group) for group in GROUPS), 1, 0),
        ("rings", Forest(Ring(group) for group in GROUPS), 4, 3),
    ],
)
def test_a_plan_sends_as_many_one_way(architecture, plan, transfers_each, to_the_next_round):
    # 12 clients in 3 groups. What clients send, up or along; a ring's last client sends to the first of the next round.
    sent = sum(n for (source, _), n in transfers(plan).items() if source == "client")
    closed = tornado_traffic(architecture, nodes=12, groups=3, steps=transfers_each, tau1=1)
    assert sent + to_the_next_round == closed


@pytest.mark.parametrize("architecture", SINGLE)
def test_without_group_rounds_there_is_no_tau2(architecture):
    with pytest.raises(BadValue, match="tau2 is 2; allowed is 1"):
        tornado_bound(architecture, MEASURED, tau1=2, tau2=2, eta=0.1, beta=1, rho=1)


@pytest.mark.parametrize("architecture", ["star", "star-stars", "stars"])
def test_without_a_ring_there_are_no_chains(architecture):
    with pytest.raises(BadValue, match="chains is 2; allowed is 1"):
        tornado_traffic(architecture, nodes=4, groups=2, steps=4, tau1=1, chains=2)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'star-stars'"):
        tornado_bound("star-star", MEASURED, tau1=1, eta=0.1, beta=1, rho=1)
    with pytest.raises(UnknownName):
        tornado_traffic("tree", nodes=2, steps=1, tau1=1)
    with pytest.raises(BadValue, match="groups is 5; allowed is at most 4"):
        tornado_traffic("stars", nodes=4, groups=5, steps=1, tau1=1)
