import numpy as np

from covey.algorithms.blocks import blocks_of
from covey.fleet import Fleet


def test_random_blocks_hold_everybody_once():
    fleet = Fleet(np.ones((7, 1)))
    blocks = blocks_of(fleet, 3, np.random.default_rng(0))
    assert sorted(map(len, blocks)) == [2, 2, 3]
    assert sorted(i for block in blocks for i in block) == list(range(7))


def test_no_more_blocks_than_clients():
    assert len(blocks_of(Fleet(np.ones((2, 1))), 5, np.random.default_rng(0))) == 2
