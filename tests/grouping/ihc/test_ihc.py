"""IHC-FL against enumeration: every network of a small fleet is tried, so nothing has to be believed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.narrow import known

from covey.errors import BadValue
from covey.grouping.ihc import ihc, topology
from covey.grouping.ihc.bound import lower_bound
from covey.grouping.ihc.draft import Draft
from covey.grouping.ihc.exact import exact, sizes
from covey.grouping.ihc.gamma import solve_exactly, solve_quickly
from covey.grouping.ihc.limits import cover, least_epsilon, least_gamma, paper_epsilon
from covey.grouping.ihc.paper import alternate
from covey.grouping.ihc.problem import (
    Problem,
    Solution,
    cluster_deltas,
    components,
    cosine_distances,
    cost,
    faults,
)
from covey.grouping.ihc.search import _Annealing, search

few = settings(max_examples=25, deadline=None)


@st.composite
def problems(draw, most=6, degrees=(2,)):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    deltas = cosine_distances(rng.normal(size=(n, 3)) + 1)
    costs = 1 + rng.random((n, n))
    epsilon = paper_epsilon(deltas)
    gamma = draw(st.sampled_from([1.2, 1.8, 3.0])) * epsilon
    heads = draw(st.sampled_from([None, None, n, (n + 1) // 2]))
    return Problem(
        costs,
        deltas,
        draw(st.sampled_from([1.0, 1.5])) * epsilon,
        gamma,
        draw(st.sampled_from(degrees)),
        heads=heads,
        once=draw(st.booleans()),
    )


def networks(problem, heads):
    """All sets of links that give these heads the degree they should have and connect them."""
    degree = problem.degree_of(len(heads))
    if degree == 2:
        first, *rest = heads
        for order in permutations(rest):
            if order[0] < order[-1]:
                ring = (first, *order)
                yield tuple(tuple(sorted(pair)) for pair in zip(ring, (*order, first), strict=True))
        return
    pairs = list(combinations(heads, 2))
    for links in combinations(pairs, len(heads) * degree // 2):
        degrees = Counter(end for link in links for end in link)
        if set(degrees.values()) <= {degree} and components(problem.clients, list(heads), links) == 1:
            yield links


def cheapest(problem):
    """The cost of the best answer by trying them all, infinite if there is none."""
    n, best = problem.clients, np.inf
    table = np.where(problem.may_follow, problem.costs, np.inf)
    for count in range(1, n + 1) if problem.heads is None else [problem.heads]:
        for heads in combinations(range(n), count):
            follow = sum(table[i, list(heads)].min() for i in range(n) if i not in heads)
            for links in networks(problem, heads) if np.isfinite(follow) else ():
                if all(problem.may_link[link] for link in links):
                    best = min(best, follow + sum(problem.link_costs[link] for link in links))
    return best


@few
@given(problems(most=7))
def test_exact_rings_equal_enumeration(problem):
    proof, best = exact(problem), cheapest(problem)
    assert proof.complete
    assert proof.bound == pytest.approx(best)
    if np.isfinite(best):
        assert cost(problem, known(proof.solution)) == pytest.approx(best)
        assert faults(problem, known(proof.solution)) == []
    else:
        assert proof.solution is None


@few
@given(problems(most=6, degrees=(3, 4)))
def test_exact_networks_of_higher_degree_equal_enumeration(problem):
    proof, best = exact(problem), cheapest(problem)
    assert proof.complete
    assert proof.bound == pytest.approx(best)
    assert (proof.solution is None) == np.isinf(best)
    assert proof.solution is None or faults(problem, proof.solution) == []


@few
@given(problems(most=6, degrees=(2, 3, 4)))
def test_nothing_is_cheaper_than_the_bound(problem):
    best = cheapest(problem)
    if np.isfinite(best):
        assert lower_bound(problem, 1.5 * best) <= best + 1e-9


@few
@given(problems(most=6, degrees=(2, 3, 4)), st.integers(0, 9))
def test_search_keeps_the_rules_and_never_beats_the_best(problem, seed):
    answered, answer = solve_quickly(problem, np.random.default_rng(seed))
    assert faults(answered, answer) == []
    assert answered.gamma >= problem.gamma
    assert cost(answered, answer) >= cheapest(answered) - 1e-9


@few
@given(problems(most=5, degrees=(2, 3, 4)))
def test_gamma_is_raised_to_the_smallest_that_has_an_answer(problem):
    steps = np.unique(np.append(problem.deltas[problem.deltas > problem.gamma], problem.gamma))
    smallest = next((g for g in steps if np.isfinite(cheapest(replace(problem, gamma=g)))), None)
    if smallest is not None:  # else the followers are out of reach whatever gamma is
        assert least_gamma(problem) <= smallest
        answered, _, _ = solve_exactly(problem, np.random.default_rng(0), 20.0)
        assert answered.gamma == smallest


@pytest.mark.parametrize("heads", range(1, 12))
def test_epsilon_is_raised_to_the_smallest_with_which_so_many_heads_reach_all(heads):
    places = np.random.default_rng(3).random((12, 2))
    deltas = np.linalg.norm(places[:, None] - places, axis=2)
    problem = Problem(deltas, deltas, epsilon=0.0, gamma=9.0)

    def enough(epsilon):
        wider = replace(problem, epsilon=float(epsilon))
        return len(cover(wider.may_follow, np.arange(12.0))) <= heads

    assert least_epsilon(problem, heads) == next(epsilon for epsilon in np.unique(deltas) if enough(epsilon))


@settings(max_examples=6, deadline=None)
@given(problems(most=6), st.integers(0, 3))
def test_the_papers_alternation_keeps_the_rules_and_never_beats_the_best(problem, samples):
    def deltas(head_of):
        heads = sorted(set(head_of))
        return problem.deltas[np.ix_(heads, heads)]

    if problem.heads is not None:
        problem = replace(problem, epsilon=least_epsilon(problem, problem.heads))
    gamma, answer = alternate(problem, deltas, np.random.default_rng(0), samples=samples, neurons=4, rounds=3)
    answered = replace(problem, gamma=gamma)
    assert faults(answered, answer) == []
    assert cost(answered, answer) >= cheapest(answered) - 1e-9


def test_search_finds_the_best_of_a_larger_fleet_within_two_percent():
    rng = np.random.default_rng(3)
    deltas = cosine_distances(rng.dirichlet(np.full(10, 0.5), 24))
    problem = Problem(1 + rng.random((24, 24)), deltas, paper_epsilon(deltas), 2.5 * paper_epsilon(deltas))
    answer = search(problem, rng)
    proof = exact(problem, start=answer, seconds=20)
    assert proof.complete
    assert proof.bound <= cost(problem, answer) <= 1.02 * proof.bound


@pytest.mark.parametrize("degree", [3, 4, 5])
def test_search_keeps_every_degree(degree):
    rng = np.random.default_rng(degree)
    deltas = cosine_distances(rng.dirichlet(np.full(10, 0.5), 40))
    problem = Problem(1 + rng.random((40, 40)), deltas, paper_epsilon(deltas), 1.0, degree=degree)
    assert faults(problem, search(problem, rng)) == []


def test_the_cost_counts_links_both_ways_unless_told():
    costs = np.array([[0.0, 1.0, 2.0, 7.0], [1.0, 0.0, 4.0, 7.0], [2.0, 4.0, 0.0, 7.0], [3.0, 7.0, 7.0, 0.0]])
    problem = Problem(costs, np.zeros((4, 4)), 1.0, 1.0)
    ring = Solution((0, 1, 2, 0), ((0, 1), (0, 2), (1, 2)))
    assert cost(problem, ring) == 3 + 2 * (1 + 2 + 4)  # client 3 sends to 0, which is not what 0 to 3 costs
    assert cost(replace(problem, once=True), ring) == 3 + (1 + 2 + 4)


def test_every_broken_rule_is_named():
    deltas = np.array([[0, 0.1, 0.9, 0.9], [0.1, 0, 0.9, 0.9], [0.9, 0.9, 0, 0.1], [0.9, 0.9, 0.1, 0]])
    problem = Problem(np.ones((4, 4)), deltas, 0.2, 0.5, heads=2)
    assert faults(problem, Solution((0, 0, 2, 2), ((0, 2),))) == ["link 0-2 is too far (1e)"]
    assert faults(problem, Solution((0, 0, 0, 2), ())) == [
        "head 2 follows 0",
        "2 follows 0, which is too far (1d)",
        "head 0 has 0 links instead of 1 (1h)",
        "head 2 has 0 links instead of 1 (1h)",
        "the heads are not connected (1i-1m)",
    ]
    assert "4 heads instead of 2" in faults(problem, Solution((0, 1, 2, 3), ()))
    assert "link 0-1 is not between heads (1g)" in faults(problem, Solution((0, 0, 2, 2), ((0, 1), (0, 2))))
    assert "a link is listed twice" in faults(problem, Solution((0, 0, 2, 2), ((0, 2), (2, 0))))


def test_each_degree_is_solved_apart():
    problem = Problem(np.zeros((4, 4)), np.zeros((4, 4)), 1.0, 1.0, degree=2)
    assert sizes(problem) == [(0, 1, 1), (1, 2, 2), (2, 3, 4)]
    assert sizes(replace(problem, heads=3)) == [(2, 3, 3)]


def test_distances_of_clusters_are_those_of_weighted_means():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    # mean of clients 0 and 1, three to one: (3, 1)/4; cos with (1, 1) is 4 / (sqrt(10) sqrt(2))
    expected = 1 - 4 / np.sqrt(20)
    assert cluster_deltas((0, 0, 2), vectors, np.array([3.0, 1.0, 9.0]))[0, 1] == pytest.approx(expected)
    assert cluster_deltas((0, 0, 2), vectors, np.zeros(3))[0, 1] == pytest.approx(0.0)


def fleet(n, seed=0, clusters=4):
    """Clustered updates, the paper's costs (1 to 1.5 between alike clients, 1 to 2 between others)."""
    rng = np.random.default_rng(seed)
    of = np.arange(n) % clusters
    updates = rng.normal(size=(clusters, 16))[of] + 0.3 * rng.normal(size=(n, 16))
    noise = rng.random((n, n))
    distances = 1 + (noise + noise.T) / 2 * np.where(of[:, None] == of, 0.5, 1.0)
    return {"updates": updates, "distances": distances, "labels": np.ones((n, 2), dtype=np.int64)}


@pytest.mark.parametrize("method", ["search", "exact", "paper"])
def test_a_threshold_without_answer_is_raised_and_reported(method):
    found = topology(**fleet(12), method=method, seconds=2, rng=np.random.default_rng(0))
    assert found.asked_gamma == pytest.approx(1.8 * found.epsilon)
    assert found.gamma > found.asked_gamma  # four tight clusters, far apart
    assert found.bound <= found.objective + 1e-9
    assert 0 <= found.gap < 0.3
    assert found.far_links == 0 or method != "paper"  # only the paper's links are chosen by Delta itself
    assert found.grouping.links is not None
    assert len(found.grouping.links) == len(found.grouping)  # a ring


def test_exact_says_that_it_is_optimal():
    found = topology(**fleet(16), method="exact", between="heads", rng=np.random.default_rng(0))
    quick = topology(**fleet(16), method="search", between="heads", gamma=found.gamma, rng=np.random.default_rng(0))
    assert found.status == "optimal"
    assert found.gap == pytest.approx(0)
    assert found.bound <= quick.objective + 1e-9


def test_links_that_fail_once_clusters_are_averaged_are_avoided():
    given_ = fleet(24, seed=5)
    gamma = topology(**given_, method="exact", between="heads", rng=np.random.default_rng(0)).gamma
    heads = topology(**given_, gamma=1.1 * gamma, between="heads", rng=np.random.default_rng(0))
    both = topology(**given_, gamma=1.1 * gamma, between="clusters", rng=np.random.default_rng(0))
    named = known(heads.grouping.heads)
    links = [(named[i], named[j]) for i, j in known(heads.grouping.links)]
    deltas = cosine_distances(given_["updates"])
    assert all(deltas[link] <= heads.gamma + 1e-9 for link in links)
    head_of = np.array(both.grouping.heads)[both.grouping.of(24)]
    averaged = cluster_deltas(tuple(head_of.tolist()), given_["updates"], given_["labels"].sum(axis=1).astype(float))
    named = known(both.grouping.heads)
    order = {h: k for k, h in enumerate(sorted(named))}
    pairs = [(order[named[i]], order[named[j]]) for i, j in known(both.grouping.links)]
    assert sum(averaged[pair] > both.gamma + 1e-9 for pair in pairs) == both.far_links


@pytest.mark.parametrize("method", ["search", "exact"])
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_as_many_heads_as_asked_for(method, groups):
    found = topology(**fleet(12), groups=groups, method=method, rng=np.random.default_rng(0))
    assert len(found.grouping) == groups
    assert len(known(found.grouping.links)) == {1: 0, 2: 1, 5: 5}[groups]


def test_small_clusters_are_filled_up_and_epsilon_says_so():
    free = topology(**fleet(12), rng=np.random.default_rng(0))
    found = topology(**fleet(12), min_size=3, rng=np.random.default_rng(0))
    assert free.grouping.sizes.min() < 3 <= found.grouping.sizes.min()
    deltas = cosine_distances(fleet(12)["updates"])
    of, heads = found.grouping.of(12), known(found.grouping.heads)
    assert found.epsilon == max(free.epsilon, *(deltas[i, heads[of[i]]] for i in range(12)))


def test_without_updates_and_distances_label_shares_do():
    labels = np.array([[90, 10], [9, 1], [1, 9], [10, 90]])
    grouping = ihc(labels, rng=np.random.default_rng(0))
    assert {frozenset(members) for members in grouping} == {frozenset({0, 1}), frozenset({2, 3})}


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"method": "guess"}, "method is 'guess'"),
        ({"between": "friends"}, "between is 'friends'"),
        ({"degree": 1}, "degree is 1"),
        ({"epsilon": -0.1}, "epsilon is -0.1"),
        ({"gamma": float("nan")}, "gamma is nan"),
        ({"seconds": 0}, "seconds is 0"),
        ({"distances": -np.ones((3, 3))}, "distances is "),
    ],
)
def test_bad_settings_get_one_sentence(setting, sentence):
    with pytest.raises(BadValue, match=sentence):
        topology(np.ones((3, 2), dtype=np.int64), rng=np.random.default_rng(0), **setting)


def two_parts(size, degree):
    """Two parts of so many clients, all of them heads: links inside cost 2, those across 200."""
    part = np.arange(2 * size) // size
    costs = np.where(part[:, None] == part, 1.0, 100.0)
    return Problem(costs, np.zeros_like(costs), 1.0, 1.0, degree, heads=2 * size)


@pytest.mark.parametrize(("size", "degree"), [(3, 2), (4, 3), (5, 4)])
def test_a_search_keeps_heads_connected_that_would_be_cheaper_apart(size, degree):
    problem = two_parts(size, degree)
    for seed in range(3):
        answer = search(problem, np.random.default_rng(seed), steps=3000)
        assert components(2 * size, answer.heads, answer.links) == 1


def test_with_an_odd_degree_one_link_may_hold_two_parts_together():
    # 3 links at each of 5 heads are 15 ends in a part: 7 links inside and one end left, so one link across is enough
    proof = exact(two_parts(5, 3), seconds=20)
    assert proof.complete
    assert sum((i < 5) != (j < 5) for i, j in known(proof.solution).links) == 1
    assert proof.bound == pytest.approx(14 * 2 + 200)


def test_a_head_moves_to_where_it_is_cheaper():
    line = np.arange(6.0)
    costs = np.abs(np.subtract.outer(line, line))
    draft = Draft(Problem(costs, costs, epsilon=0.0, gamma=9.0, heads=6))
    ring = [0, 3, 1, 2, 4, 5]  # 3 stands between 0 and 1
    before = draft.reset({h: [ring[k - 1], ring[(k + 1) % 6]] for k, h in enumerate(ring)})
    annealing = _Annealing(draft, [[j for j in range(6) if j != i] for i in range(6)], random.Random(0))
    annealing._move(3, 4, 0.0)
    assert draft.total() < before
    assert sorted(draft.links[3]) == [2, 4]
    assert sorted(draft.links[0]) == [1, 5]
    assert all(len(around) == 2 for around in draft.links)


def test_the_least_epsilon_is_found_among_two():
    """Clients at 0.2 from one another but the last, at 0.5: one head reaches all from 0.5 on, two from 0.2."""
    deltas = np.full((4, 4), 0.2)
    deltas[3], deltas[:, 3] = 0.5, 0.5
    np.fill_diagonal(deltas, 0.0)
    problem = Problem(np.ones((4, 4)), deltas, 0.1, 1.0)
    assert least_epsilon(problem, 1) == 0.5
    assert least_epsilon(problem, 2) == 0.2
    assert least_epsilon(problem, 4) == 0.1


def test_there_are_no_more_heads_than_clients():
    few = Problem(np.zeros((3, 3)), np.zeros((3, 3)), 1.0, 1.0, degree=3)
    assert sizes(few) == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]
