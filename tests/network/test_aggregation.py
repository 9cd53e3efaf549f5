import numpy as np
import pytest

from covey.network.aggregation import aggregation_seconds
from covey.network.placement import place
from covey.network.topology import Link, fat_tree, star, tree
from covey.theory import interval_delay


def test_delays_of_groups_and_of_all_on_a_tree():
    link = Link(10e6, 0.001)
    network = tree(2, 5, link=link)
    placed = place(network, [0] * 5 + [1] * 5)
    group = aggregation_seconds(network, [(placed.clients[:5], "edge-0"), (placed.clients[5:], "edge-1")], 1e6)
    assert group == pytest.approx(2 * (0.001 + 0.1))  # each client has a link of its own to its edge
    everybody = aggregation_seconds(network, [(placed.clients, "cloud")], 1e6)
    assert everybody == pytest.approx(2 * (0.002 + 0.5))  # 5 x 1 MB share the link from edge to cloud
    # an interval of five group rounds, the last of them global: 4 x 0.202 + 1.004
    assert interval_delay(d_group=group, d_global=everybody, tau2=5) == pytest.approx(4 * 0.202 + 1.004)


def test_combined_aggregation_shortens_the_global_aggregation():
    """FedAvg-IC, Fig. 7: ten models leave a pod as one."""
    network = fat_tree(10)
    placed = place(network, np.repeat(np.arange(10), 10).tolist())
    size = 369_098 * 4
    direct = aggregation_seconds(network, [(placed.clients, placed.cloud)], size)
    pods = [(placed.clients[10 * e : 10 * e + 10], placed.edges[e]) for e in range(10)]
    combined = aggregation_seconds(network, pods, size) + aggregation_seconds(
        network, [(placed.edges, placed.cloud)], size
    )
    # 99 models (the server has its own) into one link against 9 in a pod and 9 between pods, both ways
    assert direct == pytest.approx(2 * 99 * size / 10e6, rel=0.01)
    assert combined == pytest.approx(2 * (9 + 9) * size / 10e6, rel=0.02)


def test_an_aggregation_with_nobody_far_takes_no_time():
    network = star(1, link=Link(1.0, 1.0))
    assert aggregation_seconds(network, [(["cloud"], "cloud")], 1e9) == 0


def test_the_seed_spreads_the_transfers_and_fixed_ties_do_without():
    """Between pods there are several equal ways; which are taken, and thus who waits for whom, is the seed's affair."""
    network = fat_tree(4)
    gatherings = [([network.hosts[i]], network.hosts[8 + i]) for i in range(8)]
    times = [aggregation_seconds(network, gatherings, 1e6, seed=seed) for seed in range(6)]
    assert len(set(times)) > 1
    assert times[3] == aggregation_seconds(network, gatherings, 1e6, seed=3)
    fixed = {aggregation_seconds(network, gatherings, 1e6, ties="fixed", seed=seed) for seed in range(6)}
    assert len(fixed) == 1
