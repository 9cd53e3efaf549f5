import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadData, BadValue
from covey.network import topology
from covey.network.routing import hop_matrix
from covey.network.topology import Link, Network, fat_tree, from_graph, jellyfish, ring, star, tree


@pytest.mark.parametrize("pods", [1, 2, 4, 5, 10])
def test_a_fat_tree_has_the_counts_of_its_definition(pods):
    half = (pods + 1) // 2
    network = fat_tree(pods)
    assert len(network.hosts) == pods * half * half
    assert len(network.nodes) == pods * half * half + 2 * pods * half + half * half  # hosts, pod switches, cores
    assert (
        len(network.arcs) == 2 * 3 * pods * half * half
    )  # host, edge-aggregation and aggregation-core links, two ways
    assert len(network.blocks) == pods


def test_hosts_of_a_fat_tree_are_2_4_or_6_hops_apart():
    network = fat_tree(4)
    hops = hop_matrix(network, network.hosts)
    switch, pod = np.arange(16) // 2, np.arange(16) // 4  # 2 hosts a switch, 4 a pod
    same_switch, same_pod = switch[:, None] == switch, pod[:, None] == pod
    expected = np.where(same_switch, 2, np.where(same_pod, 4, 6))
    np.fill_diagonal(expected, 0)
    assert (hops == expected).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(4, 20), st.integers(3, 4), st.integers(1, 3), st.integers(0, 1000))
def test_jellyfish_is_connected_and_regular(switches, degree, hosts, seed):
    if switches * degree % 2 or degree >= switches:
        with pytest.raises(BadValue, match="degree"):
            jellyfish(switches, degree, hosts, rng=np.random.default_rng(seed))
        return
    network = jellyfish(switches, degree, hosts, rng=np.random.default_rng(seed))
    assert nx.is_connected(network.graph)
    assert all(network.graph.degree[f"switch-{s}"] == degree + hosts for s in range(switches))
    again = jellyfish(switches, degree, hosts, rng=np.random.default_rng(seed))
    assert again.arcs == network.arcs


def test_a_jellyfish_that_cannot_hang_together_is_refused():
    with pytest.raises(BadValue, match="degree is 1; allowed is a degree that joins 6 switches"):
        jellyfish(6, 1, 1, rng=np.random.default_rng(0))


def test_trunk_and_access_links_differ():
    network = tree(2, 3, link=Link(1e6, 0.01), trunk=Link(5e6, 0.02))
    for arc, capacity, latency in zip(network.arcs, network.capacity, network.latency, strict=True):
        assert (capacity, latency) == ((5e6, 0.02) if "cloud" in arc else (1e6, 0.01))


def test_star_ring_and_tree_have_the_hosts_asked_for():
    assert len(star(7).hosts) == len(ring(7).hosts) == 7
    assert len(tree(3, 4).hosts) == 12
    assert len(ring(1).arcs) == 0
    assert len(ring(2).arcs) == 2
    for bad in (lambda: star(0), lambda: ring(0), lambda: tree(0, 1), lambda: tree(1, 0), lambda: fat_tree(0)):
        with pytest.raises(BadValue):
            bad()


def test_any_graph_with_roles():
    graph: nx.Graph[str] = nx.Graph()
    graph.add_node("c", role="cloud")
    for edge in ("e0", "e1"):
        graph.add_node(edge, role="edge")
        graph.add_edge("c", edge, capacity="1GB/s", latency="5ms")
        for i in range(2):
            graph.add_node(f"{edge}-{i}", role="host")
            graph.add_edge(edge, f"{edge}-{i}", capacity=2e6, latency=0)
    network = from_graph(graph)
    assert network.cloud == "c"
    assert network.edges == ("e0", "e1")
    assert network.blocks == (("e0-0", "e0-1"), ("e1-0", "e1-1"))
    assert network.capacity[network.arcs.index(("c", "e0"))] == 1e9
    assert graph.edges["c", "e0"]["capacity"] == "1GB/s", "the caller's graph is as it was"


def test_without_roles_every_node_is_a_host_and_a_default_link_fills_in():
    network = from_graph(nx.path_graph(4), link=Link(3.0, 0.5))
    assert network.hosts == (0, 1, 2, 3)
    assert network.capacity.tolist() == [3.0] * 6
    with pytest.raises(BadValue, match="capacity of link 0 to 1 is 'missing'"):
        from_graph(nx.path_graph(4))


def test_a_directed_graph_has_one_arc_a_link():
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edge(0, 1, capacity=1.0, latency=0)
    graph.add_edge(1, 0, capacity=2.0, latency=0)
    assert from_graph(graph).capacity.tolist() == [1.0, 2.0]
    graph.remove_edge(1, 0)
    with pytest.raises(BadData, match="disconnected"):
        from_graph(graph)


def test_bad_graphs_get_one_clear_sentence():
    split = nx.Graph([(0, 1), (2, 3)])
    with pytest.raises(BadData, match="graph is disconnected; every host must be able to reach every other"):
        from_graph(split, link=Link())
    dead = nx.path_graph(3)
    nx.set_edge_attributes(dead, dict.fromkeys(dead.edges, 0), "capacity")
    with pytest.raises(BadValue, match="capacity of link 0 to 1 is 0; allowed is a rate above 0"):
        from_graph(dead, link=Link())
    with pytest.raises(BadData, match="parallel links"):
        from_graph(nx.MultiGraph([(0, 1), (0, 1)]), link=Link())
    odd = nx.path_graph(2)
    odd.nodes[0]["role"] = "printer"
    with pytest.raises(BadData, match="role 'printer'; allowed is host, switch, edge or cloud"):
        from_graph(odd, link=Link())
    clouds = nx.path_graph(2)
    nx.set_node_attributes(clouds, dict.fromkeys(clouds, "cloud"), "role")
    with pytest.raises(BadData, match="2 nodes with role cloud"):
        from_graph(clouds, link=Link())
    with pytest.raises(BadData, match="no host"):
        Network(nx.path_graph(2), ())


def test_a_link_is_read_from_text():
    assert Link.parse("100Mbps,2ms") == Link(12.5e6, 0.002)
    assert Link.parse("100MB/s") == Link(100e6, 0.001)
    for bad in ("0MB/s,1ms", "10MB/s,soon", "quick"):
        with pytest.raises(BadValue, match="link is"):
            Link.parse(bad)


def test_110_pods_are_the_most_that_have_a_million_links():
    # 3 links for each of pods x half x half: a host's, a switch's, an aggregation switch's
    assert 3 * 110 * 55**2 <= topology.MOST_LINKS < 3 * 111 * 56**2


@pytest.mark.parametrize(("switches", "degree"), [(120, 100), (101, 100), (120, 60)])
def test_dense_jellyfish_are_regular_and_take_no_time(switches, degree):
    network = jellyfish(switches, degree, 1, rng=np.random.default_rng(0))
    assert {network.graph.degree[f"switch-{s}"] for s in range(switches)} == {degree + 1}
