from collections import Counter

import numpy as np
import pytest
import torch
from tests.narrow import a
from tests.tiny import fleet_of, loop_of, random_fleet, small_network

from covey.algorithms import FedCLAR
from covey.algorithms.base import Outcome
from covey.errors import RunFailed
from covey.fleet import Fleet
from covey.grouping.updates import merge_similar
from covey.plan import Forest, Place, Ring, Star, Train, edge, transfers


def test_the_most_similar_pair_merges_first_by_samples():
    # Cosines: (0, 1) 1.0, then their mean (1.75, 0) against (1, 1) is 0.707, below 0.8.
    rows = np.array([[1, 0], [2, 0], [1, 1], [0, 1]], dtype=np.float32)
    assert merge_similar(rows, np.array([1, 3, 1, 1]), 0.8) == [[0, 1], [2], [3]]
    # (2, 3) is 0.707 too; with 0.7 the pair found first merges, and its mean decides what follows.
    assert merge_similar(rows, np.array([1, 3, 1, 1]), 0.7) == [[0, 1, 2], [3]]
    assert merge_similar(rows, np.array([1, 3, 1, 1]), -1.0) == [[0, 1, 2, 3]]


def test_the_three_kinds_of_rounds():
    fleet = random_fleet((4,) * 6, edge_of=(0, 0, 0, 1, 1, 1))
    algorithm = FedCLAR(cluster_at=3, min_size=3, sample=0.5, group_rounds=2, local_epochs=4)
    rng = np.random.default_rng(0)
    state = algorithm.start(fleet, rng)
    before = algorithm.plan(2, fleet, state, rng)
    assert isinstance(before, Star)
    assert len(before.children) == 1  # half of two groups
    assert all(a(Star, star).rounds == 2 for star in before.children)
    # K = 2 trainings of E = 4 epochs each, alone
    assert algorithm.plan(3, fleet, state, rng) == Forest(Ring([Train(i, 4), Train(i, 4)]) for i in range(6))
    after = algorithm.plan(4, fleet, {"groups": [[0, 2], [3, 4, 5]]}, rng)
    # every cluster trains in every round, at its edge
    assert after == Forest(
        [
            Star([Train(0, 4), Train(2, 4)], rounds=2, at=edge(0)),
            Star((Train(i, 4) for i in (3, 4, 5)), rounds=2, at=edge(1)),
        ]
    )


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
    alone = loop_of("fedclar", fleet, small_network(), **{**settings, "similarity": 1.0, "singletons": "keep"})
    apart = alone.begin()
    alone.go(apart)
    assert len(apart.models) == 2
    expected = (2 * apart.models[0] + 6 * apart.models[1]) / 8
    torch.testing.assert_close(progress.models[0], expected)


def learned(rows, edge_of=None, lost=(), **settings):
    """The state and the outcome after a round alone that left clients with these last layers."""
    models = [torch.tensor(row, dtype=torch.float32) for row in rows]
    fleet = Fleet(np.ones((len(rows), 1)), edge_of=edge_of)
    trained = [i for i in range(len(rows)) if i not in lost]
    outcome = Outcome(
        2, fleet, models, models, np.arange(len(rows)), trained=trained * 2, views=lambda model: {"head.weight": model}
    )
    state = FedCLAR(cluster_at=2, similarity=0.99, **settings).learn({"groups": []}, outcome, np.random.default_rng(0))
    return state, outcome


A, B, C = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.2)


def test_edges_cluster_their_own_clients():
    state, outcome = learned([A, A, B, A, A, B, B], edge_of=[0, 0, 0, 1, 1, 1, 1])
    assert state["groups"] == [[0, 1], [3, 4], [5, 6]]
    assert outcome.where == [edge(0), edge(1), edge(1)]
    # client 2 is like nobody at its edge; of all clusters that of 5 and 6 is most like it
    assert outcome.home.tolist() == [0, 0, 2, 1, 1, 2, 2]


def test_who_is_like_nobody_trains_no_more_unless_kept():
    rows = [A, A, B, C]
    state, outcome = learned(rows)
    assert state["groups"] == [[0, 1]]
    assert len(outcome.models) == 1
    assert outcome.home.tolist() == [0, 0, 0, 0]
    state, outcome = learned(rows, singletons="keep")
    assert state["groups"] == [[0, 1], [2], [3]]
    assert outcome.home.tolist() == [0, 0, 1, 2]
    assert torch.allclose(torch.stack(outcome.models), torch.tensor([A, B, C]))


def test_when_nobody_is_alike_the_run_says_so():
    with pytest.raises(
        RunFailed, match=r"round 2: no two clients of an edge are as alike as similarity 0\.99, and who"
    ):
        learned([A, B, C])


def test_merging_ends_once_a_cluster_has_more_than_twice_min_size():
    # nine alike and two alike: the nine merge first; with MinGS 2 merging ends when five are together
    rows = [A] * 9 + [B, B]
    assert [len(members) for members in learned(rows, min_size=5)[0]["groups"]] == [9, 2]
    assert [len(members) for members in learned(rows, min_size=2)[0]["groups"]] == [5]


def test_models_to_be_compared_are_sent_to_the_edges():
    _, outcome = learned([A, A, A, B], lost=(2,))
    assert outcome.traffic == {("client", "edge"): 3}  # each once, though each has trained twice


@pytest.mark.parametrize("cluster_at", [1, 2])
def test_what_is_sent(cluster_at):
    fleet = random_fleet((4,) * 6, edge_of=(0, 0, 0, 1, 1, 1))
    settings = {"cluster_at": cluster_at, "similarity": -1.0, "min_size": 3, "sample": 1.0, "rounds": 3, "lr": 0.1}
    loop = loop_of("fedclar", fleet, small_network(), **settings)
    progress, plans = loop.begin(), []
    loop.go(progress, [lambda report: plans.append(report.plan)])
    # the round alone: a model to every client from the cloud, one from each to its edge; else what the plans send
    expected = Counter({("cloud", "client"): 6, ("client", "edge"): 6})
    for plan in plans:
        expected += transfers(plan)
    assert progress.traffic == expected
    assert progress.where == [Place("edge", 0), Place("edge", 1)]
