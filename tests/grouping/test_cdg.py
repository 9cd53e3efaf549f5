import numpy as np

from covey.grouping.cdg import cdg


def test_every_cluster_is_dealt_over_all_groups():
    kinds = np.repeat(np.eye(3, dtype=int) * 90, 4, axis=0)  # three kinds of four clients, four groups
    grouping = cdg(kinds, groups=4, rng=np.random.default_rng(0))
    assert grouping.sums(kinds).tolist() == [[90, 90, 90]] * 4


def test_a_deal_goes_on_where_the_last_one_stopped():
    # 5 of one kind and 5 of another over 3 groups: sizes 4, 3, 3 rather than 4, 4, 2
    kinds = np.repeat(np.eye(2, dtype=int) * 9, 5, axis=0)
    assert cdg(kinds, groups=3, rng=np.random.default_rng(0)).sizes.tolist() == [4, 3, 3]


def test_fewer_kinds_of_clients_than_clusters_is_no_problem():
    assert cdg(np.full((9, 2), 3), groups=3, rng=np.random.default_rng(0)).sizes.tolist() == [3, 3, 3]
