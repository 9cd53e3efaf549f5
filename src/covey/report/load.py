"""A network drawn with its load: the busier a link, the darker and thicker; clients, servers and switches marked."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from covey.network.placement import Placement
from covey.network.topology import Network, Node

Positions = dict[Node, tuple[float, float]]
SCALES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def network_load(axes: Axes, placement: Placement, carried: NDArray[np.float64]) -> None:
    """Draw every link, coloured by the bytes that its busier direction carries in a round."""
    network = placement.network
    at = positions(network)
    load: dict[frozenset[Node], float] = {}
    for (a, b), size in zip(network.arcs, carried.tolist(), strict=True):
        load[frozenset((a, b))] = max(load.get(frozenset((a, b)), 0.0), size)
    links = sorted(load.items(), key=lambda link: link[1])
    most = links[-1][1] or 1.0
    unit, name = next((scale, name) for scale, name in SCALES if most >= scale)
    norm, colours = Normalize(0, most / unit), colormaps["YlOrRd"]
    lines = [[at[node] for node in ends] for ends, _ in links]
    shades = [colours(0.25 + 0.75 * size / most) if size else (0.88, 0.88, 0.88, 1.0) for _, size in links]
    widths = [0.4 + 2.6 * size / most if size else 0.3 for _, size in links]
    axes.add_collection(LineCollection(lines, colors=shades, linewidths=widths, zorder=1))
    used = set(placement.clients)
    servers = {*placement.edges, placement.cloud}
    _dots(axes, at, [n for n in network.nodes if n not in used | servers], "0.75", 4, "switches and free hosts", "o")
    _dots(axes, at, [n for n in network.nodes if n in used - servers], "#2b6cb0", 9, "clients", "o")
    _dots(axes, at, [n for n in servers if n != placement.cloud], "#6b46c1", 26, "edge servers", "s")
    _dots(axes, at, [placement.cloud], "#111111", 70, "cloud", "*")
    axes.autoscale()
    axes.set_axis_off()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize=8)
    bar = axes.figure.colorbar(ScalarMappable(norm, colours), ax=axes, fraction=0.03, pad=0.01)
    bar.set_label(f"{name} a round over the link's busier direction", fontsize=8)
    bar.ax.tick_params(labelsize=7)


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


def _dots(axes: Axes, at: Positions, nodes: list[Node], colour: str, size: float, label: str, marker: Any) -> None:
    if nodes:
        x, y = zip(*(at[node] for node in nodes), strict=True)
        axes.scatter(x, y, s=size, c=colour, marker=marker, label=label, zorder=3, linewidths=0)
