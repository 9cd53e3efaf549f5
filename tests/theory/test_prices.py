import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.prices import CIFAR_SECURE
from covey.theory import PRICES, Prices, round_cost, total_cost

SIMPLE = Prices(group=(1, 2, 3), train=(4, 5))  # g^2 + 2 g + 3, 4 n + 5


def test_cifar_with_secure_aggregation_by_hand():
    # A group of 5: 0.01629675 x 25 - 0.02373668 x 5 + 0.55442565 = 0.843161; 60 samples: 0.07093414 x 60 - 0.00559966
    assert CIFAR_SECURE.group_seconds(5) == pytest.approx(0.84316100)
    assert CIFAR_SECURE.train_seconds(60) == pytest.approx(4.25044874)


def test_one_round_by_hand():
    # Group {0, 2}: 4 + 4 + 3 = 11 each; group {1}: 1 + 2 + 3 = 6. Training: 4 n + 5 = 9, 13, 17.
    # K = 3, E = 2: 3 ((11 + 2 x 9) + (6 + 2 x 13) + (11 + 2 x 17)) = 3 (29 + 32 + 45)
    assert round_cost([(0, 2), (1,)], [1, 2, 3], K=3, E=2, prices=SIMPLE) == 318


def test_a_training_is_the_sum_of_its_rounds():
    rounds: list[list[tuple[int, ...]]] = [[(0, 1)], [(2,)], [(0, 1), (2,)]]
    once = [round_cost(groups, [1, 2, 3], K=2, E=1, prices=SIMPLE) for groups in rounds]
    assert total_cost(rounds, [1, 2, 3], K=2, E=1, prices=SIMPLE) == sum(once)
    assert once[2] == once[0] + once[1]
    assert total_cost([], [1, 2, 3], K=2, E=1, prices=SIMPLE) == 0


@pytest.mark.parametrize("prices", [entry.thing for entry in PRICES], ids=PRICES.names)
@given(st.integers(1, 50), st.integers(1, 500))
def test_no_price_is_negative_and_big_groups_cost_more(prices, size, samples):
    assert prices.group_seconds(size) >= 0
    assert prices.train_seconds(samples) > 0
    assert prices.group_seconds(size + 10) > prices.group_seconds(size)
    assert prices.train_seconds(samples + 1) > prices.train_seconds(samples)


def test_a_fit_below_0_counts_as_0():
    # Backdoor detection for one client: 0.00548707 + 0.0038231 - 0.06900253 < 0
    assert PRICES["cifar-backdoor"].group_seconds(1) == 0


def test_halving_a_group_saves_group_operations():
    sizes = [10] * 20
    whole = round_cost([range(20)], sizes, K=1, E=1)
    halves = round_cost([range(10), range(10, 20)], sizes, K=1, E=1)
    # 20 clients, each with 0.01629675 x (400 - 100) - 0.02373668 x (20 - 10) seconds less
    assert whole - halves == pytest.approx(20 * (0.01629675 * 300 - 0.02373668 * 10))


@pytest.mark.parametrize("change", [{"K": 0}, {"E": 0}])
def test_rounds_are_counted_from_1(change):
    with pytest.raises(BadValue):
        round_cost([(0,)], [1], **{"K": 1, "E": 1} | change)
