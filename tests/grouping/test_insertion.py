import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.grouping.emd import emd_cluster
from covey.grouping.insertion import Weighted, best_of_groups, group_sums, insertion, measured, relocation
from covey.grouping.measures import emd_of
from covey.grouping.terms import FromAll, FromGroup, Hops


def terms(n, seed):
    """Every kind of term on made-up nodes, one of which has no samples."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 9, n).astype(float)
    weights[0] = 3.0
    shares = rng.dirichlet(np.ones(3), n)
    distances = rng.integers(1, 7, (n, n)).astype(float) * (1 - np.eye(n))  # not symmetric
    return {
        "Delta": FromAll(rng.normal(size=(n, 4)), weights, order=2, as_medoid=np.zeros(n)),
        "EMD to all": FromAll(shares, weights, order=1, as_medoid=np.zeros(n)),
        "EMD to group": FromGroup(shares, weights),
        "hops": Hops(distances),
    }


@pytest.mark.parametrize("name", ["Delta", "EMD to all", "EMD to group", "hops"])
@settings(max_examples=15, deadline=None)
@given(n=st.integers(3, 12), groups=st.integers(1, 3), seed=st.integers(0, 999))
def test_running_sums_say_what_measuring_from_scratch_says(name, n, groups, seed):
    term = terms(n, seed)[name]
    rng = np.random.default_rng(seed)
    inside = rng.permutation(n)
    medoids, others = inside[:groups], inside[groups:]
    group_of = dict(zip(medoids.tolist(), range(groups), strict=True))
    term.open(medoids)
    for node in others.tolist():
        tried = term.increase(node)
        before = whole(terms(n, seed)[name], name, group_of)
        for k in range(groups):
            after = whole(terms(n, seed)[name], name, {**group_of, node: k})
            assert tried[k] == pytest.approx(after - before, abs=1e-7)
        chosen = int(rng.integers(groups))
        group_of[node] = chosen
        term.add(node, chosen)


def whole(term, name, group_of):
    """What the nodes placed so far cost; those that are not are groups of their own, whose cost is taken off again."""
    if name == "hops":
        table = term._distances
        members = [[i for i in group_of if group_of[i] == k] for k in set(group_of.values())]
        return sum(min(sum(table[j, server] for j in g) for server in g) for g in members)
    n, count = len(term._weights), max(group_of.values()) + 1
    outside = [i for i in range(n) if i not in group_of]
    alone = {i: count + at for at, i in enumerate(outside)}
    own = np.array([{**group_of, **alone}[i] for i in range(n)])
    off = 0.0
    if name in ("Delta", "EMD to all"):
        off = sum(term._length(term._rows[i]) for i in outside) / term._total
    return term.measure(own)[0] - off


def test_a_full_group_takes_nobody_else():
    # the first group is always cheapest, yet three nodes fit into each of two groups of six
    class First:
        def open(self, medoids):
            pass

        def increase(self, node):
            return np.array([0.0, 1.0])

        def add(self, node, group):
            pass

        def remove(self, node, group):
            raise NotImplementedError("nobody leaves a group while groups are filled")

        def measure(self, group_of):
            return 1.0, np.zeros(len(group_of))

    rng = np.random.default_rng(0)
    capped, _ = insertion([Weighted(First())], 6, 2, rng=rng, max_size=3)
    free, _ = insertion([Weighted(First())], 6, 2, rng=rng)
    assert np.bincount(capped).tolist() == [3, 3]
    assert np.bincount(free).tolist() == [5, 1]


def test_the_first_assignment_alone():
    labels = np.random.default_rng(0).integers(0, 9, (40, 5))

    def cost(steady, seed):
        found = emd_cluster(labels, groups=4, steady=steady, rng=np.random.default_rng(seed))
        sums = found.sums(labels)
        far = [emd_of(labels[list(m)], s) @ labels[list(m)].sum(axis=1) for m, s in zip(found, sums, strict=True)]
        return sum(far) / labels.sum()

    costs = [[cost(steady, seed) for steady in (0, 1, 9)] for seed in range(10)]
    assert all(first >= once >= often for first, once, often in costs)
    assert any(first > once for first, once, _ in costs)


@pytest.mark.parametrize(("how", "field"), [({"max_size": 2}, "max_size"), ({"steady": -1}, "steady")])
def test_what_cannot_be_is_refused(how, field):
    with pytest.raises(BadValue, match=f"^{field} is "):
        insertion([], 6, 2, rng=np.random.default_rng(0), **how)


def test_sums_and_best_members_of_groups():
    group_of = np.array([1, 0, 1, 0])
    assert group_sums(np.array([[1.0], [2], [4], [8]]), group_of).tolist() == [[2 + 8], [1 + 4]]
    assert best_of_groups(np.array([5.0, 2, 3, 1]), group_of, 2).tolist() == [3, 2]


# --- relocation


@pytest.mark.parametrize("name", ["Delta", "EMD to all", "EMD to group", "hops"])
@settings(max_examples=15, deadline=None)
@given(n=st.integers(4, 12), groups=st.integers(1, 3), seed=st.integers(0, 999))
def test_a_node_that_was_taken_out_is_as_if_it_had_never_been_there(name, n, groups, seed):
    rng = np.random.default_rng(seed)
    inside = rng.permutation(n)
    medoids, others = inside[:groups], inside[groups:].tolist()
    *stay, leaves = others
    with_it, without = terms(n, seed)[name], terms(n, seed)[name]
    group_of = {node: int(rng.integers(groups)) for node in others}
    for term, nodes in ((with_it, [leaves, *stay]), (without, stay)):
        term.open(medoids)
        for node in nodes:
            term.increase(node)
            term.add(node, group_of[node])
    with_it.remove(leaves, group_of[leaves])
    assert with_it.increase(leaves) == pytest.approx(without.increase(leaves), abs=1e-7)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 14), groups=st.integers(1, 4), seed=st.integers(0, 999), limit=st.booleans())
def test_relocation_never_costs_more_and_empties_no_group(n, groups, seed, limit):
    groups = min(groups, n)
    rng = np.random.default_rng(seed)
    weighted = [Weighted(term) for term in terms(n, seed).values()]
    group_of = rng.permutation(np.arange(n) % groups)
    most = -(-n // groups) + 1 if limit else None
    found = relocation(weighted, group_of, groups, passes=4, max_size=most, rng=rng)
    sizes = np.bincount(found, minlength=groups)
    assert sizes.min() >= 1
    assert sizes.max() <= (most or n)
    assert measured(weighted, found, groups)[0] <= measured(weighted, group_of, groups)[0] + 1e-9


def test_after_relocation_no_single_move_helps():
    n, groups = 12, 3
    weighted = [Weighted(term) for name, term in terms(n, 5).items() if name in ("Delta", "hops")]
    found = relocation(weighted, np.arange(n) % groups, groups, passes=50, rng=np.random.default_rng(0))
    cost = measured(weighted, found, groups)[0]
    for node in range(n):
        for k in range(groups):
            other = found.copy()
            other[node] = k
            if len(set(other.tolist())) == groups:
                assert measured(weighted, other, groups)[0] >= cost - 1e-9
