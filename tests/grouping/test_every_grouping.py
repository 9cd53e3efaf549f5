"""Laws that every registered grouping keeps; registering one enrols it here.

The law of renaming: `group` orders clients by what they hold before it draws, so listing the same fleet in another
order gives the same groups under the new names, exactly, as long as no two clients are alike in everything that the
grouping looks at (clients that are alike may trade places, which nobody can tell).
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue, UnknownName
from covey.grouping import GROUPINGS, INPUTS, Grouping, group

pytestmark = pytest.mark.filterwarnings("error")


@st.composite
def fleets(draw, least=1, most=16, top=40):
    """Label counts (some labels nobody holds, some clients hold nothing) and all that groupings may ask for."""
    n, m = draw(st.integers(least, most)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = rng.integers(0, top, (n, m))
    if draw(st.booleans()):
        labels[:, rng.integers(m)] = 0
    if draw(st.booleans()):
        labels[rng.integers(n)] = 0
    return labels, inputs_for(n, rng)


def inputs_for(n, rng):
    points = rng.random((n, 2))
    return {
        "edges": rng.integers(0, 2, n),
        "distances": np.linalg.norm(points[:, None] - points[None, :], axis=2),
        "updates": rng.normal(size=(n, 6)),
        "sizes": rng.integers(1, 50, n),
    }


def run(name, labels, inputs, seed=0, **how):
    return group(name, labels, rng=np.random.default_rng(seed), **how, **inputs)


def as_sets(grouping):
    return {frozenset(members) for members in grouping}, frozenset(grouping.left_out)


every = pytest.mark.parametrize("name", GROUPINGS.names)
few = settings(max_examples=6, deadline=None)


@every
@few
@given(fleets())
def test_every_client_is_in_one_group_or_left_out(name, fleet):
    labels, inputs = fleet
    grouping = run(name, labels, inputs)
    everyone = [i for members in (*grouping, grouping.left_out) for i in members]
    assert sorted(everyone) == list(range(len(labels)))


@every
@few
@given(fleets(least=4), st.integers(1, 3))
def test_as_many_groups_as_asked_for(name, fleet, groups):
    labels, inputs = fleet
    inputs["edges"][:] = 0
    if name == "edge":
        groups = 1
    assert len(run(name, labels, inputs, groups=groups)) == groups


@every
@settings(max_examples=12, deadline=None)
@given(fleets(least=4), st.integers(1, 5), st.integers(0, 4) | st.none())
def test_groups_have_the_sizes_asked_for_or_it_is_refused(name, fleet, least, more):
    labels, inputs = fleet
    inputs["edges"][:] = 0
    n, most = len(labels), None if more is None else least + more
    possible = least <= n and (most is None or -(-n // most) <= n // least)
    if name == "edge":  # one group of everybody
        possible = least <= n <= (most or n)
    if not possible:
        with pytest.raises(BadValue, match=r"^(min|max)_size is "):
            run(name, labels, inputs, min_size=least, max_size=most)
        return
    sizes = run(name, labels, inputs, min_size=least, max_size=most).sizes
    assert sizes.min() >= least
    assert sizes.max() <= (most or n)


@every
@few
@given(fleets(least=4), st.integers(1, 4))
def test_a_limit_alone_is_kept(name, fleet, most):
    labels, inputs = fleet
    inputs["edges"] = np.arange(len(labels)) // most  # so that one group per edge is within the limit
    assert run(name, labels, inputs, max_size=most).sizes.max() <= most


@every
@few
@given(fleets(least=6))
def test_groups_stay_inside_edges_when_asked_to(name, fleet):
    labels, inputs = fleet
    inputs["edges"] = 3 + 4 * (np.arange(len(labels)) % 2)
    grouping = run(name, labels, inputs, within_edges=True, min_size=2)
    assert all(len(set(inputs["edges"][list(members)])) == 1 for members in grouping)
    assert sorted(i for g in (*grouping, grouping.left_out) for i in g) == list(range(len(labels)))
    assert grouping.sizes.min() >= 2
    with pytest.raises(BadValue, match="within_edges is True; allowed is False where no edges are given"):
        group(name, labels, rng=np.random.default_rng(0), within_edges=True)


@every
@few
@given(fleets(least=6))
def test_edges_are_not_looked_at_when_groups_may_cross_them(name, fleet):
    labels, inputs = fleet
    if name == "edge":  # whose groups are the edges
        return
    nowhere = {k: v for k, v in inputs.items() if k != "edges"}
    assert run(name, labels, inputs, within_edges=False) == run(name, labels, nowhere)


@every
@few
@given(fleets())
def test_same_seed_same_groups(name, fleet):
    labels, inputs = fleet
    assert run(name, labels, inputs, seed=5) == run(name, labels, inputs, seed=5)


@every
@few
@given(fleets(), st.integers(0, 2**32))
def test_listing_clients_in_another_order_renames_the_groups(name, fleet, seed):
    labels, inputs = fleet
    rng = np.random.default_rng(seed)
    labels[:, 0] = rng.choice(1000, len(labels), replace=False)  # no two clients alike
    order = rng.permutation(len(labels))
    relisted = {k: v[np.ix_(order, order)] if k == "distances" else v[order] for k, v in inputs.items()}
    before = run(name, labels, inputs)
    after = run(name, labels[order], relisted)
    assert after.renamed(order) == before


@every
@few
@given(fleets())
def test_input_is_never_changed(name, fleet):
    labels, inputs = fleet
    copies = labels.copy(), {k: v.copy() for k, v in inputs.items()}
    run(name, labels, inputs)
    GROUPINGS[name](labels, rng=np.random.default_rng(0), **{k: v for k, v in inputs.items() if takes(name, k)})
    assert np.array_equal(labels, copies[0])
    assert all(np.array_equal(inputs[k], copies[1][k]) for k in inputs)


@every
def test_one_client_is_one_group(name):
    inputs = inputs_for(1, np.random.default_rng(0))
    assert run(name, [[3, 4]], inputs).groups == ((0,),)


@pytest.mark.parametrize(("name", "option"), [("qcid", "explore"), ("cov", "max_cov"), ("kmedoids", "alpha_iid")])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_options_that_are_no_numbers_are_refused(name, option, value):
    labels, inputs = np.ones((5, 2), dtype=int), inputs_for(5, np.random.default_rng(0))
    with pytest.raises(BadValue, match=f"{option} is {value}; allowed is a finite number"):
        run(name, labels, inputs, **{option: value})


@every
@pytest.mark.parametrize("how", [{"groups": 6}, {"groups": 0}, {"min_size": 6}, {"min_size": 0}])
def test_more_groups_than_clients_is_one_clear_error(name, how):
    labels, inputs = np.ones((5, 2), dtype=int), inputs_for(5, np.random.default_rng(0))
    with pytest.raises(BadValue, match=f"{next(iter(how))} is {next(iter(how.values()))}"):
        run(name, labels, inputs, **how)


@every
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(np.full((12, 3), 7), id="all clients alike"),
        pytest.param(np.zeros((12, 3), dtype=int), id="nobody holds anything"),
        pytest.param(np.eye(12, dtype=int)[:, :3] * 10**14, id="huge counts and empty clients"),
        pytest.param(np.arange(12)[:, None], id="one label"),
    ],
)
def test_odd_fleets_get_a_sensible_answer(name, labels):
    rng = np.random.default_rng(1)
    inputs = inputs_for(len(labels), rng)
    inputs["edges"] = np.repeat([0, 1], 6)
    grouping = run(name, labels, inputs)
    assert sum(grouping.sizes) + len(grouping.left_out) == 12


@every
def test_clients_alike_in_everything_still_get_groups(name):
    n = 8
    inputs = {"edges": np.zeros(n, int), "distances": 1 - np.eye(n), "updates": np.ones((n, 3)), "sizes": np.full(n, 9)}
    grouping = run(name, np.full((n, 2), 5), inputs)
    assert sum(grouping.sizes) + len(grouping.left_out) == n


@every
@pytest.mark.parametrize("labels", [[[-1, 2]], [[0.5, 2]], [[float("nan"), 2]], [[]], [1, 2], [["a", "b"]]])
def test_counts_that_are_none_are_refused(name, labels):
    with pytest.raises(BadValue, match=r"^labels is "):
        GROUPINGS[name](np.array(labels), rng=np.random.default_rng(0), **needed(name))


def takes(name, parameter):
    return parameter in inspect.signature(GROUPINGS[name]).parameters


def needed(name):
    made_up = inputs_for(1, np.random.default_rng(0))
    return {k: v for k, v in made_up.items() if takes(name, k)}


@every
def test_the_signature_is_the_common_one(name):
    first, *others = inspect.signature(GROUPINGS[name]).parameters.values()
    assert first.name == "labels"
    assert all(p.kind is p.KEYWORD_ONLY for p in others)
    by_name = {p.name: p for p in others}
    assert by_name["groups"].default is None
    assert by_name["min_size"].default is None
    assert by_name["rng"].default is inspect.Parameter.empty
    assert {p.name for p in others if p.default is p.empty} <= {"rng", *INPUTS}


@every
def test_it_says_what_it_is(name):
    entry = GROUPINGS.entry(name)
    assert entry.summary
    assert entry.paper or name == "random"


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'kldg'"):
        group("kldgg", [[1]], rng=np.random.default_rng(0))


def test_a_grouping_of_ones_own_is_called_like_the_others():
    def pairs(labels, *, groups=None, min_size=None, rng):
        """Neighbours in the list, two by two."""
        return Grouping(tuple(tuple(range(i, min(i + 2, len(labels)))) for i in range(0, len(labels), 2)))

    GROUPINGS.add("pairs", pairs)
    try:
        assert as_sets(group("pairs", [[1], [2], [3]], rng=np.random.default_rng(0)))[1] == frozenset()
        with pytest.raises(BadValue, match="min_size is 2; allowed is at most 1 here: grouping 'pairs' does not keep"):
            group("pairs", [[1], [2], [3]], min_size=2, rng=np.random.default_rng(0))
        with pytest.raises(BadValue, match="max_size is 1; allowed is nothing for grouping 'pairs', which knows no"):
            group("pairs", [[1], [2], [3]], max_size=1, rng=np.random.default_rng(0))
        edges = np.array([0, 1, 0])
        inside = group("pairs", [[1], [2], [3]], edges=edges, within_edges=True, rng=np.random.default_rng(0))
        assert {frozenset(members) for members in inside} == {frozenset({0, 2}), frozenset({1})}
    finally:
        del GROUPINGS._entries["pairs"]
