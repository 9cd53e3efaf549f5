"""What a plan costs: networks and who stands where on them, transfers that share links, devices.

    network_from("fat-tree:10", edge_of)  a topology by name, or from a file
    place(network, edge_of)               clients, edge servers and the cloud on its nodes
    FlowSimulator(network)                transfers and waits in time
    aggregation_seconds(network, …)       one aggregation and broadcast
    DEVICES, mix, stragglers, Windows     what clients run on, who is slow, who is awake

`docs/network.md` says what is modelled and what is not.
"""

from covey.network.aggregation import aggregation_seconds
from covey.network.crew import Windows, mix, stragglers
from covey.network.devices import DEVICES, Device, device
from covey.network.flows import FlowSimulator
from covey.network.placement import Placement, place
from covey.network.routing import Router, hop_matrix
from covey.network.spec import network_from, read
from covey.network.topology import Link, Network, fat_tree, from_graph, jellyfish, ring, star, tree

__all__ = [
    "DEVICES",
    "Device",
    "FlowSimulator",
    "Link",
    "Network",
    "Placement",
    "Router",
    "Windows",
    "aggregation_seconds",
    "device",
    "fat_tree",
    "from_graph",
    "hop_matrix",
    "jellyfish",
    "mix",
    "network_from",
    "place",
    "read",
    "ring",
    "star",
    "stragglers",
    "tree",
]
