"""A picture of a grouping: what labels every group holds, as stacked bars (after Liu et al., Group-FEL, Fig. 7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from covey.grouping.base import Grouping, check_labels
from covey.grouping.measures import cov_of, shares_of
from covey.report.picture import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 40
GREY = "#5c6370"


def draw_groups(
    path: str | Path,
    grouping: Grouping,
    labels: ArrayLike,
    *,
    title: str = "",
    label_names: Sequence[str] | None = None,
) -> None:
    """The picture as a file; see `groups_on`."""
    bars = 1 + min(len(grouping), MOST_BARS)
    with drawing(path, min(15.0, 3.6 + 0.32 * bars), 4.4) as figure:
        groups_on(figure, grouping, labels, title=title, label_names=label_names)


def groups_on(
    figure: Figure,
    grouping: Grouping,
    labels: ArrayLike,
    *,
    title: str = "",
    label_names: Sequence[str] | None = None,
) -> None:
    """One bar per group, split by label, from the most even to the least; above it the group's CoV and clients.

    The leftmost bar is the whole fleet. Of more than 40 groups 40 are shown, evenly spread over the order.
    """
    from matplotlib import colormaps

    table = check_labels(labels)
    names = list(label_names) if label_names is not None else [str(j) for j in range(table.shape[1])]
    sums, sizes = grouping.sums(table), grouping.sizes
    covs = cov_of(sums)
    order = np.argsort(covs, kind="stable")
    if len(order) > MOST_BARS:
        order = order[np.linspace(0, len(order) - 1, MOST_BARS).astype(int)]
    bars = np.vstack([shares_of(table.sum(axis=0)), shares_of(sums[order])])
    at = np.concatenate([[-0.6], np.arange(1, len(order) + 1)])

    axes = figure.add_subplot()
    colours = colormaps["Spectral"](np.linspace(0.03, 0.97, len(names)))
    bottom = np.zeros(len(at))
    for j, name in enumerate(names):
        axes.bar(at, bars[:, j], bottom=bottom, width=0.82, color=colours[j], edgecolor="white", lw=0.4, label=name)
        bottom += bars[:, j]
    for x, k in zip(at[1:], order, strict=True):
        axes.text(x, 1.015, f"{covs[k]:.2f}", ha="center", va="bottom", fontsize=7, color=GREY, rotation=90)
    axes.text(at[0], 1.015, f"{cov_of(table.sum(axis=0)):.2f}", ha="center", va="bottom", fontsize=7, rotation=90)
    axes.set_xticks(at, ["all", *(str(sizes[k]) for k in order)], fontsize=7, color=GREY)
    axes.axvline(0.2, color=GREY, lw=0.8, ls=":")
    axes.set_xlim(at[0] - 0.7, at[-1] + 0.7)
    axes.set_ylim(0, 1.12)
    axes.set_yticks(np.linspace(0, 1, 5), ["0", "25 %", "50 %", "75 %", "100 %"], fontsize=8, color=GREY)
    axes.set_ylabel("share of the group's samples", fontsize=9)
    shown = "" if len(order) == len(grouping) else f", {len(order)} of {len(grouping)} shown"
    axes.set_xlabel(f"groups from most to least even (CoV above, clients below{shown})", fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    heading = f"{len(grouping)} groups, mean CoV {covs.mean():.3f}"
    axes.set_title(f"{title}: {heading}" if title else heading, fontsize=11, loc="left", pad=10)
    _legend(figure, len(names))


def _legend(figure: Figure, labels: int) -> None:
    handles, names = figure.axes[0].get_legend_handles_labels()
    if labels <= 35:
        columns = 1 if labels <= 18 else 2
        figure.legend(
            handles[::-1], names[::-1], loc="outside right center", ncols=columns, fontsize=8, frameon=False,
            title="label", title_fontsize=8,
        )  # fmt: skip
