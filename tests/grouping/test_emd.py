from itertools import permutations

import numpy as np
import pytest

from covey.grouping.emd import emd_cluster, emd_iid
from covey.grouping.measures import emd_of


def rng(seed=0):
    return np.random.default_rng(seed)


def iid_cost(labels, groups):
    sums = np.array([labels[list(g)].sum(axis=0) for g in groups])
    return sums.sum(axis=1) @ emd_of(sums, labels.sum(axis=0)) / labels.sum()


def cluster_cost(labels, groups):
    far = [labels[i].sum() * emd_of(labels[[i]], labels[list(g)].sum(axis=0))[0] for g in groups for i in g]
    return sum(far) / labels.sum()


def test_the_cost_of_two_groups_by_hand():
    # all: 6 and 6, shares 1/2; groups hold (4, 2) and (2, 4): EMD 2/6 each, weighted 6/12 each
    labels = np.array([[4, 0], [0, 2], [2, 0], [0, 4]])
    assert iid_cost(labels, [(0, 1), (2, 3)]) == pytest.approx(1 / 3)
    # (4, 2): shares 2/3, 1/3; client (4, 0) is 2/3 away, client (0, 2) is 4/3: 4 x 2/3 + 2 x 4/3 = 16/3, twice, over 12
    assert cluster_cost(labels, [(0, 1), (2, 3)]) == pytest.approx(2 * 16 / 3 / 12)


@pytest.mark.parametrize(("method", "cost"), [(emd_iid, iid_cost), (emd_cluster, cluster_cost)])
@pytest.mark.parametrize("seed", range(3))
def test_near_the_best_of_all_even_groupings(fleet, method, cost, seed):
    labels = fleet(8, 4, 0.3, seed)
    every = {frozenset((frozenset(p[:4]), frozenset(p[4:]))) for p in permutations(range(8)) if p[0] == 0}
    tried = sorted(cost(labels, groups) for groups in every)
    found = min(cost(labels, method(labels, groups=2, steady=5, rng=rng(s))) for s in range(3))
    assert found <= tried[len(tried) // 5] + 1e-9


@pytest.mark.parametrize("method", [emd_iid, emd_cluster])
@pytest.mark.parametrize(("n", "groups"), [(20, 4), (23, 4), (7, 7), (9, 1)])
def test_no_group_has_more_than_its_share(fleet, method, n, groups):
    found = method(fleet(n), groups=groups, rng=rng())
    assert len(found) == groups
    assert found.sizes.max() <= -(-n // groups)


def test_each_is_best_at_its_own_cost(fleet):
    labels = fleet(60, 10, 0.2)
    iid, cluster = emd_iid(labels, groups=6, rng=rng()), emd_cluster(labels, groups=6, rng=rng())
    assert iid_cost(labels, iid) < cluster_cost(labels, cluster) < cluster_cost(labels, iid)
    assert iid_cost(labels, iid) < iid_cost(labels, cluster)
