import numpy as np
import pytest
from tests.tiny import random_fleet

from covey.algorithms import NaiveGSP, make_algorithm
from covey.errors import BadValue
from covey.fleet import Fleet
from covey.plan import Ring, Star, clients

SIZES = (7, 4, 9, 3, 6, 5, 8)


@pytest.mark.parametrize("name", ["naive-gsp", "naive-gsp-icg"])
def test_groups_and_orders_stay(name):
    fleet, algorithm = random_fleet(SIZES), make_algorithm(name, {"groups": 3, "kappa": 1.0})
    state = algorithm.start(fleet, np.random.default_rng(0))
    plans = [algorithm.plan(r, fleet, state, np.random.default_rng(r)) for r in (1, 2)]
    assert plans[0] == plans[1]
    assert isinstance(plans[0], Star)
    assert all(isinstance(ring, Ring) for ring in plans[0].children)
    assert clients(plans[0]) == set(range(7))


def test_a_share_of_the_groups_takes_part():
    fleet, algorithm = random_fleet(SIZES * 4), NaiveGSP()
    plan = algorithm.plan(1, fleet, algorithm.start(fleet, np.random.default_rng(0)), np.random.default_rng(0))
    assert len(plan.children) == 3


def test_icg_groups_hold_one_of_each_kind():
    fleet = Fleet(np.eye(4, dtype=int)[np.arange(40) % 4] * 5)
    for members in make_algorithm("naive-gsp-icg").start(fleet, np.random.default_rng(0))["groups"]:
        assert fleet.labels[members].sum(axis=0).tolist() == [5, 5, 5, 5]
    with pytest.raises(BadValue, match="grouping is 'random'; allowed is 'icg'"):
        make_algorithm("naive-gsp-icg", {"grouping": "random"})


def test_orders_are_random_and_groups_at_most_one_a_client():
    fleet = random_fleet((4,) * 8)
    orders = {tuple(NaiveGSP(groups=1).start(fleet, np.random.default_rng(s))["groups"][0]) for s in range(6)}
    assert len(orders) > 1
    # grouping itself shuffles nothing inside a group that holds one of each kind
    icg = [make_algorithm("naive-gsp-icg", {"groups": 1}).start(fleet, np.random.default_rng(s)) for s in range(6)]
    assert len({tuple(state["groups"][0]) for state in icg}) > 1
    assert len(NaiveGSP(groups=50).start(fleet, np.random.default_rng(0))["groups"]) == 8
