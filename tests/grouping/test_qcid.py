import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.measures import qcid_of
from covey.grouping.qcid import qcid
from covey.grouping.simple import random


def test_the_second_member_is_drawn_with_odds_qcid_to_the_minus_two():
    # with client 0 = (8, 0): client 1 gives (8, 4), QCID = (8/12)^2 + (4/12)^2 - 1/2 = 1/18; client 2 gives (8, 2),
    # QCID = .64 + .04 - .5 = .18; odds 18^2 = 324 to (1/.18)^2 = 30.86, so 91.3 % of pairs with client 0 are (0, 1)
    labels = np.array([[8, 0], [0, 4], [0, 2]])
    rng = np.random.default_rng(0)
    partners: list[int] = []
    while len(partners) < 1000:
        first = qcid(labels, groups=1, rng=rng).groups[0]
        if first[0] == 0:
            partners.append(first[1])
    expected = 324 / (324 + 1 / 0.18**2)
    assert abs(np.mean(np.array(partners) == 1) - expected) < 0.03


def test_exploration_evens_out_the_first_draw():
    # without it a balanced client always opens the first group; in later groups sqrt(1.5 ln k) weighs in
    labels = np.array([[5, 5], [9, 1], [5, 5], [9, 1]])
    greedy = [qcid(labels, groups=4, explore=0.0, rng=np.random.default_rng(s)).groups[1][0] for s in range(40)]
    open_minded = [qcid(labels, groups=4, explore=1e13, rng=np.random.default_rng(s)).groups[1][0] for s in range(40)]
    assert set(greedy) == {0, 2}
    assert set(open_minded) == {0, 1, 2, 3}


def test_large_groups_do_not_overflow(fleet):
    labels = fleet(400)
    grouping = qcid(labels, groups=2, rng=np.random.default_rng(0))
    by_chance = random(labels, groups=2, rng=np.random.default_rng(0))
    assert qcid_of(grouping.sums(labels))[0] < qcid_of(by_chance.sums(labels)).min()


def test_bad_explore():
    with pytest.raises(BadValue, match="explore is -1"):
        qcid(np.ones((2, 2), int), explore=-1, rng=np.random.default_rng(0))
