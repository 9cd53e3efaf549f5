"""Accuracy over rounds, traffic, simulated seconds and cost, one line per run.

Global accuracy and clients' own accuracy are two questions: each has a row of panels to itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.report.picture import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rounds = Sequence[Mapping[str, Any]]

STYLES = ("-", "--", "-.", ":")
AXES = {
    "round": ("global round", 1.0, "linear"),
    "traffic_bytes": ("traffic, MB", 1e6, "log"),
    "simulated_seconds": ("simulated seconds", 1.0, "linear"),
    "cost": ("cost, seconds of all clients", 1.0, "linear"),
}
"""What accuracy can be drawn over: the label, the unit and the scale."""
SCORES = {"accuracy": "accuracy of the global model", "own_accuracy": "clients' accuracy on their own data"}


def curves(runs: Mapping[str, Rounds], path: Path, *, over: Sequence[str] | None = None, title: str = "") -> None:
    """Draw the accuracies of every run.

    One column of panels for each of the metrics in `over`; unless given, for all of `AXES` that every run has.
    """
    bands({name: [rounds] for name, rounds in runs.items()}, path, over=over, title=title)


def bands(
    runs: Mapping[str, Sequence[Rounds]],
    path: Path,
    *,
    over: Sequence[str] | None = None,
    title: str = "",
    scale: str | None = None,
) -> None:
    """As `curves`, with several seeds a run: their mean as a line, from the least to the most as a band.

    Lines that lie on one another are drawn so that both are seen: the first thick, the next dashed over it. `scale` is
    that of the horizontal axes, where not every axis is to have its own.
    """
    from matplotlib import colormaps  # takes a second to load, and most commands draw nothing

    every = [rounds for seeds in runs.values() for rounds in seeds if rounds]
    chosen = over or [key for key in AXES if all(key in row for rounds in every for row in rounds)]
    scores = [key for key in SCORES if any(key in row for rounds in every for row in rounds)] or ["accuracy"]
    colours = colormaps["tab10"]
    with drawing(path, 1 + 5.5 * len(chosen), 0.6 + 4.0 * len(scores), field="picture") as figure:
        panels = figure.subplots(len(scores), len(chosen), sharey=True, squeeze=False)
        for row, score in zip(panels, scores, strict=True):
            drawn: list[NDArray[np.float64]] = []
            for j, (name, seeds) in enumerate(runs.items()):
                means = _mean(seeds, "round", score)[1]
                under = any(len(means) == len(other) and np.allclose(means, other, atol=1e-6) for other in drawn)
                drawn.append(means)
                dashed = {"linestyle": (0, (3, 3)), "linewidth": 1.6}
                style = dashed if under else {"linestyle": STYLES[j // 10 % 4], "linewidth": 2.4}
                style = {"color": colours(j % 10), **style}
                for axes, metric in zip(row, chosen, strict=True):
                    _line(axes, seeds, metric, score, name, style)
            row[0].set(ylabel=SCORES[score], ylim=(0, 1))
            for axes, metric in zip(row, chosen, strict=True):
                text, _, own_scale = AXES[metric]
                wanted = scale or own_scale
                axes.set(xlabel=text, xscale=wanted if wanted == "linear" or _decades(axes) else "linear")
                axes.grid(alpha=0.3)
                axes.spines[["top", "right"]].set_visible(False)
        panels[0][-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        if title:
            figure.suptitle(title, fontsize=11)


def _decades(axes: Axes) -> bool:
    """Whether what is drawn spans a power of ten; within one, the ticks of a logarithmic axis overlap."""
    x = [value for line in axes.lines for value in np.asarray(line.get_xdata(), dtype=np.float64).tolist()]
    return bool(x) and min(x) > 0 and max(x) >= 10 * min(x)


def _mean(seeds: Sequence[Rounds], metric: str, score: str) -> tuple[NDArray[np.float64], ...]:
    """Means over the seeds of x and y, and least and most of y, as far as every seed goes."""
    scored = [[row for row in rounds if row.get(score) is not None] for rounds in seeds]
    most = min((len(rows) for rows in scored), default=0)
    x = np.array([[row[metric] for row in rows[:most]] for rows in scored], dtype=np.float64)
    y = np.array([[row[score] for row in rows[:most]] for rows in scored], dtype=np.float64)
    if not most:
        return (np.empty(0),) * 4
    return x.mean(axis=0), y.mean(axis=0), y.min(axis=0), y.max(axis=0)


def _line(axes: Axes, seeds: Sequence[Rounds], metric: str, score: str, label: str, style: Mapping[str, Any]) -> None:
    x, y, low, high = _mean(seeds, metric, score)
    x = x / AXES[metric][1]
    axes.plot(x, y, label=label, marker="o" if len(x) < 3 else None, **style)
    if len(seeds) > 1 and len(x):
        axes.fill_between(x, low, high, color=style["color"], alpha=0.12, linewidth=0)
