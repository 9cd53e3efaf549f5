import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping import measure
from covey.grouping.cov import _settle_rest, cov
from covey.grouping.measures import cov_of


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 5.0])
@pytest.mark.parametrize("max_cov", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_groups_equal_those_of_the_pseudo_code_for_the_same_first_picks(literal, fleet, alpha, max_cov, seed):
    labels = fleet(83, 10, alpha, seed)
    picks = rng(seed).permutation(83).tolist()
    expected = literal.cov_grouping(labels.tolist(), min_size=5, max_cov=max_cov, picks=picks)
    assert [list(g) for g in cov(labels, min_size=5, max_cov=max_cov, rng=rng(seed))] == expected


def test_the_toy_example_of_the_paper_finds_the_even_pairs():
    # four clients, two labels: pairing the mirror images gives CoV 0 in both groups (Group-FEL, Fig. 4c)
    labels = np.array([[9, 1], [8, 2], [1, 9], [2, 8]])
    grouping = cov(labels, min_size=2, rng=rng())
    assert {frozenset(g) for g in grouping} == {frozenset({0, 2}), frozenset({1, 3})}


def test_a_low_max_cov_makes_larger_and_more_even_groups(fleet):
    # Table 1: at alpha 0.1, MaxCoV 0.1 gives larger groups (10.96 on average) with lower CoV (.28) than 1.0 (5.03, .54)
    labels = fleet(300, 10, 0.1)
    strict, loose = (measure(cov(labels, min_size=5, max_cov=c, rng=rng()), labels) for c in (0.1, 1.0))
    assert strict.sizes.mean() > 1.5 * loose.sizes.mean()
    assert strict.cov.mean() < 0.7 * loose.cov.mean()


def test_a_short_last_group_joins_the_group_it_helps_most():
    # pairs of (4, 0) and (0, 4) are even; who is left over makes one of them worse, whichever it is
    labels = np.array([[4, 0], [0, 4], [4, 0], [0, 4], [0, 9]])
    for seed in range(20):
        merged = cov(labels, min_size=2, rng=rng(seed))
        assert sorted(merged.sizes.tolist()) == [2, 3]
    # client 4 = (0, 1) is alone; (10, 9) + (0, 1) is even, (10, 10) + (0, 1) is not: it joins the former
    labels = np.array([[10, 0], [0, 9], [10, 0], [0, 10], [0, 1]])
    for found in ([[0, 1], [2, 3], [4]], [[2, 3], [0, 1], [4]]):
        assert (0, 1, 4) in _settle_rest(labels, found, 2, 5).groups


def test_a_group_does_not_grow_where_its_balance_stays_the_same():
    # (3, 1) has CoV 1/2 > MaxCoV, and with the other client (6, 2) still has: two groups of one
    assert cov(np.array([[3, 1], [3, 1]]), min_size=1, max_cov=0, rng=rng()).sizes.tolist() == [1, 1]


def test_the_authors_rule_closes_groups_early_and_leaves_out_short_ones():
    # (4, 4) is even from the start, so it is closed alone; (8, 0) and (0, 8) come together, nobody improves them
    labels = np.array([[4, 4], [8, 0], [0, 8], [4, 4]])
    for seed in range(20):
        kept = cov(labels, min_size=3, rng=rng(seed))
        assert sorted(kept.sizes.tolist()) == [4]
        dropped = cov(labels, min_size=2, drop=True, rng=rng(seed))
        assert {frozenset(g) for g in dropped} <= {frozenset({1, 2}), frozenset({1, 2, 0}), frozenset({1, 2, 3})}
        assert sorted(i for g in (*dropped, dropped.left_out) for i in g) == [0, 1, 2, 3]
        assert dropped.left_out


def test_the_authors_rule_on_one_edge_equals_the_rule_written_down(fleet):
    labels = fleet(60, 10, 0.1)
    picks, expected = rng(4).permutation(60).tolist(), []
    free = set(range(60))
    while free:
        members = [next(c for c in picks if c in free)]
        free -= set(members)
        while free and (len(members) < 5 or one_cov(labels, members) > 0.5):
            best = min(sorted(free), key=lambda c: one_cov(labels, [*members, c]))
            if one_cov(labels, [*members, best]) >= one_cov(labels, members) - 1e-12:
                break
            members.append(best)
            free.remove(best)
        expected.append(tuple(members))
    found = cov(labels, min_size=5, max_cov=0.5, drop=True, rng=rng(4))
    assert list(found) == [g for g in expected if len(g) >= 5]
    assert found.left_out == tuple(i for g in expected if len(g) < 5 for i in g)
    assert found.left_out


def one_cov(labels, members):
    sums = labels[members].sum(axis=0)
    return sums.std() / sums.mean()


def test_the_authors_rule_must_leave_somebody():
    even = np.full((6, 2), 4)  # nobody improves anybody: six groups of one
    with pytest.raises(BadValue, match="drop is True; allowed is False for this fleet, or a lower min_size"):
        cov(even, min_size=2, drop=True, rng=rng())
    with pytest.raises(BadValue, match="drop is True; allowed is False where groups is given"):
        cov(even, groups=2, drop=True, rng=rng())


def test_groups_fixes_how_many_and_evens_the_sizes(fleet):
    grouping = cov(fleet(50), groups=7, max_cov=0.01, rng=rng())
    assert grouping.sizes.tolist() == [8, 7, 7, 7, 7, 7, 7]


def test_it_beats_random_groups(fleet):
    from covey.grouping.simple import random

    labels = fleet(200)
    ours, theirs = (cov_of(f(labels, min_size=5, rng=rng()).sums(labels)).mean() for f in (cov, random))
    assert ours < 0.5 * theirs


def test_sampled_candidates_still_group_everybody(fleet):
    labels = fleet(300)
    few, many = (cov(labels, min_size=5, candidates=c, rng=rng()) for c in (10, None))
    assert sum(few.sizes) == 300
    assert cov_of(many.sums(labels)).mean() < cov_of(few.sums(labels)).mean()


def test_one_candidate_a_step_is_enough_to_finish(fleet):
    assert sum(cov(fleet(40), min_size=3, candidates=1, rng=rng()).sizes) == 40


def test_search_lowers_the_sum_at_the_same_sizes(fleet):
    labels = fleet(120)
    plain, searched = (cov(labels, min_size=5, search=s, rng=rng()) for s in (0, 3))
    assert sorted(plain.sizes.tolist()) == sorted(searched.sizes.tolist())
    assert cov_of(searched.sums(labels)).sum() < 0.9 * cov_of(plain.sums(labels)).sum()


@pytest.mark.parametrize("wrong", [{"max_cov": -0.1}, {"max_cov": float("nan")}, {"candidates": 0}, {"search": -1}])
def test_bad_options(wrong, fleet):
    with pytest.raises(BadValue):
        cov(fleet(10), rng=rng(), **wrong)


def test_a_last_group_that_fits_nowhere_whole_is_dealt_out_client_by_client():
    # two groups of one class each with room for one more: client 4, of class 1, goes to class 0, and 5 to what is left
    labels = np.array([[2, 0], [2, 0], [0, 2], [0, 2], [0, 1], [1, 0]])
    assert _settle_rest(labels, [[0, 1], [2, 3], [4, 5]], 3, 3).groups == ((0, 1, 4), (2, 3, 5))


def test_a_last_group_with_no_room_anywhere_gets_the_client_that_can_best_be_spared():
    # without client 0 the first group is even, (2, 1) to (1, 1): CoV 1/3 to 0; and so is the last, (0, 1) with (1, 0)
    labels = np.array([[1, 0], [1, 0], [0, 1], [1, 0], [1, 0], [1, 0], [0, 1]])
    assert _settle_rest(labels, [[0, 1, 2], [3, 4, 5], [6]], 2, 3).groups == ((1, 2), (3, 4, 5), (6, 0))
