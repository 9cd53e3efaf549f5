import numpy as np
import pytest

from covey.grouping.ihc import blocks, topology
from covey.grouping.ihc.problem import components


@pytest.mark.parametrize("degree", [2, 3])
def test_networks_of_blocks_are_joined_into_one_in_which_all_heads_have_their_degree(monkeypatch, degree):
    monkeypatch.setattr(blocks, "LARGE", 50)
    monkeypatch.setattr(blocks, "BLOCK", 30)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 40, (90, 6))
    found = topology(labels, degree=degree, rng=rng)
    grouping = found.grouping
    assert sorted(i for members in grouping for i in members) == list(range(90))
    degrees = np.bincount(np.array(grouping.links).ravel(), minlength=len(grouping))
    assert set(degrees.tolist()) == {degree}
    assert components(len(grouping), list(range(len(grouping))), grouping.links) == 1
    assert found.bound <= found.objective
