"""Who stands where: clients, edge servers and the cloud on the nodes of a network.

Clients of one edge stand together: each edge starts in the block (pod, rack) of its own number if they fit there, else
in the emptiest, and fills the free hosts nearest to its first. A server stands on the node its topology has for it;
elsewhere it shares the host of the client with the fewest hops to all it serves (FedAvg-IC's 1-median), or gets the
nearest free host of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.network.routing import hop_matrix, hops
from covey.network.topology import Network, Node
from covey.plan.nodes import Place

Servers: TypeAlias = Literal["medoid", "own"]

_CHUNK = 256  # candidates looked at together, to bound memory


@dataclass(frozen=True, eq=False)
class Placement:
    """The node of every client, of every edge server and of the cloud."""

    network: Network
    clients: tuple[Node, ...]
    edges: tuple[Node, ...]
    cloud: Node

    def node(self, place: Place) -> Node:
        """Where that place of a plan is.

        >>> from covey.network.topology import star
        >>> from covey.plan import client, cloud
        >>> placed = place(star(3), [0, 0, 0])
        >>> placed.node(client(2)), placed.node(cloud)
        ('host-2', 'cloud')
        """
        if place.kind == "cloud":
            return self.cloud
        nodes = self.clients if place.kind == "client" else self.edges
        if place.number >= len(nodes):
            raise BadValue(place.kind, place.number, f"a {place.kind} that is placed: 0 to {len(nodes) - 1}")
        return nodes[place.number]

    def hops(self) -> NDArray[np.int32]:
        """Hops between every two clients."""
        return hop_matrix(self.network, self.clients)


def place(network: Network, edge_of: Sequence[int], *, servers: Servers = "medoid") -> Placement:
    """Put client i, of edge `edge_of[i]`, and all servers on the network.

    >>> from covey.network.topology import fat_tree
    >>> place(fat_tree(10), np.repeat(np.arange(10), 10).tolist()).hops()[0, [1, 9, 10]].tolist()
    [2, 4, 6]
    """
    if servers not in ("medoid", "own"):
        raise BadValue("servers", servers, "medoid or own")
    if not len(edge_of):
        raise BadValue("clients", 0, "a whole number from 1 up")
    if len(edge_of) > len(network.hosts):
        raise BadValue("clients", len(edge_of), f"at most the {len(network.hosts)} hosts of {network.name}")
    members = [np.flatnonzero(np.asarray(edge_of) == e).tolist() for e in range(max(edge_of) + 1)]
    at, free = _seat(network, members)
    clients = tuple(at[i] for i in range(len(edge_of)))
    edges = []
    for clique in members:
        homes = [at[i] for i in clique] or list(clients)
        edges.append(_server(network, homes, network.edges, free, servers))
    cloud = network.cloud if network.cloud is not None else _server(network, list(clients), (), free, servers)
    return Placement(network, clients, tuple(edges), cloud)


def _seat(network: Network, members: list[list[int]]) -> tuple[dict[int, Node], list[Node]]:
    """A host for every client, and the hosts that stay free, in their order."""
    free = dict.fromkeys(network.hosts)
    at: dict[int, Node] = {}
    for e, clique in enumerate(members):
        if not clique:
            continue
        room = [sum(host in free for host in block) for block in network.blocks]
        own = e if e < len(room) and room[e] >= len(clique) else int(np.argmax(room))
        first = next(host for host in network.blocks[own] if host in free)
        far = hops(network, [network.number[first]])[0]
        nearest = sorted(free, key=lambda host: far[network.number[host]])
        for i, host in zip(clique, nearest, strict=False):
            at[i] = host
            del free[host]
    return at, list(free)


def _server(network: Network, homes: list[Node], given: Sequence[Node], free: list[Node], servers: Servers) -> Node:
    """The node with the fewest hops to all homes: of those the topology has for servers, else as `servers` says."""
    candidates = list(given) or (homes if servers == "medoid" else free)
    if not candidates:
        raise BadValue("servers", "own", f"medoid where {network.name} has no free host left")
    numbers = [network.number[node] for node in candidates]
    served = [network.number[node] for node in homes]
    parts = (hops(network, numbers[start : start + _CHUNK]) for start in range(0, len(numbers), _CHUNK))
    best = candidates[int(np.argmin(np.concatenate([far[:, served].sum(axis=1) for far in parts])))]
    if not given and servers == "own":
        free.remove(best)
    return best
