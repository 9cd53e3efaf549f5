import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.cdg import cdg


def test_every_cluster_is_dealt_over_all_groups():
    kinds = np.repeat(np.eye(3, dtype=int) * 90, 4, axis=0)  # three kinds of four clients, four groups
    grouping = cdg(kinds, groups=4, rng=np.random.default_rng(0))
    assert grouping.sums(kinds).tolist() == [[90, 90, 90]] * 4


KINDS = np.repeat(np.eye(2, dtype=int) * 9, 5, axis=0)  # five clients of one kind, five of another


def test_every_deal_begins_with_the_first_group():
    # over 3 groups: 2 + 2, 2 + 2, 1 + 1 and not 4, 3, 3
    grouping = cdg(KINDS, groups=3, rng=np.random.default_rng(0))
    assert grouping.sizes.tolist() == [4, 4, 2]
    assert grouping.sums(KINDS).tolist() == [[18, 18], [18, 18], [9, 9]]


def test_groups_that_came_out_too_small_are_filled_up_or_left_out():
    filled, dropped = (cdg(KINDS, min_size=3, drop=drop, rng=np.random.default_rng(0)) for drop in (False, True))
    assert sorted(filled.sizes.tolist()) == [3, 3, 4]
    assert not filled.left_out
    assert dropped.sizes.tolist() == [4, 4]
    assert len(dropped.left_out) == 2


def test_nothing_can_be_dropped_without_a_least_size():
    with pytest.raises(BadValue, match="drop is True; allowed is False without a min_size"):
        cdg(KINDS, groups=3, drop=True, rng=np.random.default_rng(0))


def test_fewer_kinds_of_clients_than_clusters_is_no_problem():
    assert cdg(np.full((9, 2), 3), groups=3, rng=np.random.default_rng(0)).sizes.tolist() == [3, 3, 3]
