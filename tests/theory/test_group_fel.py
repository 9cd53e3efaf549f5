from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.theory import client_spread, group_fel_bound, group_spread, largest_rate, sampling_spread

counts = st.lists(st.integers(1, 200), min_size=1, max_size=12)
# Everything 1 but eta = 0.1 and T = 10.
ONES: Any = {"loss_gap": 1, "T": 10, "K": 1, "E": 1, "S": 1, "eta": 0.1, "L": 1, "sigma": 1, "zeta": 1, "zeta_g": 1}


@given(counts)
def test_gamma_is_the_papers_expression(sizes):
    n = np.array(sizes)
    expected = len(n) ** 2 * (1 / len(n) ** 2 + np.var(n / n.sum()))  # Eq. 11
    assert client_spread(sizes, [range(len(n))]) == pytest.approx([expected])
    assert group_spread(sizes, [[i] for i in range(len(n))]) == pytest.approx(expected)  # Eq. 12 has the same form


@given(counts, st.integers(2, 9))
def test_spreads_do_not_see_the_scale(sizes, times):
    everyone = [range(len(sizes))]
    assert client_spread(sizes, everyone) == pytest.approx(client_spread([times * n for n in sizes], everyone))


def test_equal_counts_have_no_spread():
    assert client_spread([7, 7, 7, 2], [[0, 1, 2], [3]]).tolist() == [1, 1]
    assert group_spread([4, 2, 6], [[0, 1], [2]]) == 1


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=10))
def test_uniform_sampling_has_the_smallest_spread(weights):
    p = np.array(weights) / sum(weights)
    groups = len(p)
    assert sampling_spread(np.full(groups, 1 / groups)) == pytest.approx(groups**2)
    assert sampling_spread(p) >= groups**2 - 1e-6


def test_bound_by_hand():
    # lambda_f = 30 x 0.01 (1 + 90 x 0.01) = 0.57; lambda_1 = 0.5 - 3 x 0.57 x 0.1 = 0.329
    # lambda_sigma = 5 x 0.01 (1 + (7 + 9) x 10 x 0.01 + 18) = 1.03; lambda_2 = 3 x 1.03 + 5 x 0.01 = 3.14
    # lambda_3 = 2700 x 0.0001 = 0.27; lambda_4 = 90 x 0.01 = 0.9; lambda_s = 0.1 (1 + 10 x 0.01) = 0.11
    bound = group_fel_bound(**ONES)
    assert bound.descent == pytest.approx(1 / (0.329 * 0.1 * 10))
    assert bound.sampling == pytest.approx(0.11 / 0.329)
    assert bound.heterogeneity == pytest.approx((3.14 + 0.27 + 0.9) / 0.329)
    assert bound.total == bound.descent + bound.sampling + bound.heterogeneity


def test_bound_by_hand_where_every_constant_differs():
    T, K, E, S, eta, L, size = 100, 2, 3, 4, 0.001, 2, 5
    sigma, zeta, zeta_g, gamma, big_gamma, gamma_p = 0.5, 0.7, 0.3, 1.2, 1.5, 30
    lambda_f = 30 * eta**2 * K**2 * (1 + 90 * gamma * eta**2 * E**2 * L**2)
    lambda_1 = 0.5 - 3 * lambda_f * eta * gamma * big_gamma * K * E * L**2
    # ((1 + 6 K) E + 9 K) = 13 x 3 + 18 = 57
    lambda_sigma = 5 * 2 * eta**2 * 9 * (1 + 57 * 10 * eta**2 * 3 * 4 + 18 * 2 / (5 * 3))
    lambda_2 = 3 * lambda_sigma * gamma * 4 + 5 * eta**2 * 9 * 4
    lambda_3 = 2700 * eta**4 * gamma * 4 * 81 * 4
    lambda_4 = 90 * eta**2 * 4 * 9 * 4
    lambda_s = eta * gamma * big_gamma * 4 * (1 + 10 * eta**2 * 9 * 4 * sigma**2)
    given_: Any = {"loss_gap": 2.0, "T": T, "K": K, "E": E, "S": S, "eta": eta, "L": L, "group_size": size}
    given_ |= {"sigma": sigma, "zeta": zeta, "zeta_g": zeta_g, "gamma": gamma, "Gamma": big_gamma, "Gamma_p": gamma_p}
    bound = group_fel_bound(**given_)
    assert bound.descent == pytest.approx(2 / (lambda_1 * eta * T * K * E))
    assert bound.sampling == pytest.approx(lambda_s * gamma_p / S / (lambda_1 * K * E))
    noise = lambda_2 * sigma**2 + lambda_3 * zeta**2 + lambda_4 * zeta_g**2
    assert bound.heterogeneity == pytest.approx(gamma * big_gamma * noise / lambda_1)
    proved = group_fel_bound(**given_, lambda_s="proved")
    lambda_s_proved = eta * gamma * big_gamma * 4 * 9 * (1 + 10 * eta**2 * 9 * 4) * sigma**2
    assert proved.sampling == pytest.approx(lambda_s_proved * gamma_p / S / (lambda_1 * K * E))


def test_full_gradients_of_equal_clients_leave_only_the_way_to_go_as_proved():
    same = ONES | {"sigma": 0, "zeta": 0, "zeta_g": 0}
    proved = group_fel_bound(**same, lambda_s="proved")
    assert (proved.sampling, proved.heterogeneity) == (0, 0)
    assert group_fel_bound(**same).sampling > 0  # Eq. 13 as printed


@given(st.floats(0, 5), st.floats(0.01, 5))
def test_unlike_groups_slow_down(zeta_g, more):
    # First observation of section 3.
    assert (
        group_fel_bound(**ONES | {"zeta_g": zeta_g + more}).total > group_fel_bound(**ONES | {"zeta_g": zeta_g}).total
    )


@given(st.floats(1, 100), st.floats(0.1, 100))
def test_uneven_sampling_slows_down(gamma_p, more):
    # Second observation.
    even, uneven = group_fel_bound(**ONES, Gamma_p=gamma_p), group_fel_bound(**ONES, Gamma_p=gamma_p + more)
    assert uneven.sampling > even.sampling
    assert uneven.heterogeneity == even.heterogeneity


@given(st.floats(1, 2), st.floats(0.01, 0.5), st.sampled_from(["gamma", "Gamma"]))
def test_uneven_clients_and_groups_slow_down(spread, more, name):
    # Third observation; the rate is small enough for all of them.
    slow = ONES | {"eta": 0.01}
    assert group_fel_bound(**slow, **{name: spread + more}).total > group_fel_bound(**slow, **{name: spread}).total


def test_more_rounds_and_more_groups_help():
    assert group_fel_bound(**ONES | {"T": 1000}).descent == pytest.approx(group_fel_bound(**ONES).descent / 100)
    assert group_fel_bound(**ONES | {"S": 4}).sampling == pytest.approx(group_fel_bound(**ONES).sampling / 4)


def test_the_bound_vanishes_with_the_rate_the_paper_names():
    # eta = 1/sqrt T: descent falls as 1/sqrt T, so do the other terms or faster.
    totals = [group_fel_bound(**ONES | {"T": T, "eta": 1 / sqrt(T)}).total for T in (10**4, 10**6, 10**8)]
    assert totals[0] > 9 * totals[1] > 81 * totals[2]


def test_largest_rate_by_hand():
    assert largest_rate(K=5, E=2, L=0.01) == 1 / 20  # Eq. 19: 1/(2 x 5 x 2)
    assert largest_rate(K=1, E=3, L=10) == pytest.approx(1 / sqrt(6 * 2 * 5 * 100))  # Eq. 19, second
    assert largest_rate(K=3, E=1, L=2, gamma=1.5) == pytest.approx(1 / sqrt(36 * 1.5 * 2 * 5 * 4))  # Eq. 20


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"eta": 0.6}, "eta is 0.6; allowed is at most 0.5"),
        ({"eta": 0.4}, "lambda_1"),  # 0.5 - 3 x 30 x 0.16 (1 + 90 x 0.16) x 0.4 < 0
        ({"S": 0}, "S is 0"),
        ({"sigma": -1}, "sigma is -1"),
        ({"lambda_s": "guessed"}, "lambda_s is 'guessed'"),
    ],
)
def test_what_makes_no_sense_is_refused(change, sentence):
    with pytest.raises(BadValue, match=sentence):
        group_fel_bound(**ONES | change)


@pytest.mark.parametrize("p", [[], [0.5, 0.6], [1.0, 0.0], [[0.5, 0.5]]])
def test_probabilities_are_above_0_and_add_up_to_1(p):
    with pytest.raises(BadValue, match="probabilities"):
        sampling_spread(p)
