"""What a grouping is expected to take: how it grows with the fleet."""

import numpy as np
import pytest

from covey.grouping.estimate import NEEDS, Size, estimate, size_of


def size(clients, groups=None, **given):
    return Size(clients, labels=10, groups=groups or max(1, clients // 5), width=10, **given)


def seconds(name, clients, **given):
    found = estimate(name, size(clients, **given))
    assert found is not None
    return found.seconds


@pytest.mark.parametrize("name", NEEDS)
def test_more_clients_take_more(name):
    few, many = (NEEDS[name](size(clients)) for clients in (100, 1000))
    assert 0 < few.seconds < many.seconds
    assert 0 < few.bytes < many.bytes


def test_cov_looks_at_all_clients_of_a_small_fleet_and_at_a_thousand_of_a_large_one():
    assert seconds("cov", 100_000) == pytest.approx(seconds("cov", 50_000) * 2)
    assert seconds("cov", 10_000) > 2 * seconds("cov", 5_000)
    assert seconds("cov", 10_000, candidates=50) < seconds("cov", 10_000) / 2
    assert seconds("cov", 50, candidates=1000) == seconds("cov", 50)  # nobody has more candidates than clients


def test_edges_are_grouped_one_after_the_other():
    places = np.array([0, 0, 0, 1])
    found, times = size_of((4, 10), 2, places=places, search=3, candidates=None)
    assert (found.clients, found.groups, found.search, found.candidates, times) == (3, 2, 3, None, 2)
    one, two = estimate("cov", found), estimate("cov", found, times)
    assert one is not None
    assert two is not None
    assert (two.seconds, two.bytes) == (2 * one.seconds, one.bytes)


def test_nothing_is_known_of_others():
    assert estimate("mine", size(10)) is None
