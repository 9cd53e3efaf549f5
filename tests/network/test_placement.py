import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.network.placement import place
from covey.network.spec import network_from
from covey.network.topology import fat_tree, ring, star, tree
from covey.plan import client, cloud, edge


def test_fedavg_ic_100_nodes_in_10_pods():
    edge_of = np.repeat(np.arange(10), 10)
    placed = place(fat_tree(10), edge_of.tolist())
    hops = placed.hops()
    same = edge_of[:, None] == edge_of
    assert set(hops[~same]) == {6}
    assert set(hops[same]) == {0, 2, 4}  # 10 of a pod's 25 hosts: two switches of 5
    assert all(str(node).startswith(f"host-{e}-") for e, node in zip(edge_of, placed.clients, strict=True))
    assert all(str(node).startswith(f"host-{e}-") for e, node in enumerate(placed.edges))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=16),
    st.sampled_from(["fat-tree:4", "jellyfish:6,3,4", "star", "ring", "tree:3"]),
    st.sampled_from(["medoid", "own"]),
)
def test_every_client_has_a_host_of_its_own(edge_of, text, servers):
    network = network_from(text, edge_of)
    if servers == "own" and len(network.hosts) < len(edge_of) + max(edge_of) + 2:
        servers = "medoid"
    placed = place(network, edge_of, servers=servers)
    assert len(set(placed.clients)) == len(edge_of)
    assert set(placed.clients) <= set(network.hosts)
    assert len(placed.edges) == max(edge_of) + 1
    assert placed.cloud in network.nodes
    if servers == "own" and not network.edges:
        taken = (*placed.clients, *placed.edges, placed.cloud)
        assert len(set(taken)) == len(taken)


def test_a_tree_keeps_clients_below_their_edge():
    placed = place(tree(3, 2), [2, 0, 2, 0])
    assert placed.clients == ("host-2-0", "host-0-0", "host-2-1", "host-0-1")
    assert placed.edges == ("edge-0", "edge-0", "edge-2")  # nobody is at edge 1: the nearest to all clients serves it
    assert placed.cloud == "cloud"


def test_an_edge_larger_than_a_pod_goes_on_next_door():
    placed = place(fat_tree(4), [0] * 6 + [1] * 4)
    assert [str(node).split("-")[1] for node in placed.clients] == ["0"] * 4 + ["1"] * 2 + ["2"] * 4


def test_the_server_of_a_ring_is_its_median():
    placed = place(ring(5), [0] * 3)
    assert set(placed.clients) == {"host-4", "host-0", "host-1"}
    assert placed.edges == ("host-0",)  # 1 hop to both others; they have 1 + 2


def test_places_of_a_plan():
    placed = place(tree(2, 2), [0, 1])
    assert placed.node(cloud) == "cloud"
    assert placed.node(edge(1)) == "edge-1"
    assert placed.node(client(0)) == "host-0-0"
    with pytest.raises(BadValue, match="client is 2; allowed is a client that is placed: 0 to 1"):
        placed.node(client(2))


def test_bad_input():
    with pytest.raises(BadValue, match="clients is 4; allowed is at most the 3 hosts of star"):
        place(star(3), [0] * 4)
    with pytest.raises(BadValue, match="clients is 0"):
        place(star(3), [])
    with pytest.raises(BadValue, match="servers is 'own'; allowed is medoid where ring has no free host left"):
        place(ring(3), [0] * 3, servers="own")
    with pytest.raises(BadValue, match="servers is 'near'"):
        place(ring(3), [0], servers="near")  # type: ignore[arg-type]  # what is tested
