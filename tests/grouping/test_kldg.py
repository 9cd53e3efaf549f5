import math

import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.kldg import kldg, smoothed_kl


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_groups_equal_those_of_the_literal_algorithm(literal, fleet, seed, alpha):
    labels = fleet(40, 10, alpha, seed)
    seeds = rng(seed).choice(40, 8, replace=False).tolist()
    assert [list(g) for g in kldg(labels, groups=8, rng=rng(seed))] == literal.kldg(labels.tolist(), seeds=seeds)


def test_divergence_counts_an_empty_label_as_one_sample():
    # counts (7, 0) become (7, 1): 7/8 ln(2 x 7/8) + 1/8 ln(2 x 1/8)
    expected = 7 / 8 * math.log(7 / 4) + 1 / 8 * math.log(1 / 4)
    assert np.isclose(smoothed_kl(np.array([7.0, 0.0])), expected)


def test_min_size_holds_though_the_criterion_would_starve_groups():
    # one client holds everything: without a floor the empty ones go wherever ties send them
    labels = np.zeros((12, 3), dtype=int)
    labels[0] = 50
    for seed in range(5):
        assert kldg(labels, min_size=4, rng=rng(seed)).sizes.tolist() == [4, 4, 4]
        assert kldg(labels, groups=2, min_size=5, rng=rng(seed)).sizes.min() >= 5


def test_called_by_number_of_groups_sizes_are_free(fleet):
    sizes = kldg(fleet(100, 10, 0.1), groups=20, rng=rng()).sizes
    assert sum(sizes) == 100
    assert sizes.min() < 5 < sizes.max()  # by min_size all would have five


def test_groups_that_stay_too_small_can_be_left_out(fleet):
    labels = fleet(100, 10, 0.1)
    free, dropped = kldg(labels, groups=20, rng=rng()), kldg(labels, min_size=5, drop=True, rng=rng())
    assert list(dropped) == [g for g in free if len(g) >= 5]
    assert set(dropped.left_out) == {i for g in free if len(g) < 5 for i in g}
    with pytest.raises(BadValue, match="drop is True; allowed is False without a min_size"):
        kldg(labels, groups=20, drop=True, rng=rng())
