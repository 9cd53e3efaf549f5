import numpy as np
import pytest
from tests.narrow import known

from covey.errors import BadValue
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
    assert components(len(grouping), list(range(len(grouping))), known(grouping.links)) == 1
    assert found.bound <= found.objective


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        (
            {"groups": 5},
            r"groups is 5; allowed is at least 12: 90 clients are solved in 4 blocks",
        ),  # 3 heads each
        ({"min_size": 20}, r"min_size is 20; allowed is at most \d+: this many clients are solved in blocks of \d+"),
        ({"groups": 17, "degree": 3}, r"groups is 17; allowed is an even number where degree is 3"),
    ],
)
def test_what_blocks_cannot_give_is_refused(monkeypatch, wishes, sentence):
    monkeypatch.setattr(blocks, "LARGE", 50)
    monkeypatch.setattr(blocks, "BLOCK", 30)
    labels = np.random.default_rng(0).integers(0, 40, (90, 6))
    with pytest.raises(BadValue, match=sentence):
        topology(labels, rng=np.random.default_rng(0), **wishes)


def test_a_table_of_distances_holds_those_of_its_pairs():
    unit = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    fleet = blocks._Fleet(unit, None, once=False)
    everybody = np.arange(3)
    table = fleet.table(everybody, everybody)
    np.testing.assert_allclose(table, [[0.0, 0.4, 2.0], [0.4, 0.0, 1.6], [2.0, 1.6, 0.0]], atol=1e-12)
    np.testing.assert_allclose(fleet.deltas(everybody[:, None], everybody), table, atol=1e-12)
    np.testing.assert_allclose(fleet.costs(everybody[:, None], everybody), 1 + table, atol=1e-12)
