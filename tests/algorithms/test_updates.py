import numpy as np
import torch

from covey.algorithms.base import Outcome
from covey.algorithms.updates import mean_model, rows
from covey.fleet import Fleet


def outcome(updates):
    fleet = Fleet(np.array([[1], [3], [1]]))
    before = [torch.tensor([10.0, 0.0])]
    given = {i: torch.tensor(u) for i, u in updates.items()}
    return Outcome(1, fleet, before, before, np.zeros(3, np.int64), updates=given)


def test_who_did_not_answer_gets_the_mean():
    table = rows(outcome({0: [2.0, 0.0], 1: [0.0, 4.0]}), [1, 2, 0])
    assert table.tolist() == [[0, 4], [1, 2], [2, 0]]


def test_a_clusters_model_is_weighted_by_samples():
    found = mean_model(outcome({0: [4.0, 0.0], 1: [0.0, 4.0]}), [0, 1, 2])
    assert found.tolist() == [10 + 4 * 1 / 4, 4 * 3 / 4]


def test_a_cluster_of_which_nobody_answered_keeps_its_model():
    assert mean_model(outcome({0: [4.0, 0.0]}), [1, 2]).tolist() == [10.0, 0.0]
