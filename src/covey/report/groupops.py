"""The picture of group operations: measured points and their curves (Group-FEL, Fig. 2a and 9)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from covey.groupops import Measured
from covey.report.picture import drawing


def draw_groupops(operations: dict[str, Measured], training: Measured, path: Path, *, title: str = "") -> None:
    """Draw seconds against group size, bytes against group size, and an epoch's seconds against samples."""
    with drawing(path, 13, 4) as figure:
        left, middle, right = figure.subplots(1, 3)
        for name, measured in operations.items():
            _curve(left, name, measured)
            if measured.bytes:
                middle.plot(measured.sizes, np.array(measured.bytes) / 1e6, "o-", markersize=4, label=name)
        _curve(right, "training", training)
        for axes, x, y in (
            (left, "clients of a group", "seconds"),
            (middle, "clients of a group", "MB sent and received by a client"),
            (right, "samples", "seconds of an epoch"),
        ):
            axes.set_xlabel(x)
            axes.set_ylabel(y)
            axes.set_ylim(bottom=0)
            axes.legend(fontsize=8)
        if title:
            figure.suptitle(title, fontsize=11)


def _curve(axes: object, name: str, measured: Measured) -> None:
    x = np.linspace(min(measured.sizes), max(measured.sizes), 100)
    (points,) = axes.plot(measured.sizes, measured.seconds, "o", markersize=4)  # type: ignore[attr-defined]
    label = f"{name}, R² {measured.r2:.3f}"
    axes.plot(x, np.polyval(measured.fit, x), color=points.get_color(), label=label)  # type: ignore[attr-defined]
