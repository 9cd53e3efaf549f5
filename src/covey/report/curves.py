"""Accuracy over rounds, traffic, simulated seconds and cost, one line a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.report.picture import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", "-.", ":")
AXES = {
    "round": ("global round", 1.0, "linear"),
    "traffic_bytes": ("traffic, MB", 1e6, "log"),
    "simulated_seconds": ("simulated seconds", 1.0, "linear"),
    "cost": ("cost, seconds of all clients", 1.0, "linear"),
}
"""What accuracy can be drawn over: the label, the unit and the scale."""


def curves(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path, *, over: Sequence[str] | None = None, title: str = ""
) -> None:
    """Draw the global accuracy of every run; clients' own accuracy in its place where a run has several models.

    One panel for each of the metrics in `over`; unless given, for all of `AXES` that every run has.
    """
    from matplotlib import colormaps  # takes a second to load, and most commands draw nothing

    chosen = over or [key for key in AXES if all(key in row for rounds in runs.values() for row in rounds)]
    colours = colormaps["tab10"]
    with drawing(path, 1 + 5.5 * len(chosen), 4.6, field="picture") as figure:
        panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)
        for j, (name, rounds) in enumerate(runs.items()):
            own = any(row.get("models", 1) > 1 for row in rounds)
            key = "own_accuracy" if own else "accuracy"
            rows = [row for row in rounds if key in row]
            style = {"color": colours(j % 10), "linestyle": STYLES[j // 10 % 4], "linewidth": 1.8}
            label = f"{name} (clients' own)" if own else name
            for axes, metric in zip(panels[0], chosen, strict=True):
                _line(axes, [row[metric] / AXES[metric][1] for row in rows], rows, key, label, style)
        panels[0][0].set(ylabel="test accuracy", ylim=(0, 1))
        for axes, metric in zip(panels[0], chosen, strict=True):
            text, _, scale = AXES[metric]
            axes.set(xlabel=text, xscale=scale if scale == "linear" or _decades(axes) else "linear")
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        panels[0][-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        if title:
            figure.suptitle(title, fontsize=11)


def _decades(axes: Axes) -> bool:
    """Whether what is drawn spans a power of ten; within one, the ticks of a logarithmic axis overlap."""
    x = [value for line in axes.lines for value in np.asarray(line.get_xdata(), dtype=np.float64).tolist()]
    return bool(x) and min(x) > 0 and max(x) >= 10 * min(x)


def _line(
    axes: Axes, x: list[float], rows: Sequence[Mapping[str, Any]], key: str, label: str, style: dict[str, Any]
) -> None:
    axes.plot(x, [row[key] for row in rows], label=label, marker="o" if len(rows) < 3 else None, **style)
