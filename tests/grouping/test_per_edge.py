import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.cdg import cdg
from covey.grouping.cov import cov
from covey.grouping.kldg import kldg
from covey.grouping.per_edge import share_out
from covey.grouping.qcid import qcid


@pytest.mark.parametrize("method", [cov, kldg, cdg, qcid])
def test_groups_stay_inside_their_edge(method, fleet):
    edges = np.random.default_rng(3).integers(0, 4, 60)
    grouping = method(fleet(60), min_size=4, edges=edges, rng=np.random.default_rng(0))
    assert all(len(set(edges[list(members)])) == 1 for members in grouping)
    assert grouping.sizes.min() >= 4


@pytest.mark.parametrize("method", [cov, kldg, cdg, qcid])
def test_an_edge_does_not_depend_on_what_the_others_hold(method, fleet):
    labels, edges = fleet(40), np.repeat([0, 1], 20)
    changed = labels.copy()
    changed[20:] = changed[20:][::-1]
    first, second = (
        method(table, min_size=5, edges=edges, rng=np.random.default_rng(0)) for table in (labels, changed)
    )
    assert [g for g in first if max(g) < 20] == [g for g in second if max(g) < 20]


def test_an_edge_with_too_few_clients_is_one_group_unless_a_least_size_is_asked_for(fleet):
    edges = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    grouping = cov(fleet(8), edges=edges, rng=np.random.default_rng(0))
    assert sorted(grouping.sizes.tolist()) == [2, 6]
    with pytest.raises(BadValue, match="min_size is 3; allowed is at most 2, the clients of the smallest edge"):
        cov(fleet(8), min_size=3, edges=edges, rng=np.random.default_rng(0))


def test_sizes_that_an_edge_cannot_be_split_into_are_refused(fleet):
    edges = np.repeat([0, 1], [7, 5])  # 7 = 3 + 4; 5 does not go into groups of 3 or 4
    with pytest.raises(BadValue, match="max_size is 4; allowed is more: 5 clients do not go into groups of 3 to 4"):
        cov(fleet(12), min_size=3, max_size=4, edges=edges, rng=np.random.default_rng(0))


def test_groups_are_shared_out_by_clients():
    # one each, then 30/1.5 = 20 beats 10/1.5, then 30/2.5 = 12 beats 6.7, then 30/3.5 = 8.6
    assert share_out(5, [10, 30]) == [1, 4]
    assert share_out(2, [1, 100]) == [1, 1]
    assert share_out(4, [2, 100]) == [1, 3]
    # at most ten clients a group: 3 and 1 at least; at least ten: 2 and 1 at most
    assert share_out(4, [21, 10], most=10) == [3, 1]
    assert share_out(3, [21, 10], least=10) == [2, 1]
    # 19/1.5 is more than 60/5.5, but the first edge can have no second group of ten
    assert share_out(7, [19, 60], least=10) == [1, 6]
    with pytest.raises(BadValue, match="groups is 5; allowed is from 2 to 3"):
        share_out(5, [21, 10], least=10)


def test_fewer_groups_than_edges_is_refused(fleet):
    with pytest.raises(BadValue, match="groups is 2; allowed is from 3 to 6, what 3 edges and the sizes allow"):
        cov(fleet(6), groups=2, edges=np.array([0, 0, 1, 1, 2, 2]), rng=np.random.default_rng(0))
