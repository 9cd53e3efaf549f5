"""Accuracy over rounds, traffic, simulated seconds and cost, one line a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covey.errors import BadValue

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
    from matplotlib.figure import Figure  # not pyplot, which would take over a notebook's own pictures

    chosen = over or [key for key in AXES if all(key in row for rounds in runs.values() for row in rounds)]
    figure = Figure(figsize=(1 + 5.5 * len(chosen), 4.6), layout="constrained")
    panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)
    colours = colormaps["tab10"]
    for j, (name, rounds) in enumerate(runs.items()):
        own = any(row.get("models", 1) > 1 for row in rounds)
        key = "own_accuracy" if own else "accuracy"
        rows = [row for row in rounds if key in row]
        style = {"color": colours(j % 10), "linestyle": STYLES[j // 10 % 4], "linewidth": 1.8}
        label = f"{name} (clients' own)" if own else name
        for axes, metric in zip(panels[0], chosen, strict=True):
            _, unit, scale = AXES[metric]
            x = [max(row[metric], 1 if scale == "log" else 0) / unit for row in rows]
            _line(axes, x, rows, key, label, style)
    panels[0][0].set(ylabel="test accuracy", ylim=(0, 1))
    for axes, metric in zip(panels[0], chosen, strict=True):
        text, _, scale = AXES[metric]
        axes.set(xlabel=text, xscale=scale)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    if title:
        figure.suptitle(title, fontsize=11)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise BadValue("picture", str(path), f"a file that can be written, such as curves.png ({error})") from None


def _line(
    axes: Axes, x: list[float], rows: Sequence[Mapping[str, Any]], key: str, label: str, style: dict[str, Any]
) -> None:
    axes.plot(x, [row[key] for row in rows], label=label, marker="o" if len(rows) < 3 else None, **style)
