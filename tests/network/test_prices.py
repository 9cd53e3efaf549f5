import numpy as np
import pytest

from covey.errors import UnknownName
from covey.network.devices import DEVICES
from covey.network.placement import place
from covey.network.prices import (
    aggregation_seconds,
    fedgsp_communication_seconds,
    fedgsp_compute_seconds,
    fedgsp_traffic,
    group_fel_cost,
    interval_seconds,
    link_cost,
    traffic,
)
from covey.network.topology import Link, fat_tree, star, tree
from covey.plan import Forest, Ring, Star, Train, edge, transfers

CLIENTS, GROUPS, TAU2 = 20, 5, 3
SIZE = CLIENTS // GROUPS


def price(architecture):
    return traffic(architecture, model_bytes=1, clients=CLIENTS, rounds=1, groups=GROUPS, group_rounds=TAU2)


def test_the_closed_forms_of_appendix_b():
    assert price("STAR") == price("stars") == 20  # M |N|
    assert price("RING") == 1
    assert price("STAR-stars") == 20 * 3
    assert price("STAR-rings") == 5 * 3  # one node of each group is active
    assert price("RING-stars") == 20 / 5 * 3  # one group is active
    assert price("RING-rings") == 3
    assert price("rings") == 5
    with pytest.raises(UnknownName, match="did you mean 'STAR-stars'"):
        price("STAR-star")


def test_plans_come_to_appendix_b():
    """Models sent up or handed on, without broadcasts, in a plan where every group has its turn.

    A chain that lives on hands its model to the first node of the next round: that hand-over is added by hand.
    """
    groups = [range(g * SIZE, (g + 1) * SIZE) for g in range(GROUPS)]
    rings = [Ring(Train(i) for i in g) for g in groups]
    stars = [Star((Train(i) for i in g), rounds=TAU2, at=edge(e)) for e, g in enumerate(groups)]

    def paper(architecture, rounds, group_rounds):
        return traffic(
            architecture, model_bytes=1, clients=CLIENTS, rounds=rounds, groups=GROUPS, group_rounds=group_rounds
        )

    assert transfers(Star(Train(i) for i in range(CLIENTS)))["client", "cloud"] == paper("STAR", 1, 1)
    assert transfers(Ring(Train(i) for i in range(CLIENTS)))["client", "client"] + 1 == paper("RING", CLIENTS, 1)
    assert transfers(Star(stars))["client", "edge"] == paper("STAR-stars", 1, TAU2)
    chains = transfers(Star(rings))
    assert chains["client", "client"] + chains["client", "cloud"] == paper("STAR-rings", 1, SIZE)
    assert transfers(Ring(stars))["client", "edge"] == paper("RING-stars", GROUPS, TAU2)
    assert transfers(Ring(rings))["client", "client"] + 1 == paper("RING-rings", GROUPS, SIZE)
    single = [Star(star.children, at=star.at) for star in stars]
    assert transfers(Forest(single))["client", "edge"] == paper("stars", 1, 1)
    assert transfers(Forest(rings))["client", "client"] + GROUPS == paper("rings", SIZE, 1)


def test_one_interval_of_fedavg_ic():
    assert interval_seconds(group_seconds=0.5, global_seconds=3, group_rounds=5) == 0.5 * 4 + 3
    assert interval_seconds(group_seconds=0.5, global_seconds=3, group_rounds=1) == 3


def test_delays_of_groups_and_of_all_on_a_tree():
    link = Link(10e6, 0.001)
    network = tree(2, 5, link=link)
    placed = place(network, [0] * 5 + [1] * 5)
    group = aggregation_seconds(network, [(placed.clients[:5], "edge-0"), (placed.clients[5:], "edge-1")], 1e6)
    assert group == pytest.approx(2 * (0.001 + 0.1))  # each client has a link of its own to its edge
    everybody = aggregation_seconds(network, [(placed.clients, "cloud")], 1e6)
    assert everybody == pytest.approx(2 * (0.002 + 0.5))  # 5 x 1 MB share the link from edge to cloud


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


def test_ihc_fl_counts_a_link_between_heads_once():
    costs = np.array([[0, 1.0, 2, 4], [1, 0, 3, 5], [2, 3, 0, 6], [4.5, 5, 6, 0]])
    assert link_cost(costs, [0, 0, 3, 3], [(0, 3)]) == 1 + 6 + 4
    assert link_cost(costs, [0, 0, 3, 3], [(0, 3)], both_ways=True) == 1 + 6 + 4 + 4.5


def test_group_fel_equation_5():
    pi = DEVICES["raspberry-pi-4"]
    sampled = [[20, 30], [50, 60, 70]]

    def overhead(g):
        return 0.01629675 * g * g - 0.02373668 * g + 0.55442565

    def training(n):
        return 0.07093414 * n - 0.00559966

    expected = 5 * (2 * overhead(2) + 3 * overhead(3) + 2 * sum(training(n) for n in (20, 30, 50, 60, 70)))
    assert group_fel_cost(sampled, device=pi, group_rounds=5, epochs=2) == pytest.approx(expected)


def test_fedgsp_equations_15_to_17():
    # f(r) = 10, 20 of K = 100 clients with n = 50 samples: chains of 10 and of 5; kappa f(r) - 1 = 2 and 5 merges
    seconds = fedgsp_compute_seconds([10, 20], clients=100, samples=50)
    assert seconds == pytest.approx((96e6 * 50 * (10 + 5) + 6.3e6 * (2 + 5)) / 567e9)
    assert fedgsp_compute_seconds([500], clients=100, samples=50, kappa=0) == pytest.approx(
        (96e6 * 50 - 6.3e6) / 567e9
    )  # no chain is shorter than one client
    assert fedgsp_traffic(rounds=34, clients=368) == pytest.approx(2 * 0.3 * 368 * 25.2e6 * 34)
    # Eq. 16 in bits: 8 kappa K M R (1 / R_in + 1 / R_out)
    assert fedgsp_communication_seconds(rounds=34, clients=368) == pytest.approx(
        8 * 0.3 * 368 * 25.2e6 * 34 * 2 / 567e6
    )


def test_a_speed_can_stand_in_for_measured_training():
    phone = DEVICES["phone-5gflops"]
    with pytest.raises(UnknownName):
        group_fel_cost([[10]], device=phone, group_rounds=1, epochs=1, flops=1e6)
    assert phone.train_seconds(10, flops=1e6) == 0.002


def test_an_aggregation_with_nobody_far_takes_no_time():
    network = star(1, link=Link(1.0, 1.0))
    assert aggregation_seconds(network, [(["cloud"], "cloud")], 1e9) == 0
