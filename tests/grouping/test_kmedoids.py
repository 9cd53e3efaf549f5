from itertools import product

import numpy as np
import pytest
from tests.narrow import known

from covey.errors import BadValue
from covey.grouping import group, measure
from covey.grouping.insertion import Weighted
from covey.grouping.kmedoids import _searched, compact, kmedoids
from covey.grouping.measures import hops_of
from covey.grouping.terms import hops_term


def rng(seed=0):
    return np.random.default_rng(seed)


def regions(places, labels):
    """Every place holds one client of every label; 2 hops inside a place, 6 across."""
    counts = np.tile(20 * np.eye(labels, dtype=int), (places, 1))
    at = np.repeat(np.arange(places), labels)
    return counts, np.where(at[:, None] == at, 2.0, 6.0) * (1 - np.eye(len(at))), at


def test_both_costs_find_the_places_and_one_cost_does_not_need_to():
    counts, hops, at = regions(3, 4)
    found = kmedoids(counts, groups=3, distances=hops, rng=rng())
    assert {frozenset(g) for g in found} == {frozenset(np.flatnonzero(at == p).tolist()) for p in range(3)}
    assert hops_of(found, hops) == 3 * (3 * 2)  # three members a place are 2 hops from its server
    assert measure(found, counts).emd.max() == 0


def test_one_term_alone_is_better_at_its_own_cost(fleet):
    labels = fleet(60)
    at = np.arange(60) // 10
    hops = np.where(at[:, None] == at, 2.0, 6.0) * (1 - np.eye(60))
    updates = rng(1).normal(size=(60, 8)) + labels[:, :8] / 20
    both = {"groups": 6, "distances": hops, "updates": updates}

    def found(**alphas):
        grouping = kmedoids(labels, rng=rng(), **both, **alphas)
        return measure(grouping, labels, updates=updates).Delta, hops_of(grouping, hops)

    (delta, far), (delta_i, far_i), (delta_c, far_c) = found(), found(alpha_comm=0), found(alpha_iid=0)
    assert delta_i < delta_c
    assert far_c < far_i
    assert delta <= delta_c
    assert far <= far_i


@pytest.mark.parametrize("seed", range(4))
def test_near_the_best_of_all_groupings_of_eight(seed):
    draw = rng(seed)
    updates = draw.normal(size=(8, 3))
    sizes = draw.integers(1, 9, 8)
    distances = draw.integers(1, 7, (8, 8)) * 1.0
    distances = (distances + distances.T) * (1 - np.eye(8))

    def costs(groups):
        mean = sizes @ updates / sizes.sum()
        gaps = [np.linalg.norm(sizes[list(g)] @ (updates[list(g)] - mean)) for g in groups]
        hops = sum(distances[np.ix_(g, g)].sum(axis=0).min() for g in groups)
        return sum(gaps) / sizes.sum(), hops

    every = [[[i for i in range(8) if z[i] == k] for k in (0, 1)] for z in product((0, 1), repeat=8) if 0 < sum(z) < 8]
    tried = np.array([costs(groups) for groups in every])
    scale = tried.mean(axis=0)
    found = kmedoids(
        np.ones((8, 2), int), groups=2, updates=updates, sizes=sizes, distances=distances, steady=30, rng=rng(seed)
    )
    cost = (np.array(costs([list(g) for g in found])) / scale).sum()
    ranks = np.sort((tried / scale).sum(axis=1))
    assert cost <= ranks[len(ranks) // 20] + 1e-9  # among the best twentieth of all 254


def test_heads_are_the_servers_fewest_hops_from_all(fleet):
    distances = np.abs(np.subtract.outer(np.arange(20), np.arange(20))).astype(float)
    found = kmedoids(fleet(20), groups=3, distances=distances, rng=rng())
    for members, head in zip(found.groups, known(found.heads), strict=True):
        assert distances[np.ix_(members, [head])].sum() == distances[np.ix_(members, members)].sum(axis=0).min()


def test_more_passes_never_cost_more(fleet):
    labels = fleet(80)
    groupings = [kmedoids(labels, groups=8, steady=s, rng=rng(2)) for s in (1, 12)]
    shares = labels / labels.sum(axis=1, keepdims=True)
    few, many = (known(measure(g, labels, updates=shares).Delta) for g in groupings)
    assert many <= few + 1e-12


def test_long_gradients_are_shortened_without_changing_distances():
    long = rng().normal(size=(6, 50)) + 3
    short = compact(long)
    assert short.shape == (6, 6)
    for i in range(6):
        gaps = np.linalg.norm(long[i] - long, axis=1)
        assert np.linalg.norm(short[i] - short, axis=1) == pytest.approx(gaps)


def test_the_printed_costs_are_an_option_and_a_cap_holds(fleet):
    labels = fleet(30)
    hops = np.ones((30, 30)) - np.eye(30)
    own = group("kmedoids", labels, groups=3, distances=hops, assign="own", rng=rng())
    assert sum(own.sizes) == 30
    assert kmedoids(labels, groups=3, max_size=10, rng=rng()).sizes.tolist() == [10, 10, 10]


@pytest.mark.parametrize("how", [{"alpha_iid": -1}, {"alpha_comm": float("nan")}, {"assign": "all"}, {"steady": -1}])
def test_options_out_of_range_are_refused(how):
    with pytest.raises(BadValue, match=f"^{next(iter(how))} is "):
        kmedoids(np.ones((4, 2), int), groups=2, rng=rng(), **how)


# --- search


@pytest.mark.parametrize("alphas", [{}, {"alpha_comm": 0}, {"alpha_iid": 0}])
def test_a_search_never_costs_more(fleet, alphas):
    labels = fleet(60)
    at = np.arange(60) // 6
    hops = np.where(at[:, None] == at, 2.0, 6.0) * (1 - np.eye(60))
    shares = labels / labels.sum(axis=1, keepdims=True)
    usual = np.mean([_costs(group("random", labels, groups=5, rng=rng(s)), labels, shares, hops) for s in range(50)], 0)
    weights = np.array([alphas.get("alpha_iid", 1), alphas.get("alpha_comm", 1)])
    found = (kmedoids(labels, groups=5, distances=hops, search=s, rng=rng(), **alphas) for s in (0, 2))
    before, after = (weights @ (_costs(grouping, labels, shares, hops) / usual) for grouping in found)
    assert after <= before + 1e-9


def _costs(found, labels, shares, hops):
    return np.array([measure(found, labels, updates=shares).Delta, hops_of(found, hops)])


def test_a_search_finds_groups_with_both_few_hops_and_all_labels():
    draw = rng(3)
    labels = np.array([draw.multinomial(60, mix) for mix in draw.dirichlet(np.full(6, 0.3), 200)])
    at = draw.integers(12, size=200)
    hops = np.where(at[:, None] == at, 2.0, np.where(at[:, None] // 4 == at // 4, 4.0, 6.0)) * (1 - np.eye(200))
    shares = labels / labels.sum(axis=1, keepdims=True)
    plain, searched = (
        _costs(kmedoids(labels, groups=5, distances=hops, search=s, rng=rng()), labels, shares, hops) for s in (0, 2)
    )
    assert searched[1] < 0.9 * plain[1]
    assert searched[0] < plain[0]


def test_a_search_needs_the_whole_cost():
    with pytest.raises(BadValue, match=r"^search is "):
        kmedoids(np.ones((4, 2), int), groups=2, assign="own", search=1, rng=rng())


def test_a_search_that_makes_it_dearer_is_not_kept():
    distances = np.array([[0.0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    terms = [Weighted(hops_term(distances), 1.0, 1.0)]
    near, far = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])  # 1 + 1 hops, 9 + 9 hops
    for start, found in ((near, far), (far, near)):
        kept, medoids = _searched(terms, start, 2, lambda *_, found=found: found)
        assert kept.tolist() == near.tolist()
        assert near[medoids].tolist() == [0, 1]  # medoids of the grouping that is kept
