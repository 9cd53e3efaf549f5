"""A score over two settings, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from covey.report.picture import drawing


def heat_map(
    values: Sequence[Sequence[float | None]],
    down: tuple[str, Sequence[Any]],
    across: tuple[str, Sequence[Any]],
    path: Path,
    *,
    title: str = "",
    label: str = "",
) -> None:
    """Draw one cell for every pair of values, with the number in it; a pair without a number stays empty.

    `down` and `across` are the names of the settings and their values, `label` what the numbers are.
    """
    table = np.array([[np.nan if value is None else value for value in row] for row in values], dtype=np.float64)
    width, height = 2.5 + 1.1 * len(across[1]), 1.8 + 0.7 * len(down[1])
    with drawing(path, max(5.0, width), max(3.0, height), field="plot") as figure:
        axes = figure.subplots()
        image = axes.imshow(table, cmap="viridis", aspect="auto")
        axes.set_xticks(range(len(across[1])), [str(value) for value in across[1]])
        axes.set_yticks(range(len(down[1])), [str(value) for value in down[1]])
        axes.set(xlabel=across[0], ylabel=down[0])
        middle = (np.nanmin(table) + np.nanmax(table)) / 2 if np.isfinite(table).any() else 0.0
        for (y, x), value in np.ndenumerate(table):
            if np.isfinite(value):
                colour = "black" if value > middle else "white"
                axes.text(x, y, f"{value:.3f}", ha="center", va="center", color=colour)
        figure.colorbar(image, ax=axes, label=label)
        if title:
            figure.suptitle(title, fontsize=10, wrap=True)
