import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping import group
from covey.grouping.updates import bipartition, cfl, cosines, fedclar, fl_hc, merge_similar


def rng(seed=0):
    return np.random.default_rng(seed)


def blobs(seed=0, each=5):
    """Three bundles of updates in directions at right angles, clients in turn from each."""
    centres = 4 * np.eye(3, 12)
    return np.tile(centres, (each, 1)) + rng(seed).normal(scale=0.2, size=(3 * each, 12))


BUNDLES = {frozenset(range(k, 15, 3)) for k in range(3)}
NOBODY = np.ones((15, 2), dtype=int)


@pytest.mark.parametrize("linkage", ["complete", "average", "single", "ward"])
@pytest.mark.parametrize("metric", ["l1", "l2", "cosine"])
def test_hierarchical_clustering_finds_the_bundles(metric, linkage):
    if linkage == "ward" and metric != "l2":
        with pytest.raises(BadValue, match=r"^metric is "):
            fl_hc(NOBODY, updates=blobs(), groups=3, metric=metric, linkage=linkage, rng=rng())
        return
    found = fl_hc(NOBODY, updates=blobs(), groups=3, metric=metric, linkage=linkage, rng=rng())
    assert {frozenset(g) for g in found} == BUNDLES


@pytest.mark.parametrize(("metric", "apart"), [("l1", 7.0), ("l2", 5.0), ("cosine", 1.0)])
def test_the_distance_is_that_of_the_metric(metric, apart):
    rows = np.array([[3.0, 0.0], [0.0, 4.0]])
    for threshold, groups in ((apart * 0.99, 2), (apart * 1.01, 1)):
        found = fl_hc(NOBODY[:2], updates=rows, metric=metric, linkage="single", threshold=threshold, rng=rng())
        assert len(found) == groups


def test_a_threshold_says_how_many():
    # points 0, 1, 5, 6, 20 on a line, complete linkage: pairs at 1, then (0..6) at 6, then all at 20
    points = np.array([[0.0], [1], [5], [6], [20]])
    for threshold, count in ((0.5, 5), (2, 3), (7, 2), (21, 1)):
        found = fl_hc(np.ones((5, 1), int), updates=points, threshold=threshold, rng=rng())
        assert len(found) == count


def test_bipartition_cuts_where_updates_oppose():
    updates = np.vstack([np.full((3, 4), 1.0), np.full((4, 4), -1.0)]) + rng().normal(scale=0.1, size=(7, 4))
    assert bipartition(cosines(updates)).tolist() == [False] * 3 + [True] * 4
    assert cfl(np.ones((7, 1), int), updates=updates, rng=rng()).groups == ((0, 1, 2), (3, 4, 5, 6))


def test_cfl_splits_on_until_there_are_as_many_as_asked_for():
    assert {frozenset(g) for g in cfl(NOBODY, updates=blobs(), groups=3, rng=rng())} == BUNDLES
    assert len(cfl(NOBODY, updates=blobs(), groups=15, rng=rng())) == 15


def test_the_gate_keeps_a_cluster_whole():
    # halves at right angles: sqrt((1 - 0) / 2) = 0.7071
    updates = np.repeat(np.eye(2), 3, axis=0)
    labels = np.ones((6, 1), int)
    assert len(cfl(labels, updates=updates, gamma=0.70, rng=rng())) == 2
    assert len(cfl(labels, updates=updates, gamma=0.71, rng=rng())) == 1
    assert len(cfl(labels, updates=updates, gamma=0.70, groups=6, rng=rng())) == 2  # within the halves all are alike


def test_fedclar_merges_what_is_similar_and_weighs_by_samples():
    updates = np.array([[1, 0], [1, 0.02], [1, 0.3], [0, 1.0]])
    labels = np.ones((4, 1), int)
    assert fedclar(labels, updates=updates, rng=rng()).groups == ((0, 1), (2,), (3,))
    # 0 and 1 merge first; with weights (1, 1) their mean (1, .01) has cosine .960 with (1, .3), with (0, 1) .01
    mean = np.array([1, 0.01])
    cosine = mean @ updates[2] / np.linalg.norm(mean) / np.linalg.norm(updates[2])
    assert len(fedclar(labels, updates=updates, similarity=cosine - 1e-9, rng=rng())) == 2
    assert len(fedclar(labels, updates=updates, similarity=cosine + 1e-9, rng=rng())) == 3
    heavy = fedclar(labels, updates=updates, sizes=np.array([1, 99, 1, 1]), similarity=cosine + 1e-9, rng=rng())
    assert heavy.groups == ((0, 1, 2), (3,))  # the mean is now (1, .0198), nearer to (1, .3)


def test_merging_stops_at_as_many_as_asked_for():
    assert {frozenset(g) for g in fedclar(NOBODY, updates=blobs(), groups=3, rng=rng())} == BUNDLES
    assert len(merge_similar(blobs(), np.ones(15), -np.inf, keep=1)) == 1
    assert len(merge_similar(blobs(), np.ones(15), 1.1)) == 15


def test_clusters_do_not_outgrow_their_limit():
    models, ones = np.ones((9, 2)), np.ones(9)  # all alike: without a limit one cluster
    assert sorted(map(len, merge_similar(models, ones, 0.9))) == [9]
    assert sorted(map(len, merge_similar(models, ones, 0.9, max_size=4))) == [1, 4, 4]
    # merging one by one into the first, it stops as soon as there are more than four
    assert sorted(map(len, merge_similar(models, ones, 0.9, stop_above=4))) == [1, 1, 1, 1, 5]


def test_edges_merge_their_own():
    models = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0]])
    sizes, edges = np.array([1, 2, 3, 4, 5, 6]), np.array([0, 0, 0, 1, 1, 1])
    assert merge_similar(models, sizes, 0.9, edges=edges) == [[0, 2], [1], [3], [4, 5]]
    assert merge_similar(models, sizes, 0.9, edges=edges, max_size=1) == [[0], [1], [2], [3], [4], [5]]


def test_updates_of_zeros_are_at_right_angles_to_all():
    assert cosines([[0, 0], [0, 2]]).tolist() == [[0, 0], [0, 1]]
    for name in ("fl-hc", "cfl", "fedclar"):
        assert sum(group(name, np.ones((5, 2), int), updates=np.zeros((5, 3)), rng=rng()).sizes) == 5


@pytest.mark.parametrize(
    ("method", "how"),
    [
        (fl_hc, {"metric": "l3"}),
        (fl_hc, {"linkage": "centroid"}),
        (fl_hc, {"threshold": 0}),
        (fl_hc, {"threshold": 1.0, "groups": 2}),
        (cfl, {"gamma": 1.5}),
        (fedclar, {"similarity": 2}),
    ],
)
def test_options_out_of_range_are_refused(method, how):
    with pytest.raises(BadValue, match=f"^{next(iter(how))} is "):
        method(NOBODY, updates=blobs(), rng=rng(), **how)


@pytest.mark.parametrize("name", ["fl-hc", "cfl", "fedclar"])
def test_updates_are_needed(name):
    with pytest.raises(BadValue, match=r"^updates is None"):
        group(name, NOBODY, rng=rng())
