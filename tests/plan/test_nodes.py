import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.narrow import trains

from covey.errors import BadPlan
from covey.plan import Forest, Mesh, Place, Ring, Star, Train, client, cloud, edge

TWO = [Train(0), Train(1)]
# to be refused, whatever their types say
ODD: Any = {
    "child": 0,
    "text": "3",
    "nothing": None,
    "half": 1.5,
    "nan": float("nan"),
    "train": Train(0),
}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Star([]), "Star is empty; it needs at least one child"),
        (lambda: Ring([]), "Ring is empty; it needs at least one child"),
        (lambda: Mesh([], []), "Mesh is empty; it needs at least one child"),
        (lambda: Forest(iter(())), "Forest is empty; it needs at least one child"),
        (lambda: Ring(ODD["train"]), "Ring takes a list of nodes, not one Train"),
        (lambda: Star([ODD["child"]]), "Star has the child 0; allowed are Train, Star, Ring, Mesh and Forest"),
        (lambda: Train(-1), "Train has client -1; allowed is a whole number from 0 up"),
        (lambda: Train(ODD["half"]), "Train has client 1.5; allowed is a whole number from 0 up"),
        (lambda: Train(ODD["text"]), "Train has client '3'; allowed is a whole number from 0 up"),
        (lambda: Train(ODD["nothing"]), "Train has client None; allowed is a whole number from 0 up"),
        (lambda: Train(3, epochs=0), "Train of client 3 has epochs 0; allowed is a whole number from 1 up"),
        (lambda: Train(3, epochs=ODD["half"]), "Train of client 3 has epochs 1.5; allowed is a whole number from 1 up"),
        (lambda: Train(3, rate=-1.0), "Train of client 3 has rate -1.0; allowed is 0 or more"),
        (lambda: Train(3, rate=float("inf")), "Train of client 3 has rate inf; allowed is 0 or more"),
        (lambda: Star(TWO, rounds=0), "Star has rounds 0; allowed is a whole number from 1 up"),
        (lambda: Star(TWO, rounds=ODD["half"]), "Star has rounds 1.5; allowed is a whole number from 1 up"),
        (lambda: Star(TWO, rounds=ODD["nan"]), "Star has rounds nan; allowed is a whole number from 1 up"),
        (lambda: Star(TWO, weights=[1]), "Star has 1 weights for 2 children; give one per child"),
        (lambda: Star(TWO, weights=[1, -1]), "Star has weights [1.0, -1.0]; allowed are numbers from 0 up, not all 0"),
        (lambda: Star(TWO, weights=[2, -1]), "Star has weights [2.0, -1.0]; allowed are numbers from 0 up, not all 0"),
        (lambda: Star(TWO, weights=[1, float("inf")]), "Star has weights [1.0, inf]; allowed are numbers from 0 up"),
        (lambda: Star(TWO, weights=[0, 0]), "Star has weights [0.0, 0.0]; allowed are numbers from 0 up, not all 0"),
        (lambda: Star(TWO, weights=ODD["text"]), "Star has weights '3'; allowed are numbers or 'uniform'"),
        (lambda: Star(TWO, at=ODD["text"]), "Star is at '3'; allowed are cloud, edge(number) and client(number)"),
        (lambda: Forest(TWO, at=ODD["child"]), "Forest is at 0; allowed are cloud, edge(number) and client(number)"),
        (lambda: Forest(TWO, slots=[1]), "Forest has slots [1] for 2 children; give each child its own number"),
        (lambda: Forest(TWO, slots=[1, 1]), "Forest has slots [1, 1] for 2 children; give each child its own number"),
        (lambda: Forest(TWO, slots=[-1, 1]), "Forest has slot -1; allowed is a whole number from 0 up"),
        (lambda: Mesh(TWO, [(0, 2)]), "Mesh has the link (0, 2); allowed are pairs of two different children, 0 to 1"),
        (lambda: Mesh(TWO, [(0, 0)]), "Mesh has the link (0, 0); allowed are pairs of two different children, 0 to 1"),
        (lambda: Mesh(TWO, [(0, 1, 1)]), "Mesh has the link (0, 1, 1); allowed are pairs of two different children"),
        (lambda: Mesh(TWO, [(0, -1)]), "Mesh has a link with -1; allowed is a whole number from 0 up"),
        (lambda: Mesh(TWO, [[0, 0.5], [0.5, 0]]), "Mesh has a link with 0.5; allowed is a whole number from 0 up"),
        (lambda: Mesh(TWO, [[0, 1], [0, 0]]), "Mesh links 1 to 0 one way only; links must be symmetric"),
        (lambda: Mesh(TWO, [], weights=[1]), "Mesh has 1 weights for 2 children; give one per child"),
    ],
)
def test_what_means_nothing_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(BadPlan) as caught:
        make()
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("node", [Train(0), Star(TWO), Ring(TWO), Mesh(TWO, []), Forest(TWO)])
def test_nodes_do_not_change(node):
    for field in dataclasses.fields(node):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(node, field.name, None)
    with pytest.raises((AttributeError, TypeError)):
        node.note = "hello"
    assert hash(node) == hash(dataclasses.replace(node) if isinstance(node, Train) else node)


def test_what_a_node_was_made_of_may_change_later():
    children, weights, slots = [Train(0), Train(1)], [1.0, 2.0], [3, 4]
    star, forest = Star(children, weights=weights), Forest(children, slots=slots)
    children.append(Train(2))
    weights.append(3.0)
    slots.clear()
    assert star == Star([Train(0), Train(1)], weights=[1, 2])
    assert forest.slots == (3, 4)


def test_numbers_may_come_from_arrays():
    members = np.array([3, 1])
    two: Any = np.int64(2)
    weights: Any = np.array([0.5, 1.5])
    plan = Star((Train(i) for i in members), at=edge(two), rounds=two, weights=weights)
    assert plan == Star([Train(3), Train(1)], at=edge(2), rounds=2, weights=[0.5, 1.5])
    assert [type(v) for v in (trains(plan)[0].client, plan.rounds, plan.at.number)] == [int, int, int]


def test_uniform_weights():
    assert Star(TWO, weights="uniform").weights == (1.0, 1.0)


@pytest.mark.parametrize(
    "links",
    [
        [(0, 1), (2, 1)],
        [(1, 0), (1, 2), (0, 1)],
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]],
        np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        np.array([[False, True, False], [True, False, True], [False, True, False]]),
    ],
)
def test_links_are_pairs_or_a_matrix(links):
    mesh = Mesh([Train(0), Train(1), Train(2)], links)
    assert mesh.links == ((0, 1), (1, 2))
    assert [mesh.neighbours(j) for j in range(3)] == [[1], [0, 2], [1]]


@pytest.mark.parametrize("links", [[(0, 1), (1, 0)], [(1, 0), (0, 1)], [(0, 1), (0, 1)], [[0, 1], [1, 0]]])
def test_two_children_linked_twice_are_linked_once(links):
    """Two pairs look like a matrix of two children, and mean the same."""
    assert Mesh(TWO, links).links == ((0, 1),)


def test_places_read_as_they_are_said():
    assert [str(place) for place in (cloud, edge(2), client(7))] == ["cloud", "edge 2", "client 7"]
    assert edge(2) == Place("edge", 2)
    assert edge(2) != client(2)
