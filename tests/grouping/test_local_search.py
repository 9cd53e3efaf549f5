from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.grouping import Grouping, swap_search
from covey.grouping.cov import cov
from covey.grouping.measures import cov_of
from covey.grouping.simple import random


def total(labels, grouping):
    return float(cov_of(grouping.sums(labels)).sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 24), st.booleans())
def test_the_sum_never_rises_and_nobody_is_lost(seed, n, moves):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 9, (n, 4)) * (rng.random((n, 4)) < 0.5)
    before = random(labels, groups=rng.integers(1, n + 1), rng=rng)
    after = swap_search(labels, before, passes=2, moves=moves, rng=rng)
    assert total(labels, after) <= total(labels, before) + 1e-9
    assert sorted(i for g in after for i in g) == list(range(n))
    if not moves:
        assert after.sizes.tolist() == before.sizes.tolist()


def test_at_the_end_no_single_trade_helps(fleet):
    labels = fleet(18, 5)
    found = swap_search(
        labels, random(labels, groups=4, rng=np.random.default_rng(0)), passes=99, rng=np.random.default_rng(1)
    )
    best = total(labels, found)
    for a, b in combinations(range(4), 2):
        for i, c in enumerate(found.groups[a]):
            for j, d in enumerate(found.groups[b]):
                groups = [list(g) for g in found]
                groups[a][i], groups[b][j] = d, c
                assert total(labels, Grouping(tuple(map(tuple, groups)))) > best - 1e-6


def test_moves_keep_the_least_size(fleet):
    labels = fleet(40)
    before = random(labels, groups=8, rng=np.random.default_rng(0))
    free, bound = (
        swap_search(labels, before, passes=3, moves=True, min_size=least, rng=np.random.default_rng(0))
        for least in (1, 4)
    )
    assert bound.sizes.min() >= 4
    assert total(labels, free) <= total(labels, before)


def test_who_was_left_out_stays_out(fleet):
    before = Grouping(((0, 1, 2), (3, 4, 5)), left_out=(6, 7))
    after = swap_search(fleet(8), before, rng=np.random.default_rng(0))
    assert after.left_out == (6, 7)


def test_no_passes_change_nothing(fleet):
    before = Grouping(((0, 1), (2, 3)))
    assert swap_search(fleet(4), before, passes=0, rng=np.random.default_rng(0)) is before
    with pytest.raises(BadValue, match="passes is -1"):
        swap_search(fleet(4), before, passes=-1, rng=np.random.default_rng(0))


def test_three_passes_take_a_fifth_off_a_large_fleets_sum(fleet):
    labels = fleet(500, 10, 0.3)
    before = cov(labels, min_size=5, rng=np.random.default_rng(0))
    after = swap_search(labels, before, passes=3, rng=np.random.default_rng(0))
    assert total(labels, after) < 0.8 * total(labels, before)
