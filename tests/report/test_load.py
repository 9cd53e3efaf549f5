import math

import numpy as np
import pytest

from covey.network.topology import fat_tree, jellyfish, ring, star, tree
from covey.report.layout import positions

NETWORKS = [fat_tree(4), tree(3, 2), star(5), ring(6), ring(1), jellyfish(8, 3, 2, rng=np.random.default_rng(0))]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_every_node_has_a_place_of_its_own(network):
    at = positions(network)
    assert set(at) == set(network.nodes)
    places = sorted(at.values())
    gaps = [math.dist(a, b) for i, a in enumerate(places) for b in places[i + 1 :]]
    assert min(gaps, default=1) > 1e-3


def test_trees_stand_upright():
    at = positions(tree(3, 2))
    assert at["host-0-0"][1] < at["edge-0"][1] < at["cloud"][1]
