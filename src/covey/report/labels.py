"""Who holds what, as a picture: clients from left to right, classes from bottom to top, how many samples by size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator

from covey.fleet import Fleet
from covey.report.picture import drawing

# more than this, and bubbles become too small to tell apart
CLIENTS, CLASSES = 60, 30


def label_matrix(fleet: Fleet, path: str | Path, *, title: str = "") -> Path:
    """Draw a fleet's training labels into a file: bubbles for a small fleet, a heat map for a large one.

    Bars on top are the clients' sizes; lines part the edges.
    """
    with drawing(path, min(14, 4 + fleet.clients / 6), min(8, 3 + fleet.classes / 5)) as figure:
        top, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 4))
        _draw(top, below, fleet)
        top.set_title(title)
    return Path(path)


def _draw(top: Axes, below: Axes, fleet: Fleet) -> None:
    small = fleet.clients <= CLIENTS and fleet.classes <= CLASSES
    top.bar(range(fleet.clients), fleet.sizes, width=0.8 if small else 1.0, color="tab:gray")
    top.set_ylabel("samples")
    top.spines[["top", "right"]].set_visible(False)
    (_bubbles if small else _heat)(below, fleet)
    for boundary in np.flatnonzero(np.diff(_edges(fleet))):
        for axes in (top, below):
            axes.axvline(boundary + 0.5, color="black", linewidth=1, linestyle="--")
    below.set_xlabel("client" if len(fleet.by_edge) == 1 else f"client ({len(fleet.by_edge)} edges)")
    below.set_ylabel("class")


def _edges(fleet: Fleet) -> list[int]:
    return [fleet.edge(client) for client in range(fleet.clients)]


def _bubbles(axes: Axes, fleet: Fleet) -> None:
    clients, classes = np.nonzero(fleet.labels)
    counts = fleet.labels[clients, classes]
    axes.scatter(clients, classes, s=180 * counts / counts.max(), c=classes % 10, cmap="tab10", vmin=0, vmax=9)
    axes.set_xlim(-0.7, fleet.clients - 0.3)
    axes.set_ylim(-0.8, fleet.classes - 0.2)
    axes.set_yticks(range(fleet.classes))
    axes.grid(color="0.93")
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _heat(axes: Axes, fleet: Fleet) -> None:
    counts = np.ma.masked_equal(fleet.labels.T, 0)
    norm = LogNorm(1, max(2.0, float(counts.max())))
    image = axes.imshow(counts, aspect="auto", origin="lower", interpolation="nearest", cmap="viridis", norm=norm)
    axes.figure.colorbar(image, ax=axes, label="samples")
