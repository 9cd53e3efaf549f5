import math

import numpy as np
import pytest

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
