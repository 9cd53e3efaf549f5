from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.data import dirichlet, iid, parse_partition
from covey.data.partition import deal, edge_of, truncated_normal
from covey.errors import BadValue, UnknownName


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "text",
    [
        "iid",
        "normal:60,20",
        "dirichlet:0.1",
        "dirichlet:0.1,min=20,max=200",
        "shards",
        "shards:per_client=3",
        "natural",
        "natural:pick=first",
        "class-diversity:0.1,0.3",
        *("dtt", "dtq", "dth", "dqq", "dqh", "dhh"),
    ],
)
def test_a_partition_says_how_it_is_written(text):
    assert str(parse_partition(text)) == text


def test_python_and_text_make_equal_partitions():
    assert parse_partition("dirichlet:0.5,max=9") == dirichlet(0.5, max=9)
    partition = iid()
    assert parse_partition(partition) is partition


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dirichlet", r"partition is 'dirichlet'; allowed is dirichlet:0\.1 or .*alpha is missing"),
        ("dirichlet:0.1,20", "one value too many"),
        ("dirichlet:0.1,minimum=2", "setting of dirichlet is 'minimum'; allowed is one of min .*, alpha, max"),
        ("dirichlet:0", "alpha is 0.0; allowed is a number above 0"),
        ("dirichlet:-1", "alpha is -1"),
        ("dirichlet:inf", "alpha of dirichlet is 'inf'; allowed is a number"),
        ("dirichlet:nan", "alpha of dirichlet is 'nan'"),
        ("dirichlet:lots", "alpha of dirichlet is 'lots'"),
        ("dirichlet:1,min=0", "min is 0; allowed is a whole number from 1 up"),
        ("dirichlet:1,min=20,max=10", "max is 10; allowed is a whole number from 20 up"),
        ("dirichlet:1,max=2.5", r"max of dirichlet is '2\.5'; allowed is a whole number"),
        ("iid:3", "partition is 'iid:3'; allowed is iid"),
        ("normal:60", "normal:60,20"),
        ("normal:0.5,1", r"mean is 0\.5; allowed is a number from 1 up"),
        ("normal:60,-1", "sd is -1"),
        ("shards:0", "shards is 0"),
        ("shards:1.5", r"per_client of shards is '1\.5'"),
        ("natural:last", "pick is 'last'; allowed is random or first"),
        ("class-diversity:0.5,0.1", r"edge is 0\.1; allowed is a share from that of a node, 0\.5, to 1"),
        ("class-diversity:0.5,1.1", r"edge is 1\.1"),
        ("dtq:3", "partition is 'dtq:3'"),
    ],
)
def test_what_is_wrong_is_said(text, sentence):
    with pytest.raises(BadValue, match=sentence):
        parse_partition(text)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'dirichlet'"):
        parse_partition("dirichlt:0.1")


@pytest.mark.parametrize(
    ("clients", "edges", "sentence"),
    [
        (0, 1, "clients is 0; allowed is a whole number from 1 up"),
        (2.5, 1, r"clients is 2\.5"),
        (11, 1, "clients is 11; allowed is at most 10, one sample each"),
        (None, 1, "clients is None"),
        (4, 0, "edges is 0"),
        (4, 5, "edges is 5; allowed is at most 4, one client each"),
    ],
)
def test_numbers_that_make_no_fleet_are_refused(clients, edges, sentence):
    with pytest.raises(BadValue, match=sentence):
        iid()(np.zeros(10, np.int64), clients=clients, edges=edges, rng=rng())


@given(st.integers(1, 50), st.data())
def test_edges_are_contiguous_and_as_equal_as_can_be(clients, data):
    edges = data.draw(st.integers(1, clients))
    edge = edge_of(clients, edges)
    held = np.bincount(edge)
    assert (np.diff(edge) >= 0).all()
    assert len(held) == edges
    assert held.max() - held.min() <= 1


def test_truncated_normal_stays_in_its_bounds_around_its_mean():
    draws = truncated_normal(10, 5, 2, 18, 4000, rng())
    assert draws.min() >= 2
    assert draws.max() <= 18
    # the bounds are symmetric, so the mean is 10; its standard error is below 5 / sqrt(4000) = 0.08
    assert abs(draws.mean() - 10) < 4 * 0.08


def test_deal_gives_everybody_the_counts_asked_for():
    y = np.array([5, 7, 5, 7, 7, 5])
    parts = deal(y, np.array([5, 7]), np.array([[2, 0], [1, 1], [0, 1]]), rng())
    assert [sorted(y[part].tolist()) for part in parts] == [[5, 5], [5, 7], [7]]
    assert len(set(np.concatenate(parts).tolist())) == 5
