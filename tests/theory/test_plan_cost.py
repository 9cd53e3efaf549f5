import pytest

from covey.plan import Forest, Mesh, Ring, Star, Train, cloud, edge
from covey.theory import PRICES, Prices, plan_cost, round_cost

BY_HAND = Prices(group=(1, 0, 0), train=(1, 0))  # g^2 a client and group operation, n an epoch
SIZES = [3, 5, 7, 2]


def cost(plan, epochs=1):
    return plan_cost(plan, SIZES, epochs=epochs, prices=BY_HAND)


def test_groups_under_a_cloud_are_eq_5():
    groups, prices = [(0, 1), (2, 3)], PRICES["cifar-secure"]
    stars = [Star((Train(i, 2) for i in g), rounds=3, at=edge(0)) for g in groups]
    expected = round_cost(groups, SIZES, K=3, E=2, prices=prices)
    assert plan_cost(Star(stars), SIZES, epochs=9, prices=prices) == pytest.approx(expected)


def test_fedavg_is_one_group():
    assert cost(Star(Train(i) for i in range(3)), epochs=2) == 3 * 3**2 + 2 * (3 + 5 + 7)


def test_in_a_ring_only_the_last_model_meets_others():
    assert cost(Ring([Train(0), Train(1)])) == 3 + 5
    assert cost(Star([Ring([Train(0), Train(1)]), Ring([Train(2), Train(3)])])) == 2 * 2**2 + (3 + 5 + 7 + 2)


def test_nobody_else_pays():
    assert cost(Forest([Train(0), Train(1)])) == 3 + 5
    assert cost(Mesh([Train(0), Train(1)], links=[(0, 1)])) == 3 + 5
    assert cost(Star([Star([Train(0)], at=edge(0)), Star([Train(1)], at=edge(1))], at=cloud)) == 1 + 3 + 1 + 5
