"""Clocks and prices against closed forms; the arithmetic stands beside the numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from tests.fakes import CLIENTS, SIZES, plans
from tests.narrow import known

from covey import theory
from covey.algorithms import make_algorithm
from covey.errors import BadValue, UnknownName
from covey.execute.walk import Brief, walk
from covey.fleet import Fleet
from covey.meter import Ran
from covey.network.aggregation import aggregation_seconds
from covey.network.clock import Clock, no_models
from covey.network.crew import Windows
from covey.network.devices import DEVICES, Device
from covey.network.placement import place
from covey.network.price import Ledger, NetworkMeter, mean_price, price
from covey.network.site import Site, make_site
from covey.network.topology import Link, fat_tree, star, tree
from covey.plan import Forest, Mesh, Ring, Star, Train, client, cloud, combine, edge, transfers

MODEL = 1e6  # bytes, so that a link of 1 MB/s takes a second a model
LINK = Link(1e6, 0.0)


def site_of(sizes=(1, 1, 1), network=None, edge_of=None, flops=1e6, speed=1e6, **more):
    """Clients that take a second a sample, on a star of links that take a second a model."""
    network = network or star(len(sizes), link=LINK)
    more.setdefault("devices", (Device("slow", speed),) * len(sizes))
    if "placement" not in more:
        more["placement"] = place(network, edge_of or [0] * len(sizes))
    return Site(sizes=list(sizes), flops=flops, model_bytes=MODEL, **more)


def seconds(plan, site, **more):
    return price(plan, site, **more).seconds


def test_a_star_waits_for_the_slowest():
    site = site_of((2, 5, 3))
    cost = price(Star(map(Train, range(3))), site)
    assert cost.seconds == pytest.approx(1 + 5 + 1)  # down, the largest client, up
    assert (cost.compute_seconds, cost.global_seconds, cost.group_seconds) == pytest.approx((5, 2, 0))
    assert cost.busy.tolist() == [2, 5, 3]
    assert cost.tiers == {"client-cloud": 3 * MODEL, "cloud-client": 3 * MODEL}


def test_a_ring_adds_up():
    site = site_of((2, 5, 3))
    cost = price(Ring(map(Train, range(3))), site)
    assert cost.seconds == pytest.approx(2 + 1 + 5 + 1 + 3)  # a hand-over passes two links at once, at 1 MB/s
    assert cost.where == (client(2),)
    again = price(Ring(map(Train, range(3))), site, cost.where)
    assert again.seconds == pytest.approx(12 + 1)  # from the last client back to the first


def test_epochs_of_the_plan_and_of_the_run():
    site = site_of((2,), epochs=3)
    assert price(Star([Train(0)]), site).compute_seconds == pytest.approx(6)
    assert price(Star([Train(0, epochs=1)]), site).compute_seconds == pytest.approx(2)


def test_rounds_of_a_group_repeat():
    site = site_of((1, 1))
    group = Star([Train(0), Train(1)], rounds=3, at=edge(0))
    assert seconds(Star([group]), site) == pytest.approx(3 * (1 + 1 + 1))  # the edge server stands at the cloud


def test_a_mesh_exchanges_over_shared_links():
    heads = [Star([Train(i)], at=client(i)) for i in range(3)]
    cost = price(Mesh(heads, [(0, 1), (1, 2)]), site_of((1, 1, 1)))
    assert cost.compute_seconds == pytest.approx(1 + 0.5)  # client 1 adds two models of 250,000 numbers at 1 MFLOPS
    assert cost.global_seconds == pytest.approx(2)  # it sends two models over its link, and gets two
    assert cost.group_seconds == 0


def test_a_device_does_one_thing_at_a_time():
    site = site_of((2,))
    assert seconds(Forest([Train(0), Train(0)]), site) == pytest.approx(4)


def test_stragglers_take_longer():
    site = site_of((1, 1), slowdown=[1.0, 7.0])
    assert price(Star([Train(0), Train(1)]), site).compute_seconds == pytest.approx(7)


def test_who_sleeps_pauses_its_training():
    site = site_of((3, 1), windows=Windows([0, 1], parts=2, day=10.0))
    # client 0 is awake from 0 to 5: trains 1 to 4; client 1 from 5 to 10: trains 5 to 6, then sends
    assert seconds(Star([Train(0), Train(1)]), site) == pytest.approx(7)
    # beginning at 4: client 0 trains from 10 to 13 and sends, client 1 from 5 to 6
    assert seconds(Star([Train(0), Train(1)]), site, begin=4.0) == pytest.approx(14 - 4)


def test_measured_curves_take_the_place_of_speed():
    pi = DEVICES["raspberry-pi-4"]
    site = site_of((100, 100), devices=(pi, pi), rule="fedprox", epochs=2)
    expected = 2 * (0.06719291 * 100 + 0.14201339)
    assert price(Star([Train(0), Train(1)]), site).compute_seconds == pytest.approx(expected)


def test_merging_takes_the_server_time():
    plan = Star(map(Train, range(3)))
    fast, slow = site_of(), site_of(server=Device("server", 1e5))
    assert seconds(plan, slow) - seconds(plan, fast) == pytest.approx(2 * 250_000 / 1e5)  # two additions of MODEL / 4


def test_group_operations_cost_every_member():
    quadratic = Device("d", 1e6, group_costs={"mask": (1.0, 0.0, 0.0)})
    site = site_of((1, 2, 3), devices=(quadratic,) * 3, operation="mask")
    cost = price(Star(map(Train, range(3)), rounds=2), site)
    assert cost.compute_seconds == pytest.approx(2 * (3 + 9))  # the slowest trains 3 s, then all take part for 3^2 s
    assert cost.busy.tolist() == pytest.approx([2 * (1 + 9), 2 * (2 + 9), 2 * (3 + 9)])


def test_an_operation_that_a_device_does_not_know():
    with pytest.raises(UnknownName, match="group operation of slow"):
        site_of(operation="mask")


def test_one_device_a_client():
    with pytest.raises(BadValue, match="devices is 1; allowed is one per client, which are 3"):
        site_of(devices=(DEVICES["phone-5gflops"],))


def test_failed_trainings_take_time_and_send_nothing():
    site = site_of((1, 1))
    cost = price(Star([Train(0), Train(1)]), site, failed={(1, 0)})
    assert cost.tiers == {"client-cloud": MODEL, "cloud-client": 2 * MODEL}
    assert cost.busy.tolist() == [1, 1]


def test_energy_is_computing_and_radio():
    device = Device("d", 1e6, watts=2.0, joules_per_byte_sent=1e-6, joules_per_byte_received=2e-6)
    cost = price(Star([Train(0)]), site_of((3,), devices=(device,)))
    assert cost.joules == pytest.approx(2 * 3 + 1 + 2)  # 3 s at 2 W, 1 MB up, 1 MB down


def test_the_busiest_link():
    assert known(price(Star([Train(0), Train(1)], rounds=2), site_of()).busiest_link)[2] == 2 * MODEL
    assert price(Train(0), site_of()).busiest_link is None


def test_the_timeline_says_who_did_what_when():
    cost = price(Star([Train(0), Train(1)]), site_of((1, 2)), timeline=True)
    shown = {(i.who, i.what, i.to): (i.begin, i.end) for i in cost.timeline}
    assert shown[client(1), "train", None] == pytest.approx((1, 3))
    assert shown[client(1), "send", cloud] == pytest.approx((3, 4))
    assert shown[cloud, "send", client(1)] == pytest.approx((0, 1))
    assert len(shown) == 6
    assert price(Star([Train(0)]), site_of()).timeline == ()


def test_more_groups_than_edges_count_edges_round():
    site = site_of((1, 1), network=tree(2, 1, link=LINK), edge_of=[0, 1])
    assert site.node(edge(2)) == site.node(edge(0)) == "edge-0"


@hypothesis_settings(max_examples=60, deadline=None)
@given(plans)
def test_the_clock_counts_what_the_plan_says_and_its_parts_add_up(plan):
    network = tree(3, 2, link=LINK)
    site = site_of(tuple(SIZES[:CLIENTS]), network=network, edge_of=[0, 0, 1, 1, 2, 2])
    cost = price(plan, site)
    counted = {f"{a}-{b}": n * MODEL for (a, b), n in transfers(plan).items()}
    assert cost.tiers == pytest.approx(counted)
    assert cost.compute_seconds + cost.group_seconds + cost.global_seconds == pytest.approx(cost.seconds)
    assert cost.seconds >= cost.compute_seconds >= cost.busy.max() * (1 - 1e-9)


def test_a_meter_gives_the_price_and_remembers_the_last_round():
    site = site_of((1, 2))
    meter, plan = NetworkMeter(site), Star([Train(0), Train(1)])
    first = meter.after(Ran(1, plan))
    seconds = price(plan, site).seconds
    assert first["simulated_seconds"] == pytest.approx(seconds)
    measured = meter._spent
    second = meter.after(Ran(2, plan, spent=first))
    assert second["simulated_seconds"] == pytest.approx(2 * seconds)
    meter.after(Ran(3, Star([Train(0, rate=0.5), Train(1)]), spent=second))  # rates cost nothing
    assert meter._spent is measured
    meter.after(Ran(4, plan, failed={(1, 0)}))
    assert meter._spent is not measured


@pytest.mark.parametrize("meter_of", [NetworkMeter, Ledger])
def test_a_round_begins_at_the_time_of_day_at_which_the_last_one_ended(meter_of):
    site = site_of((4, 1), windows=Windows([0, 1], parts=2, day=10.0))
    meter, plan = meter_of(site), Star([Train(0), Train(1)])
    first = meter.after(Ran(1, plan))
    second = meter.after(Ran(2, plan, spent=first))
    taken = second["simulated_seconds"] - first["simulated_seconds"]
    assert first["simulated_seconds"] == pytest.approx(7)
    assert taken == pytest.approx(price(plan, site, begin=7.0).seconds)
    assert taken != pytest.approx(7)  # client 0 sleeps until 10 and trains until 14


def test_the_mean_of_prices():
    one, two = price(Star([Train(0)]), site_of((1,))), price(Ring([Train(0), Train(0)]), site_of((1,)))
    mean = mean_price([one, two])
    assert mean.seconds == pytest.approx((3 + 2) / 2)
    assert mean.tiers == {"client-cloud": MODEL / 2, "cloud-client": MODEL / 2}


# --- sites from words


def test_a_site_from_words():
    fleet = Fleet(np.ones((4, 3)), window_of=np.array([0, 1, 0, 1]))
    site = make_site(
        fleet,
        network="star",
        link="2MB/s,3ms",
        device="raspberry-pi-4",
        stragglers="0.5:4",
        day=100,
        group_operation="secure-aggregation",
        server_device="1GFLOPS",
        flops=1,
        model_bytes=4,
    )
    assert site.placement.network.capacity.tolist() == [2e6] * 8
    assert sorted(known(site.slowdown)) == [1, 1, 4, 4]
    assert (known(site.windows).parts, known(site.server).speed, site.parameters) == (2, 1e9, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"stragglers": "some"}, "stragglers is 'some'; allowed is share:slowdown"),
        ({"day": 10.0}, "day is 10.0; allowed is a length for fleets whose clients have windows"),
        ({"link": "10 parsecs"}, "link is '10 parsecs'"),
        ({"link": "0MB/s"}, "link is '0MB/s'; allowed is a rate above 0"),
        ({"network": "fat-tree:2"}, "a host for each of 4 clients"),
        ({"device": "toaster"}, "device is 'toaster'"),
    ],
)
def test_bad_words(words, message):
    with pytest.raises((BadValue, UnknownName), match=message):
        make_site(Fleet(np.ones((4, 3))), **{"network": "star", "flops": 1, "model_bytes": 1, **words})


# --- the papers' own prices


def test_fedavg_ic_group_and_global_delays():
    """Eq. 5: between two global aggregations, d_group (tau2 - 1) + d_global.

    d_group is one aggregation and broadcast of all groups; our plan averages in the group also before the global
    average, at the same server, so that d_global is a group's average, then one of the groups' servers.
    """
    edge_of = np.repeat(np.arange(4), 4).tolist()
    network = fat_tree(6, link=LINK)
    site = site_of((1,) * 16, placement=place(network, edge_of, servers="own"), flops=0.0)
    groups = [list(range(e * 4, e * 4 + 4)) for e in range(4)]
    heads = site.placement.edges
    d_group = aggregation_seconds(
        network, [([site.node(client(i)) for i in g], heads[e]) for e, g in enumerate(groups)], MODEL
    )
    d_heads = aggregation_seconds(network, [(heads, site.placement.cloud)], MODEL)
    for tau2 in (1, 2, 5):
        plan = Star(Star(map(Train, g), rounds=tau2, at=edge(e)) for e, g in enumerate(groups))
        expected = theory.interval_delay(d_group=d_group, d_global=d_group + d_heads, tau2=tau2)
        assert seconds(plan, site) == pytest.approx(expected, rel=1e-6)


def test_fedavg_ic_split_of_group_and_global_time():
    groups = [[0, 1], [2, 3]]
    site = site_of((1,) * 4, network=tree(2, 2, link=LINK), edge_of=[0, 0, 1, 1])
    cost = price(Star(Star(map(Train, g), rounds=3, at=edge(e)) for e, g in enumerate(groups)), site)
    assert cost.global_seconds == pytest.approx(2)  # cloud to edge and back
    assert cost.group_seconds == pytest.approx(3 * 2)
    assert cost.compute_seconds == pytest.approx(3)


def test_what_stays_inside_an_edge_may_be_free():
    """As FedAvg-IC's authors count: gathering inside an edge costs nothing, the way to the cloud does."""
    edge_of, link = [0, 0, 1, 1], tree(2, 2, link=LINK)
    counted, free = (site_of((1,) * 4, network=link, edge_of=edge_of, free=who) for who in (None, edge_of))
    plan = Star(Star(map(Train, g), rounds=3, at=edge(e)) for e, g in enumerate([[0, 1], [2, 3]]))
    assert (seconds(plan, counted), seconds(plan, free)) == (pytest.approx(2 + 6 + 3), pytest.approx(2 + 3))
    assert price(plan, free).carried.sum() == 4 * MODEL  # cloud to two edges and back


def test_neighbours_of_an_edge_may_be_free():
    site = site_of((1,) * 4, network=tree(2, 2, link=LINK), edge_of=[0, 0, 1, 1], free=[0, 0, 1, 1])
    assert seconds(Ring(map(Train, [0, 1]), via=edge(0)), site, where=[client(0)]) == pytest.approx(2)
    assert seconds(Ring(map(Train, [0, 2])), site, where=[client(0)]) == pytest.approx(3)  # 2 is at another edge


def test_combined_aggregation_saves_traffic_and_time():
    """FedAvg-IC, App. B and Fig. 7: models of one edge are averaged there first; less time for the global average."""
    edge_of = np.repeat(np.arange(4), 4)
    fleet = Fleet(np.ones((16, 1)), edge_of=edge_of)
    site = site_of((1,) * 16, network=fat_tree(4, link=LINK), edge_of=edge_of.tolist())
    plan = Star(map(Train, range(16)))
    plain, combined = price(plan, site), price(combine(plan, fleet), site)
    assert combined.global_seconds <= plain.global_seconds / 2
    assert combined.carried.sum() < plain.carried.sum()
    assert combined.tiers["edge-cloud"] == 4 * MODEL
    assert combined.group_seconds == 0  # gathering at the edges is part of the global average


NODES, GROUPS, TAU1, TAU2 = 12, 3, 2, 4
STEPS = TAU1 * TAU2
TRAFFIC = [  # settings, epochs of the plan, and how many models travel where App. B counts n of them one way
    ("star", {"tau2": TAU2}, STEPS, lambda n: 2 * n),  # down and up
    ("stars", {"tau2": TAU2}, STEPS, lambda n: 2 * n),
    ("star-stars", {"tau2": TAU2}, STEPS, lambda n: 2 * n + 2 * GROUPS),  # groups average before the cloud does, too
    ("star-rings", {"hops": TAU2}, STEPS, lambda n: n + GROUPS),  # down to the first, handed on, up from the last
    ("ring-stars", {"tau2": TAU2}, STEPS * GROUPS, lambda n: 2 * n + GROUPS - 1),  # one group after another
    ("ring", {"hops": TAU2}, STEPS, lambda n: n - 1),  # the first node has the model already
    ("ring-rings", {}, TAU1 * NODES, lambda n: n - 1),  # every node of every group once
    ("rings", {"hops": TAU2}, STEPS, lambda n: n - GROUPS),
]


@pytest.mark.parametrize(("shape", "options", "steps", "sent"), TRAFFIC)
def test_traffic_of_the_eight_architectures(shape, options, steps, sent):
    """TornadoAggregate, App. B, counted off the walk of a plan."""
    algorithm = make_algorithm("architecture", {"shape": shape, "groups": GROUPS, "tau1": TAU1, **options})
    fleet, rng = Fleet(np.ones((NODES, 2))), np.random.default_rng(0)
    plan = algorithm.plan(1, fleet, algorithm.start(fleet, rng), rng)
    walked = walk(plan, [None], [1] * NODES, Clock(site_of((1,) * NODES)), brief=Brief(merges=no_models))
    one_way = theory.tornado_traffic(shape, nodes=NODES, groups=GROUPS, steps=steps, tau1=TAU1)
    assert walked.traffic.total() == sent(one_way)


def test_the_traffic_of_every_architecture_is_tested():
    assert {shape for shape, *_ in TRAFFIC} == set(theory.ARCHITECTURES)


def test_ihc_fl_link_costs_and_cost_to_target():
    """IHC-FL, Eq. 1a: what links between members and heads and between heads cost; times the rounds to the target."""
    cost = {(1, 0): 1.5, (2, 0): 1.0, (4, 3): 1.25, (0, 3): 2.0}  # seconds to send a model
    plan = Mesh([Star(map(Train, (0, 1, 2)), at=client(0)), Star(map(Train, (3, 4)), at=client(3))], [(0, 1)])
    sums: Any = Sums({frozenset(pair): c for pair, c in cost.items()})
    walk(plan, [None], [1] * 5, sums, brief=Brief(merges=no_models))
    assert sums.total == 2 * (1.5 + 1.0 + 1.25 + 2.0)  # every link both ways
    rounds = 7
    assert rounds * sums.total / 2 == pytest.approx(rounds * 5.75)


class Sums:
    """An executor that adds up what links cost."""

    def __init__(self, costs):
        self.costs, self.total, self.open = costs, 0.0, []

    def start(self, ticket, job):
        self.open.append(ticket)

    def send(self, ticket, send):
        self.total += self.costs[frozenset((send.source.number, send.target.number))]
        self.open.append(ticket)

    def meet(self, ticket, meeting):
        self.open.append(ticket)

    def finished(self, timeout=None):
        done, self.open = self.open, []
        return [(ticket, None) for ticket in done]


def test_group_fel_cost():
    """Group-FEL, Eq. 5: the computing of all clients together is K (O_g + E H_i) each."""
    pi = DEVICES["raspberry-pi-4"]
    sizes, groups = (30, 40, 50, 60, 70), [[0, 1, 2], [3, 4]]
    site = site_of(sizes, devices=(pi,) * 5, operation="secure-aggregation")
    plan = Star(Star((Train(i, epochs=2) for i in g), rounds=5, at=edge(0)) for g in groups)
    expected = theory.round_cost(groups, sizes, K=5, E=2, prices=theory.PRICES["cifar-secure"])
    assert price(plan, site).busy.sum() == pytest.approx(expected)


def test_fedgsp_time_and_traffic():
    """FedGSP, Eq. 15 to 17, with all groups sampled (kappa = 1): equal clients, merging at the server's speed.

    Eq. 16 has every model pass the server's one line, in and out. On a star, where only the server has a line worth
    counting, a ring's inner hand-overs do not pass the server, so the bytes of Eq. 17 are those of relayed rings.
    """
    clients, samples, groups = 12, 10, 3
    hardware = theory.Hardware(flops_per_sample=1e6, flops_per_merge=MODEL / 4, flops_per_second=1e6, model_bytes=MODEL)
    site = site_of((samples,) * clients, server=Device("server", 1e6))
    plan = Star(Ring(map(Train, range(g, clients, groups))) for g in range(groups))
    cost = price(plan, site)
    computing = theory.computing_seconds(
        lambda r: groups, rounds=1, clients=clients, samples=samples, kappa=1.0, hardware=hardware
    )
    assert cost.compute_seconds == pytest.approx(computing[0])
    relayed = Star(map(Train, range(clients)))  # Eq. 17 counts a model in and a model out for every client
    assert price(relayed, site).bytes == theory.communication_bytes(
        rounds=1, clients=clients, kappa=1.0, hardware=hardware
    )
    assert cost.bytes == (clients + groups) * MODEL  # handed on, it is clients + groups instead of 2 x clients


def test_fedgsp_communication_time():
    """Eq. 16: all models over one line, 8 M (1 / R_in + 1 / R_out) each."""
    clients = 6
    line = Link(2e6, 0.0)
    network = tree(1, clients, link=Link(1e12, 0.0), trunk=line)  # everybody behind the server's line
    site = site_of((1,) * clients, network=network, flops=0.0)
    hardware = theory.Hardware(model_bytes=MODEL, bits_in_per_second=16e6, bits_out_per_second=16e6)
    expected = theory.communication_seconds(rounds=1, clients=clients, kappa=1.0, hardware=hardware)
    assert seconds(Star(map(Train, range(clients))), site) == pytest.approx(expected, rel=1e-4)
