"""Where the nodes of a network stand in a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from covey.network.topology import Network, Node  # imports torch, which a page of plans does not need

Positions: TypeAlias = "dict[Node, tuple[float, float]]"


def positions(network: Network) -> Positions:
    """Layers where there are several between the hosts and the top (trees), a circle of circles elsewhere."""
    depth = nx.multi_source_dijkstra_path_length(network.graph, set(network.hosts), weight=None)
    layers: dict[int, list[Node]] = {}
    for node in network.nodes:
        layers.setdefault(int(depth[node]), []).append(node)
    if len(layers) > 2:
        return _layered(network, layers)
    inner = layers.get(1, [])
    if len(inner) == 1:
        return {**_circle(list(network.hosts), 1.0), inner[0]: (0.0, 0.0)}
    if not inner:
        return _circle(list(network.hosts), 1.0)
    return _fans(network, inner)


def _layered(network: Network, layers: dict[int, list[Node]]) -> Positions:
    """Hosts in a row at the bottom, block by block; what is above stands over the middle of what it is joined to."""
    order = [host for block in network.blocks for host in block]
    at: Positions = {host: (i / max(len(order) - 1, 1), 0.0) for i, host in enumerate(order)}
    for level in sorted(layers)[1:]:
        below = {
            node: [at[n][0] for n in network.graph[node] if n in at and at[n][1] < level] for node in layers[level]
        }
        row = sorted(layers[level], key=lambda node: (np.mean(below[node]), str(node)))
        at |= {node: ((i + 0.5) / len(row), float(level)) for i, node in enumerate(row)}
    return at


def _fans(network: Network, inner: list[Node]) -> Positions:
    """Switches on a circle, in an order that keeps neighbours near; the hosts of each in a fan outside."""
    core = network.graph.subgraph(inner)
    spread = nx.spectral_layout(core) if len(inner) > 3 else nx.circular_layout(core)
    around = sorted(inner, key=lambda node: math.atan2(spread[node][1], spread[node][0]))
    at = _circle(around, 0.6)
    for i, switch in enumerate(around):
        hosts = [n for n in network.graph[switch] if n not in at or at[n] is None]
        for j, host in enumerate(hosts):
            angle = 2 * math.pi * (i + 0.85 * ((j + 0.5) / len(hosts) - 0.5)) / len(around)
            at[host] = (math.cos(angle), math.sin(angle))
    return at


def _circle(nodes: list[Node], radius: float) -> Positions:
    angles = 2 * np.pi * np.arange(len(nodes)) / len(nodes)
    return {n: (radius * math.cos(a), radius * math.sin(a)) for n, a in zip(nodes, angles.tolist(), strict=True)}
