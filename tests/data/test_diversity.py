from __future__ import annotations

import numpy as np
import pytest

from covey.data import class_diversity, parse_partition
from covey.errors import BadValue


def held(name, *, classes=10, each=200, clients=100, edges=10, seed=0):
    """Label counts by client, and the edge of every client."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(classes), each))
    parts, edge_of = parse_partition(name)(y, clients=clients, edges=edges, rng=rng)
    return np.stack([np.bincount(y[part], minlength=classes) for part in parts]), edge_of


def by_edge(counts, edge_of):
    return np.stack([counts[edge_of == edge].sum(axis=0) for edge in np.unique(edge_of)])


def test_a_tenth_of_ten_classes_is_exactly_one():
    counts, edge_of = held("dtt")
    assert ((counts > 0).sum(axis=1) == 1).all()
    assert ((by_edge(counts, edge_of) > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("name", "node", "edge"),
    [("dtt", 1, 1), ("dtq", 1, 2.5), ("dth", 1, 5), ("dqq", 2.5, 2.5), ("dqh", 2.5, 5), ("dhh", 5, 5)],
)
def test_nodes_and_edges_hold_the_share_of_table_2(name, node, edge):
    runs = [held(name, seed=seed) for seed in range(5)]
    nodes = np.concatenate([(counts > 0).sum(axis=1) for counts, _ in runs])
    edges = np.concatenate([(by_edge(*run) > 0).sum(axis=1) for run in runs])
    # standard error over 50 edges: 1 / sqrt(50) = 0.14; nodes hold no more classes than their edge, so a bit less
    assert abs(edges.mean() - edge) < 0.5
    assert node - 0.6 < nodes.mean() < node + 0.3


@pytest.mark.parametrize("name", ["dtt", "dtq", "dth", "dqq", "dqh", "dhh"])
def test_all_samples_are_used(name):
    counts, _ = held(name)
    assert counts.sum(axis=0).tolist() == [200] * 10


def test_holders_of_a_class_hold_about_the_same():
    counts, _ = held("dhh", each=2000)
    for column in counts.T:
        mine = column[column > 0]
        # draws of deviation 1 around the mean, rounded: nobody is further off than five deviations
        assert np.abs(mine - mine.mean()).max() < 5


def test_the_share_is_of_all_classes():
    # 62 classes: a tenth is 6.2, a quarter 15.5
    counts, edge_of = held("dtq", classes=62, each=60)
    assert abs((counts > 0).sum(axis=1).mean() - 6.2) < 0.5
    assert abs((by_edge(counts, edge_of) > 0).sum(axis=1).mean() - 15.5) < 1.5


def test_two_classes_are_one_at_least():
    # a tenth, a quarter and a half of 2 classes are all 1
    counts, _ = held("dtq", classes=2, each=500)
    assert ((counts > 0).sum(axis=1) == 1).all()


def test_too_few_edges_for_all_classes_are_refused():
    with pytest.raises(BadValue, match="edges is 2; allowed is more for dtt: 100 clients at 2 edges leave 8 of 10"):
        held("dtt", edges=2)


def test_too_few_clients_for_all_classes_are_refused():
    # 2 edges of about 5 classes each, or so few that they do not cover ten, and 2 clients with one class each
    with pytest.raises(BadValue, match="is 2; allowed is more for dth: 2 clients at 2 edges leave 8 of 10 classes out"):
        held("dth", clients=2, edges=2)
    with pytest.raises(BadValue, match=r"clients is 8; allowed is more for class-diversity:0\.1,1: 8 clients at 1 "):
        held("class-diversity:0.1,1", clients=8, edges=1)


def test_nobody_is_left_empty_without_a_word():
    # one class of 100 samples feeds 100 nodes
    assert (held("dtt", classes=1, each=100, edges=1)[0] == 1).all()
    # each of 10 edges has its own class; one of 15 samples feeds the 10 nodes of an edge, one of 5 does not
    y = np.repeat(np.arange(10), [15] * 9 + [5])
    with pytest.raises(BadValue, match="partition is 'dtt'; allowed is one that leaves no client empty, but 5 of 100"):
        parse_partition("dtt")(y, clients=100, edges=10, rng=np.random.default_rng(0))


def test_few_nodes_an_edge_still_hold_all_classes_between_them():
    # 4 nodes an edge hold 1 class each, an edge about 5: what one edge has no node for, a later edge deals first
    for seed in range(20):
        counts, _ = held("dth", clients=40, seed=seed)
        assert (counts.sum(axis=0) == 200).all()


def test_any_shares_will_do():
    assert str(class_diversity(0.1, 0.5)) == "dth"
    assert str(class_diversity(0.3, 0.5)) == "class-diversity:0.3,0.5"
    counts, _ = held("class-diversity:1,1")
    assert (counts > 0).all()


def test_the_deviations_are_settings():
    y = np.repeat(np.arange(10), 600)
    rng = np.random.default_rng(0)
    usual, _ = class_diversity(0.1, 0.5)(y, clients=50, edges=10, rng=rng)
    wide, _ = class_diversity(0.1, 0.5, samples_sd=60)(y, clients=50, edges=10, rng=np.random.default_rng(0))
    many, _ = class_diversity(0.1, 0.5, classes_sd=3)(y, clients=50, edges=10, rng=np.random.default_rng(0))
    held = [[len(np.unique(y[part])) for part in parts] for parts in (usual, many)]
    assert set(held[0]) == {1}  # a tenth of ten classes
    assert max(held[1]) > 1
    one = [[len(p) for p in parts if y[p][0] == 0] for parts in (usual, wide)]
    assert np.ptp(one[1]) > np.ptp(one[0])
    assert str(class_diversity(0.1, 0.5, classes_sd=3)) == "class-diversity:0.1,0.5,classes_sd=3"
    assert str(class_diversity(0.1, 0.5)) == "dth"
    with pytest.raises(BadValue, match="classes_sd is 0"):
        class_diversity(0.1, 0.5, classes_sd=0)
