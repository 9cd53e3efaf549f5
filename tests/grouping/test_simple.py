import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.simple import edge, random


def test_random_groups_are_even_and_differ_by_seed():
    first, second = (random(np.ones((10, 1), int), groups=4, rng=np.random.default_rng(seed)) for seed in (0, 1))
    assert first.sizes.tolist() == [3, 3, 2, 2]
    assert first != second


def test_edges_must_agree_with_what_is_asked_for():
    labels, edges = np.ones((5, 1), int), np.array([0, 0, 0, 7, 7])
    assert edge(labels, edges=edges, groups=2, rng=np.random.default_rng(0)).groups == ((0, 1, 2), (3, 4))
    with pytest.raises(BadValue, match="groups is 3; allowed is 2, one per edge"):
        edge(labels, edges=edges, groups=3, rng=np.random.default_rng(0))
    with pytest.raises(BadValue, match="min_size is 3; allowed is at most 2, the clients of the smallest edge"):
        edge(labels, edges=edges, min_size=3, rng=np.random.default_rng(0))
