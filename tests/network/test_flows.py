import math

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.network.flows import FlowSimulator
from covey.network.topology import Link, fat_tree, from_graph, star


def line(*capacities, latency=0.0):
    """Nodes 0, 1, 2, … in a row, with these capacities between them."""
    graph = nx.path_graph(len(capacities) + 1)
    for i, capacity in enumerate(capacities):
        graph.edges[i, i + 1].update(capacity=capacity, latency=latency)
    return from_graph(graph)


def times(simulator, *flows):
    simulator.run_until_idle()
    return pytest.approx([simulator.finished[flow] for flow in flows])


def test_a_transfer_alone_takes_its_latency_and_its_bytes():
    simulator = FlowSimulator(line(10.0, 5.0, latency=0.25))
    flow = simulator.start(0, 2, 100)
    assert times(simulator, flow) == [2 * 0.25 + 100 / 5]


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_one_link_shared_by_n(count):
    simulator = FlowSimulator(line(10.0))
    flows = [simulator.start(0, 1, 100) for _ in range(count)]
    assert times(simulator, *flows) == [count * 100 / 10] * count


def test_one_link_shared_by_sizes_1_to_n():
    # processor sharing: when the k-th smallest of n ends, each of the n - k larger ones still has its rest
    # end(k) = sum over j <= k of (n - j + 1) (s_j - s_(j-1)) / c, here s_j = j, so sum of (n - j + 1) / c
    simulator = FlowSimulator(line(2.0))
    flows = [simulator.start(0, 1, size) for size in (1, 2, 3, 4)]
    assert times(simulator, *flows) == [4 / 2, (4 + 3) / 2, (4 + 3 + 2) / 2, (4 + 3 + 2 + 1) / 2]


def test_both_directions_have_the_whole_capacity():
    simulator = FlowSimulator(line(10.0))
    assert times(simulator, simulator.start(0, 1, 100), simulator.start(1, 0, 100)) == [10, 10]


def test_two_bottlenecks():
    # links of 6 and 10; a on the first, b on both, c on the second: rates 3, 3, 7 (see test_sharing)
    simulator = FlowSimulator(line(6.0, 10.0))
    a, b, c = (simulator.start(*ends, 30) for ends in ((0, 1), (0, 2), (1, 2)))
    # c ends at 30 / 7; a and b go on at 3 and end at 10
    assert times(simulator, a, b, c) == [10, 10, 30 / 7]


def test_parking_lot():
    # links of 10 and 4; the long flow and three short ones get 4 / 4 = 1 on the second, the short one on the first 9
    simulator = FlowSimulator(line(10.0, 4.0))
    long = simulator.start(0, 2, 8)
    first = simulator.start(0, 1, 9)
    second = [simulator.start(1, 2, size) for size in (2, 2, 2)]
    # t = 1: `first` is over. t = 2: the three are over, the long flow has sent 2 and goes on alone at 4: 6 / 4 more
    assert times(simulator, long, first, *second) == [2 + 6 / 4, 1, 2, 2, 2]


def test_staggered_starts():
    # 4 s alone at 10: 40 sent. Both at 5: the first's 60 take 12 s. Then the second has sent 60, and 40 more take 4 s
    simulator = FlowSimulator(line(10.0))
    flows = simulator.start(0, 1, 100), simulator.start(0, 1, 100, at=4)
    assert times(simulator, *flows) == [4 + 12, 16 + 4]


def test_latency_only_and_nothing_to_do():
    simulator = FlowSimulator(line(10.0, 10.0, latency=0.5))
    empty, at_home = simulator.start(0, 2, 0), simulator.start(1, 1, 1e9, at=3)
    assert times(simulator, empty, at_home) == [1.0, 3.0]
    assert simulator.carried.sum() == 0


def test_a_link_is_free_while_the_bytes_are_still_under_way():
    # the far one has 1 s of latency: the near one has the link of 10 alone for that second
    simulator = FlowSimulator(line(1000.0, 10.0, latency=0.5))
    near, far = simulator.start(1, 2, 5), simulator.start(0, 2, 10)
    assert times(simulator, near, far) == [0.5 + 0.5, 1 + 1]


def test_callbacks_start_what_depends_on_them():
    # three hand-overs of 10 bytes at 10 bytes/s after 2 s of training each
    simulator, seen = FlowSimulator(line(10.0, 10.0, 10.0)), []

    def train(node):
        simulator.wait(2, then=lambda _: hand_over(node))

    def hand_over(node):
        seen.append(simulator.now)
        if node < 3:
            simulator.start(node, node + 1, 10, then=lambda _: train(node + 1))

    train(0)
    assert simulator.run_until_idle() == pytest.approx(4 * 2 + 3 * 1)
    assert seen == pytest.approx([2, 5, 8, 11])


def test_advance_goes_from_completion_to_completion():
    simulator = FlowSimulator(line(10.0))
    flow, pause = simulator.start(0, 1, 100), simulator.wait(4)
    assert simulator.next_event() == 0  # the transfer takes up its link
    assert simulator.advance(until=1.0) == []
    assert simulator.now == 1.0
    assert simulator.next_event() == 4
    assert simulator.advance() == [pause]
    late = simulator.start(0, 1, 30)  # at 4 s, 60 bytes of the first are left: 30 take 6 s at 5 bytes/s
    assert simulator.advance() == [late]
    assert simulator.now == pytest.approx(10)
    assert simulator.advance() == [flow]
    assert simulator.now == pytest.approx(10 + 30 / 10)
    assert simulator.advance() == []
    assert simulator.idle
    assert simulator.advance(until=50.0) == []
    assert simulator.now == 50
    assert math.isinf(simulator.next_event())


def test_what_ends_together_is_returned_together():
    simulator = FlowSimulator(fat_tree(4, link=Link(3.0, 0.1)))
    hosts = simulator.network.hosts
    flows = [simulator.start(hosts[i], hosts[i + 1], 1.0) for i in range(0, 16, 2)]
    assert simulator.advance() == flows


def test_bytes_on_links():
    network = line(10.0, 5.0)
    simulator = FlowSimulator(network, record=True)
    simulator.start(0, 2, 100)
    simulator.start(1, 2, 50, at=10)
    assert simulator.advance(until=12.0) == []
    carried = dict(zip(network.arcs, simulator.carried, strict=True))
    # 5 bytes/s for 10 s, then 2.5 each for 2 s
    assert carried[0, 1] == pytest.approx(55)
    assert carried[1, 2] == pytest.approx(60)
    simulator.run_until_idle()
    source, target, carried_by_it = simulator.busiest()
    assert (source, target) == (1, 2)
    assert carried_by_it == pytest.approx(150)
    # both end at 30: 50 bytes each from 10 s on at 2.5
    assert simulator.load(network.arcs.index((0, 1))) == [(0, 5), (10, 2.5), (30, 0)]
    assert simulator.load(network.arcs.index((1, 2))) == [(0, 5), (30, 0)]
    assert simulator.load(network.arcs.index((1, 0))) == []


def test_bad_input():
    simulator = FlowSimulator(star(2))
    for size in (-1, math.inf, math.nan):
        with pytest.raises(BadValue, match="size is"):
            simulator.start("host-0", "cloud", size)
    for seconds in (-1, math.inf, math.nan):
        with pytest.raises(BadValue, match="seconds is"):
            simulator.wait(seconds)
    simulator.advance(until=2)
    with pytest.raises(BadValue, match="at is 1; allowed is a time from now \\(2 s\\) on"):
        simulator.wait(1, at=1)
    with pytest.raises(BadValue, match="record is False"):
        simulator.load(0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_times_are_those_of_the_textbook(reference, data):
    size = data.draw(st.integers(2, 6))
    graph = nx.gnp_random_graph(size, 0.3, seed=data.draw(st.integers(0, 1000)))
    graph.add_edges_from(nx.path_graph(size).edges)
    numbers = st.integers(1, 8).map(float)
    for _, _, link in graph.edges(data=True):
        link.update(capacity=data.draw(numbers), latency=data.draw(st.sampled_from([0.0, 0.125, 0.5])))
    network = from_graph(graph)
    simulator = FlowSimulator(network)
    nodes = st.integers(0, size - 1)
    asked = data.draw(st.lists(st.tuples(nodes, nodes, st.integers(0, 30), numbers), min_size=1, max_size=10))
    jobs = []
    for source, target, amount, start in asked:
        path = simulator.router.path(source, target)
        jobs.append((start, path, simulator.router.latency(path), float(amount)))
        simulator.start(source, target, amount, at=start)
    simulator.run_until_idle()
    expected = reference.simulate(jobs, network.capacity.tolist())
    assert [simulator.finished[i] for i in range(len(jobs))] == pytest.approx(expected, rel=1e-8)
    assert simulator.carried.sum() == pytest.approx(sum(len(path) * amount for _, path, _, amount in jobs))


def test_a_thousand_clients_through_one_server_in_closed_form():
    # all 1,000 uploads share the server's 10 MB/s: 1,000 x 1 MB / 10 MB/s, and the way there is 2 links of 1 ms
    network = star(1001, link=Link(10e6, 0.001))
    simulator = FlowSimulator(network)
    for host in network.hosts[1:]:
        simulator.start(host, network.hosts[0], 1e6)
    assert simulator.run_until_idle() == pytest.approx(100 + 0.002)
