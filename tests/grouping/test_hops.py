import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping import EdgeHops, Grouping, group
from covey.grouping.measures import hops_of
from covey.grouping.terms import hops_term


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_hops_by_edge_say_what_a_table_of_all_pairs_says(alone, seed):
    rng = np.random.default_rng(seed)
    hops = EdgeHops(rng.integers(0, 3, 14))
    by_edge, by_table = hops_term(hops, alone=alone), hops_term(hops.table(), alone=alone)
    order, of = rng.permutation(14), np.zeros(14, dtype=np.int64)
    of[order[:3]] = np.arange(3)
    for term in (by_edge, by_table):
        term.open(order[:3])
    for node in order[3:].tolist():
        assert by_edge.increase(node) == pytest.approx(by_table.increase(node))
        of[node] = rng.integers(3)
        for term in (by_edge, by_table):
            term.add(node, int(of[node]))
    for one, other in zip(by_edge.measure(of), by_table.measure(of), strict=True):
        assert one == pytest.approx(other)
    groups = Grouping(tuple(tuple(np.flatnonzero(of == k).tolist()) for k in range(3)))
    assert hops_of(groups, hops) == hops_of(groups, hops.table())


def test_what_does_not_fit_into_memory_is_refused_with_what_would(monkeypatch):
    monkeypatch.setattr("covey.grouping.estimate.free_memory", lambda: 1e6)
    with pytest.raises(
        BadValue, match=r"^clients is 2000; allowed is at most about \d[\d,]* for grouping 'kldg' in the 1 MB"
    ):
        group("kldg", np.ones((2000, 3), dtype=int), rng=np.random.default_rng(0))
