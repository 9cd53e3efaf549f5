from typing import Any

import numpy as np
import pytest
from tests.narrow import known

from covey.errors import BadValue
from covey.fleet import Fleet
from covey.network.distances import distances_from, similar_costs

FLEET = Fleet(np.ones((6, 2)), edge_of=[0, 0, 0, 1, 1, 1])


def test_hops_are_those_of_the_network_that_is_named():
    # a fat-tree has 2 hops below one switch, 4 in a pod, 6 between pods
    # with a pod an edge
    assert distances_from("hops", FLEET)[0].max() == 6
    # on a star all are two hops apart; on a ring of six hosts and no switch 1, 2, 3, 2, 1
    assert distances_from("hops", FLEET, network="star")[0].tolist() == [0, 2, 2, 2, 2, 2]
    assert distances_from("hops:star", FLEET, network="ring")[0].tolist() == [0, 2, 2, 2, 2, 2]
    assert distances_from("hops:jellyfish:4,2", FLEET).shape == (6, 6)
    near, far = distances_from("hops:tree:2", FLEET)[0, [1, 3]]
    assert near < far


def test_a_fat_tree_has_room_for_everybody():
    many = Fleet(np.ones((40, 1)), edge_of=np.arange(40) % 2)
    assert distances_from("hops", many).shape == (40, 40)


def test_similar_clients_are_cheaper_to_reach():
    labels = np.array([[9, 0, 0], [9, 1, 0], [0, 9, 1], [0, 9, 0], [0, 0, 9], [1, 0, 9]])
    drawn = np.stack([similar_costs(labels, np.random.default_rng(seed)) for seed in range(200)])
    assert (drawn == drawn.transpose(0, 2, 1)).all()
    assert (drawn[:, range(6), range(6)] == 0).all()
    others = drawn[:, ~np.eye(6, dtype=bool)]
    assert others.min() >= 1
    assert 1.45 < drawn[:, 0, 1].max() <= 1.5
    assert 1.9 < drawn[:, 0, 2].max() <= 2


def test_costs_are_drawn_by_the_seed():
    tables = [distances_from("similar", FLEET, seed=seed) for seed in (0, 0, 1)]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()


def test_clients_without_samples_and_a_client_alone_have_costs_too():
    assert np.isfinite(similar_costs(np.zeros((3, 2), dtype=int), np.random.default_rng(0))).all()
    assert similar_costs(np.ones((1, 2), dtype=int), np.random.default_rng(0)).tolist() == [[0]]


@pytest.mark.parametrize(
    ("word", "clients", "sentence"),
    [
        (
            "miles",
            4,
            "distances is 'miles'; allowed is hops, hops:NETWORK such as hops:jellyfish:20,4, similar, or plane",
        ),
        ("similar:2", 4, "distances is 'similar:2'; allowed is hops"),
        ("hops:moon", 4, "network is 'moon'"),
        ("similar", 20_000, "clients is 20000; allowed is at most 16,000 where distances are 'similar'"),
    ],
)
def test_what_is_refused(word, clients, sentence):
    with pytest.raises(BadValue) as caught:
        distances_from(word, Fleet(np.ones((clients, 1))))
    assert str(caught.value).startswith(sentence)


def test_a_fleet_checks_its_distances():
    assert known(Fleet(np.ones((2, 1)), distances=[[0, 1], [2, 0]]).distances).tolist() == [[0, 1], [2, 0]]
    cases: list[tuple[Any, str]] = [
        ([[0, 1]], r"distances is \(1, 2\); allowed is a table of 2 by 2"),
        ([[0, -1], [1, 0]], "distances is -1.0; allowed is finite numbers from 0 up"),
        ([[0, np.nan], [1, 0]], "distances is nan; allowed is finite numbers from 0 up"),
        ("near", "distances is 'str'; allowed is a table of numbers, clients by clients"),
    ]
    for wrong, sentence in cases:
        with pytest.raises(BadValue, match=sentence):
            Fleet(np.ones((2, 1)), distances=wrong)


def test_points_of_a_plane():
    apart = distances_from("plane", Fleet(np.ones((5, 1))), seed=3)
    assert (apart == apart.T).all()
    assert (np.diag(apart) == 0).all()
    assert 0 < apart.max() <= 10 * np.sqrt(2)  # the diagonal of the square
    assert (apart[0, 1] <= apart[0] + apart[:, 1]).all()  # no way round is shorter
    assert (apart == distances_from("plane", Fleet(np.ones((5, 1))), seed=3)).all()
