"""Accuracy over rounds and over traffic, one line a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

STYLES = ("-", "--", "-.", ":")


def curves(runs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path, *, title: str = "") -> None:
    """Draw the global accuracy of every run; clients' own accuracy in its place where a run has several models."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), sharey=True, layout="constrained")
    colours = plt.get_cmap("tab10")
    for j, (name, rounds) in enumerate(runs.items()):
        own = any(row.get("models", 1) > 1 for row in rounds)
        key = "own_accuracy" if own else "accuracy"
        rows = [row for row in rounds if key in row]
        style = {"color": colours(j % 10), "linestyle": STYLES[j // 10 % 4], "linewidth": 1.8}
        label = f"{name} (clients' own)" if own else name
        _line(left, [row["round"] for row in rows], rows, key, label, style)
        _line(right, [max(row["traffic_bytes"], 1) / 1e6 for row in rows], rows, key, label, style)
    left.set(xlabel="global round", ylabel="test accuracy", ylim=(0, 1))
    right.set(xlabel="traffic, MB", xscale="log")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    if title:
        figure.suptitle(title, fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _line(
    axes: Axes, x: list[float], rows: Sequence[Mapping[str, Any]], key: str, label: str, style: dict[str, Any]
) -> None:
    axes.plot(x, [row[key] for row in rows], label=label, marker="o" if len(rows) < 3 else None, **style)
