import numpy as np
import torch
from tests.tiny import fleet_of, loop_of, random_fleet, small_network

from covey.algorithms import FedCLAR
from covey.grouping.updates import merge_similar
from covey.plan import Forest, Star, Train


def test_the_most_similar_pair_merges_first_by_samples():
    # Cosines: (0, 1) 1.0, then their mean (1.75, 0) against (1, 1) is 0.707, below 0.8.
    rows = np.array([[1, 0], [2, 0], [1, 1], [0, 1]], dtype=np.float32)
    assert merge_similar(rows, np.array([1, 3, 1, 1]), 0.8) == [[0, 1], [2], [3]]
    # (2, 3) is 0.707 too; with 0.7 the pair found first merges, and its mean decides what follows.
    assert merge_similar(rows, np.array([1, 3, 1, 1]), 0.7) == [[0, 1, 2], [3]]
    assert merge_similar(rows, np.array([1, 3, 1, 1]), -1.0) == [[0, 1, 2, 3]]


def test_the_three_kinds_of_rounds():
    fleet = random_fleet((4,) * 6, edge_of=(0, 0, 0, 1, 1, 1))
    algorithm, rng = FedCLAR(cluster_at=3, min_size=3, sample=1.0, group_rounds=2), np.random.default_rng(0)
    state = algorithm.start(fleet, rng)
    before = algorithm.plan(2, fleet, state, rng)
    assert isinstance(before, Star)
    assert len(before.children) == 2
    assert all(star.rounds == 2 for star in before.children)
    assert algorithm.plan(3, fleet, state, rng) == Forest(Train(i) for i in range(6))
    after = algorithm.plan(4, fleet, {"groups": [[0, 2], [1, 3, 4, 5]]}, rng)
    assert isinstance(after, Forest)
    assert after.slots == (0, 1)
    assert [[t.client for t in star.children] for star in after.children] == [[0, 2], [1, 3, 4, 5]]


def test_clients_with_the_same_data_share_a_model():
    a, b = [(1.0, 0), (0.5, 0)], [(1.0, 1), (0.5, 1)]
    fleet = fleet_of([a, b, a, b, a, b])
    settings = {"cluster_at": 2, "similarity": 0.9, "min_size": 3, "sample": 1.0, "rounds": 3, "lr": 1.0}
    loop = loop_of("fedclar", fleet, small_network(width=1, classes=2), **settings)
    progress = loop.begin()
    loop.go(progress)
    assert progress.home.tolist() == [0, 1, 0, 1, 0, 1]
    assert len(progress.models) == 2
    own = [loop.evaluator.losses(progress.models, [i])[0] for i in range(2)]
    assert own[0][0] < own[0][1]
    assert own[1][1] < own[1][0]


def test_merged_models_are_means_by_samples():
    fleet = random_fleet((2, 6))
    settings = {"cluster_at": 1, "similarity": -1.0, "min_size": 1, "lr": 0.5}
    loop = loop_of("fedclar", fleet, small_network(), **settings)
    progress = loop.begin()
    loop.go(progress)
    alone = loop_of("fedclar", fleet, small_network(), **{**settings, "similarity": 1.0})
    apart = alone.begin()
    alone.go(apart)
    assert len(apart.models) == 2
    expected = (2 * apart.models[0] + 6 * apart.models[1]) / 8
    torch.testing.assert_close(progress.models[0], expected)
