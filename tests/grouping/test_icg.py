from itertools import combinations

import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.icg import _equal_assignment, equal_clusters, icg


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("clients", "groups", "size", "idle"),
    [
        (364, 52, 7, 0),  # 364 = 52 x 7
        (368, 130, 2, 108),  # L = 2 clusters of 184, groups take 130 of each: 2 x 54 sit out
        (368, 100, 3, 68),  # L = 3 clusters of 122: 2 not drawn, 3 x 22 not taken
        (5, 5, 1, 0),
        (7, 1, 7, 0),
    ],
)
def test_sizes_are_the_papers(fleet, clients, groups, size, idle):
    grouping = icg(fleet(clients, 4), groups=groups, rng=rng())
    assert grouping.sizes.tolist() == [size] * groups
    assert len(grouping.left_out) == idle


@pytest.mark.parametrize("deal", ["random", "assign"])
def test_the_rest_can_be_dealt_out(fleet, deal):
    grouping = icg(fleet(368, 4), groups=100, rest="deal", deal=deal, rng=rng())
    assert not grouping.left_out
    assert np.bincount(grouping.sizes).tolist() == [0, 0, 0, 32, 68]  # 368 = 32 x 3 + 68 x 4


def test_every_group_has_one_of_every_cluster():
    kinds = np.repeat(np.eye(3, dtype=int) * 50, 8, axis=0)  # three clusters of eight
    grouping = icg(kinds, groups=8, rng=rng(1))
    assert grouping.sums(kinds).tolist() == [[50, 50, 50]] * 8


def test_the_assignment_draw_lowers_the_pairwise_distances(fleet):
    labels = fleet(364, 62)
    drawn, assigned = (
        icg(labels, groups=52, deal=deal, rng=rng()).sums(labels).astype(float) for deal in ("random", "assign")
    )

    def summed(sums):
        return sum(float(((a - b) ** 2).sum()) for a, b in combinations(sums, 2))

    assert summed(assigned) < 0.6 * summed(drawn)


def test_a_large_assignment_is_cut_into_parts(monkeypatch, fleet):
    monkeypatch.setattr("covey.grouping.icg.BLOCK", 5)
    labels = fleet(48, 4)
    grouping = icg(labels, groups=12, deal="assign", rng=rng())
    assert grouping.sizes.tolist() == [4] * 12


def test_the_flow_is_an_optimal_equal_assignment():
    cost = rng(3).random((6, 2))
    chosen = _equal_assignment(cost, 3)
    best = min(sum(cost[i, 0] if i in first else cost[i, 1] for i in range(6)) for first in combinations(range(6), 3))
    assert np.bincount(chosen).tolist() == [3, 3]
    assert np.isclose(cost[np.arange(6), chosen].sum(), best)


def test_clusters_are_equal_even_when_points_are_not():
    points = np.array([[0.0]] * 9 + [[100.0]])
    assert np.bincount(equal_clusters(points, 2, iterations=10, rng=rng())).tolist() == [5, 5]


@pytest.mark.parametrize("wrong", [{"deal": "best"}, {"rest": "drop"}, {"iterations": 0}])
def test_bad_options(wrong, fleet):
    with pytest.raises(BadValue, match=f"{next(iter(wrong))} is"):
        icg(fleet(10), rng=rng(), **wrong)
