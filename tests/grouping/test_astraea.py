import numpy as np

from covey.grouping.astraea import astraea


def test_mediators_are_filled_by_least_divergence():
    # (6, 6) is even and opens; (4, 5) keeps it nearest to even: (10, 11); then (9, 0) with (0, 8)
    labels = np.array([[9, 0], [0, 8], [6, 6], [4, 5]])
    assert astraea(labels, groups=2, rng=np.random.default_rng(0)).groups == ((2, 3), (0, 1))


def test_nothing_is_random(fleet):
    labels = fleet(23)
    first, second = (astraea(labels, min_size=4, rng=np.random.default_rng(seed)) for seed in (0, 1))
    assert first == second
    assert first.sizes.tolist() == [5, 5, 5, 4, 4]
