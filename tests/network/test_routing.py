import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.network import routing
from covey.network.routing import Router, hop_matrix
from covey.network.topology import Link, fat_tree, from_graph, tree


def follow(network, path, source):
    """The node a path of arcs leads to."""
    here = source
    for arc in path:
        tail, here_next = network.arcs[arc]
        assert tail == here
        here = here_next
    return here


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10_000), st.sampled_from(["spread", "fixed"]))
def test_paths_lead_to_the_target_by_as_few_links_as_there_are(size, seed, ties):
    graph = nx.gnp_random_graph(size, 0.4, seed=seed)
    graph.add_edges_from(nx.path_graph(size).edges)
    network = from_graph(graph, link=Link())
    router = Router(network, ties=ties, seed=seed)
    far = dict(nx.all_pairs_shortest_path_length(graph))
    for a in graph:
        for b in graph:
            path = router.path(a, b)
            assert len(path) == far[a][b]
            assert follow(network, path, a) == b
    assert hop_matrix(network, list(graph)).tolist() == [[far[a][b] for b in graph] for a in graph]


def test_spread_uses_the_equal_paths_and_fixed_only_one():
    network = fat_tree(4)
    ends = network.hosts[0], network.hosts[-1]  # (4 / 2)^2 = 4 equal paths through the 4 cores
    spread = Router(network)
    assert len({spread.path(*ends, flow=flow) for flow in range(100)}) == 4
    fixed = Router(network, ties="fixed")
    assert len({fixed.path(*ends, flow=flow) for flow in range(100)}) == 1


def test_spread_is_even():
    network = fat_tree(4)
    router = Router(network)
    ends = network.hosts[0], network.hosts[-1]
    counts = np.unique([router.path(*ends, flow=flow)[2] for flow in range(2000)], return_counts=True)[1]
    assert (abs(counts - 500) < 100).all()  # 2000 / 4, sd = sqrt(2000 x 1/4 x 3/4) = 19


def test_the_same_flow_takes_the_same_path_in_another_router_of_the_same_seed():
    network = fat_tree(6)
    pairs = [(network.hosts[i], network.hosts[-1 - i]) for i in range(20)]
    first, same, other = ([Router(network, seed=seed).path(*pair) for pair in pairs] for seed in (3, 3, 4))
    assert first == same != other


def test_latency_is_the_sum_over_the_path():
    network = fat_tree(4, link=Link(1e6, 0.001), trunk=Link(1e6, 0.01))
    router = Router(network)
    assert router.latency(router.path(network.hosts[0], network.hosts[-1])) == pytest.approx(2 * 0.001 + 4 * 0.01)
    assert router.latency(()) == 0


def test_strangers_are_refused():
    router = Router(fat_tree(2))
    with pytest.raises(BadValue, match="node is 'nowhere'; allowed is a node of fat-tree:2"):
        router.path("nowhere", "host-0-0-0")
    with pytest.raises(BadValue, match="ties is 'random'; allowed is spread or fixed"):
        Router(fat_tree(2), ties="random")  # type: ignore[arg-type]  # what is tested


def test_one_way_links_are_taken_one_way():
    """A one-way ring of five: one link forth, four back."""
    graph = nx.DiGraph([(i, (i + 1) % 5) for i in range(5)])
    network = from_graph(graph, link=Link(1e6, 0.25))
    router = Router(network)
    assert [len(router.path(0, target)) for target in range(5)] == [0, 1, 2, 3, 4]
    assert len(router.path(1, 0)) == 4
    assert router.latency(router.path(1, 0)) == 4 * 0.25
    assert follow(network, router.path(3, 1), 3) == 1
    assert hop_matrix(network, [0, 1, 2]).tolist() == [[0, 1, 2], [4, 0, 1], [3, 4, 0]]


def test_hosts_of_a_switch_share_one_search(monkeypatch):
    searches = []
    real = routing.hops

    def counted(*given, **more):
        searches.append(given)
        return real(*given, **more)

    monkeypatch.setattr(routing, "hops", counted)
    network = tree(2, 50)
    router = Router(network)
    hosts = [node for node in network.nodes if str(node).startswith("host")]
    for host in hosts:
        for path in (router.path("cloud", host), router.path(host, "cloud")):
            assert len(path) == real(network, [network.number["cloud"]])[0][network.number[host]]
    assert len(hosts) == 100
    assert len(searches) == 3  # towards the cloud and towards either switch
