import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping import GROUPINGS, Grouping, check_labels, group, how_many, missing, options
from covey.grouping.base import even_sizes


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"groups": ((0, 1), (1,))}, "client 1 twice"),
        ({"groups": ((0,),), "left_out": (0,)}, "client 0 twice"),
        ({"groups": ((5, 2), (2, 5))}, "client 2 twice"),
        ({"groups": ((0,), ())}, "groups of at least one client"),
        ({"groups": ((-1,),)}, "clients from 0 up"),
        ({"groups": ((0,), (1,)), "heads": (0,)}, "one member of every group"),
        ({"groups": ((0,), (1,)), "heads": (1, 0)}, "one member of every group"),
        ({"groups": ((0,), (1,)), "links": ((0, 2),)}, "pairs of different groups from 0 to 1"),
        ({"groups": ((0,), (1,)), "links": ((1, 1),)}, "pairs of different groups"),
    ],
)
def test_a_grouping_that_means_nothing_is_refused(wrong, sentence):
    with pytest.raises(BadValue, match=sentence):
        Grouping(**wrong)


def test_sums_leave_out_who_is_left_out():
    grouping = Grouping(((0, 3), (1,)), left_out=(2,))
    # client 0 + client 3 = (1 + 4, 10 + 40); client 1 alone
    assert grouping.sums([[1, 10], [2, 20], [3, 30], [4, 40]]).tolist() == [[5, 50], [2, 20]]


def test_renaming_keeps_heads_and_links():
    before = Grouping(((0, 2), (1,)), left_out=(3,), heads=(2, 1), links=((0, 1),))
    after = before.renamed(np.array([3, 2, 1, 0]))
    assert after == Grouping(((3, 1), (2,)), left_out=(0,), heads=(1, 2), links=((0, 1),))


def test_iteration_and_length():
    grouping = Grouping(((4, 2), (1,)))
    assert list(grouping) == [(4, 2), (1,)]
    assert len(grouping) == 2
    assert grouping.of(5).tolist() == [-1, 1, 0, -1, 0]


@pytest.mark.parametrize("groups", [0, 11, -1, 2.5, "3"])
def test_how_many_refuses(groups):
    with pytest.raises(BadValue, match="a whole number from 1 to 10"):
        how_many(10, groups, None)


def test_how_many_refuses_groups_that_leave_too_few_for_each():
    with pytest.raises(BadValue, match="at most 3: 10 clients by 3 or more"):
        how_many(10, 4, 3)


def test_how_many_rounds_down_so_that_every_group_has_enough():
    assert how_many(14, None, 5) == 2
    assert how_many(14, None, None, default_size=4) == 3


def test_even_sizes_add_up():
    assert all(sum(even_sizes(n, k)) == n for n in range(1, 12) for k in range(1, n + 1))


def test_whole_floats_count_as_whole():
    assert check_labels(np.array([[1.0, 2.0]])).dtype == np.int64


def test_counts_whose_sum_is_no_longer_exact_are_refused():
    # 2^53 is about 9.007e15: nine clients with 10^15 are fewer, ten are more
    assert check_labels(np.full((9, 1), 10**15)).sum() == 9 * 10**15
    with pytest.raises(BadValue, match=r"^labels is '1e\+16 samples in all'; allowed is at most 9,007,199,254,740,992"):
        check_labels(np.full((10, 1), 10**15))


def test_a_missing_input_is_named():
    with pytest.raises(
        BadValue, match="edges is None; allowed is the edge of every client, which grouping 'edge' needs"
    ):
        group("edge", [[1], [2]], rng=rng())
    assert missing("edge", {}) == ["edges"]
    assert missing("edge", {"edges": [0, 1]}) == []


def test_an_option_the_method_does_not_have_is_refused():
    with pytest.raises(BadValue, match="option is 'search'; allowed is one that grouping 'icg' has: deal, rest"):
        group("icg", [[1], [2]], rng=rng(), search=3)
    assert "search" in options("cov")


def test_inputs_a_method_does_not_take_are_passed_over():
    assert "distances" not in options("random")
    assert len(group("random", np.ones((4, 1)), groups=2, distances=np.zeros((4, 4)), rng=rng())) == 2


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"edges": [0, 1, 2]}, "edges is .3,.; allowed is shape n for n = 2"),
        ({"edges": [[0, 1]]}, "allowed is shape n for n = 2"),
        ({"edges": ["a", "b"]}, "allowed is whole numbers"),
        ({"edges": [0.5, 1.0]}, "allowed is whole numbers"),
        ({"distances": np.zeros((2, 3))}, "allowed is shape n x n for n = 2"),
        ({"updates": np.zeros(2)}, "allowed is shape n x d for n = 2"),
        ({"updates": [[np.nan], [0.0]]}, "allowed is finite numbers"),
    ],
)
def test_inputs_of_the_wrong_shape_are_refused(inputs, sentence):
    with pytest.raises(BadValue, match=sentence):
        group("random", [[1], [2]], rng=rng(), **inputs)


def test_the_methods_of_the_papers_are_there():
    assert {"cov", "icg", "kldg", "cdg", "qcid", "astraea", "random", "edge"} <= set(GROUPINGS.names)
