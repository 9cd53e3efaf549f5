"""The short form of plans, and that what `covey list` shows of an algorithm is what it runs."""

import numpy as np
import pytest

import covey
from covey.algorithms import ALGORITHMS, make_algorithm
from covey.plan import Ring, Star, Train, sketch


def test_children_that_are_alike_are_named_once():
    assert sketch(Star([Ring([Train(0), Train(1)]), Ring([Train(2)]), Train(3)])) == "Star(Ring(Train), Train)"


@pytest.mark.parametrize("name", ["fedavg", "fedavg-ic", "group-fel", "fedgsp", "ihc-fl", "ring-stars", "semicyclic"])
def test_an_algorithms_sketch_is_its_plan(name):
    fleet = covey.Fleet.load("digits", clients=8, partition="dirichlet:0.5", edges=2, samples=12)
    seen = set()
    covey.run(
        name,
        fleet,
        model="softmax-regression",
        rounds=2,
        mode="one-by-one",
        callbacks=[lambda report: seen.add(sketch(report.plan))],
    )
    assert make_algorithm(name).sketch in seen


@pytest.mark.parametrize("name", ["ring", "star-rings", "rings", "ring-stars", "ring-rings"])
def test_chains_show_in_the_sketch(name):
    algorithm = make_algorithm(name, {"chains": 2, "groups": 2})
    fleet = covey.Fleet(np.ones((8, 2)))
    state = algorithm.start(fleet, np.random.default_rng(0))
    assert sketch(algorithm.plan(1, fleet, state, np.random.default_rng(0))) == algorithm.sketch


def test_every_algorithm_has_a_sketch():
    assert [entry.name for entry in ALGORITHMS if not make_algorithm(entry.name).sketch] == []
