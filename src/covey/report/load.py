"""A network drawn with its load: the busier a link, the darker and thicker; clients, servers and switches marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from covey.network.placement import Placement
from covey.network.topology import Node
from covey.report.layout import Positions, positions

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


def _dots(axes: Axes, at: Positions, nodes: list[Node], colour: str, size: float, label: str, marker: Any) -> None:
    if nodes:
        x, y = zip(*(at[node] for node in nodes), strict=True)
        axes.scatter(x, y, s=size, c=colour, marker=marker, label=label, zorder=3, linewidths=0)
