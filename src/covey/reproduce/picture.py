"""The picture of a result in the paper's form: curves, values over a swept setting, heat maps, stacks of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.compare import Comparison, Row
from covey.compare.paper import AXES, Picture
from covey.report.picture import drawing
from covey.reproduce.tables import unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 4.6, 3.6  # inches of a panel
UNITS = {"traffic_bytes": ("traffic, MB", 1e6), "simulated_seconds": ("simulated seconds", 1.0)}
OURS = "here"  # what bars and lines are called that no name tells apart
LONG = 6  # letters of the longest word at an axis that stands upright
DARK = 0.5  # share of a heat map's range above which its colours want white figures
Panel = Callable[["Axes", Sequence[Row]], None]


def draw(comparison: Comparison, rows: Sequence[Row], path: Path, title: str) -> Path | None:
    """Draw it; None where there is nothing to draw."""
    picture = comparison.picture or Picture.model_validate({})
    y = picture.y or comparison.terms.score
    panels = _parted(rows, picture.panels)
    if picture.form == "stacks":  # one panel a row, those of one value of `panels` side by side
        panels = {row.entry.name: [row] for part in panels.values() for row in part}
    draw_one: Panel
    if picture.form == "stacks":
        draw_one = _stacks
    elif picture.heat is not None:
        draw_one = lambda axes, part: _heat(axes, part, picture, y)  # noqa: E731
    elif picture.x in AXES:
        if not any(point.get(y) is not None for row in rows for seed in row.within for point in seed):
            return None
        draw_one = lambda axes, part: _curves(axes, part, AXES[picture.x], y, picture)  # noqa: E731
    else:
        draw_one = lambda axes, part: _points(axes, part, comparison, picture, y)  # noqa: E731
    wide = min(len(panels), 4)
    high = -(-len(panels) // wide)
    with drawing(path, WIDTH * wide + 1.8, HEIGHT * high + 0.5, field="picture") as figure:
        spots = figure.subplots(high, wide, squeeze=False)
        for spot, (name, part) in zip(spots.flat, panels.items(), strict=False):
            draw_one(spot, part)
            if picture.log:
                spot.set_yscale("log")
            spot.spines[["top", "right"]].set_visible(False)
            if name:
                spot.set_title(name, fontsize=9)
        for spot in list(spots.flat)[len(panels) :]:
            spot.axis("off")
        handles, labels = spots[0][0].get_legend_handles_labels()
        if labels not in ([], [OURS]):
            figure.legend(handles, labels, frameon=False, fontsize=8, loc="outside right center")
        figure.suptitle(title, fontsize=10, wrap=True)
    return path


def _parted(rows: Sequence[Row], key: str | None) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault("" if key is None else row.entry.labels.get(key, ""), []).append(row)
    return found


def _curves(axes: Axes, rows: Sequence[Row], metric: str, y: str, picture: Picture) -> None:
    """Means over the seeds as lines, from the least to the most as bands."""
    label, unit = UNITS.get(metric, (metric.replace("_", " "), 1.0))
    for number, row in enumerate(rows):
        seeds = [[p for p in _points_of(seed) if None not in (p.get(y), p.get(metric))] for seed in row.within]
        most = min((len(seed) for seed in seeds), default=0)
        if not most:
            continue
        x = np.mean([[p[metric] for p in seed[:most]] for seed in seeds], axis=0) / unit
        values = np.array([[p[y] for p in seed[:most]] for seed in seeds], dtype=np.float64)
        style = _style(number)
        name = _series(row, [picture.panels])
        axes.plot(x, values.mean(axis=0), label=name, marker="o" if most < 12 else None, markersize=3, **style)
        if len(values) > 1:
            axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=style["color"], alpha=0.15, linewidth=0)
    axes.set(xlabel=label, ylabel=y.replace("_", " "))
    axes.grid(alpha=0.3)


def _points_of(rounds: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rounds, each after what was scored inside it."""
    return [point for row in rounds for point in (*row.get("inside", ()), row)]


def _points(axes: Axes, rows: Sequence[Row], comparison: Comparison, picture: Picture, y: str) -> None:
    """A figure a value of the swept setting; the paper's as open circles, of its line's colour."""
    ticks = list(dict.fromkeys(row.entry.labels.get(picture.x, "") for row in rows))
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(_series(row, [picture.x, picture.panels]), []).append(row)
    each = 0.8 / max(1, len(series))
    label, unit = _unit(y, [row.mean(y) or 0.0 for row in rows])
    told = False
    for number, (name, part) in enumerate(series.items()):
        style = _style(number)
        shift = (number - (len(series) - 1) / 2) * each if picture.form == "bars" else 0.0
        x = np.array([ticks.index(row.entry.labels.get(picture.x, "")) for row in part]) + shift
        mean = np.array([np.nan if (m := row.mean(y)) is None else m / unit for row in part], dtype=np.float64)
        spread = np.array([(row.spread(y) or 0.0) / unit for row in part]) if len(comparison.terms.seeds) > 1 else None
        if picture.form == "bars":
            axes.bar(x, mean, each, yerr=spread, label=name, color=style["color"], capsize=2)
        else:
            axes.errorbar(x, mean, spread, label=name, marker="o", markersize=4, capsize=2, **style)
        paper = np.array([comparison.figures.get(row.entry.name, {}).get(y, np.nan) for row in part]) / unit
        paper[~np.isfinite(paper)] = np.nan
        if np.isfinite(paper).any():
            color = "black" if picture.form == "bars" else style["color"]  # a bar's circle is where the bar is
            axes.plot(x, paper, "o", markerfacecolor="none", color=color, markersize=7)
            told = True
    if told:
        axes.plot([], [], "o", markerfacecolor="none", color="black", markersize=7, label="the paper's")
    axes.set_xticks(range(len(ticks)), ticks, fontsize=8)
    if max(map(len, ticks)) > LONG:
        axes.tick_params(axis="x", labelrotation=20)
        for tick in axes.get_xticklabels():
            tick.set(ha="right", rotation_mode="anchor")
    axes.set(xlabel=picture.x.replace("_", " "), ylabel=label)
    axes.grid(alpha=0.3, axis="y")


def _unit(column: str, values: Sequence[float]) -> tuple[str, float]:
    """What stands at the axis, and what figures are divided by: bytes are shown as a table shows the largest.

    >>> _unit("bytes_to_target", [7.9e9, 3e8]), _unit("local_emd", [0.5])
    (('bytes to target, GB', 1000000000.0), ('local emd', 1.0))
    """
    words = column.replace("_", " ")
    found = unit_of(max(values, default=0.0)) if "bytes" in column else None
    return (words, 1.0) if found is None else (f"{words}, {found[1]}", found[0])


def _heat(axes: Axes, rows: Sequence[Row], picture: Picture, y: str) -> None:
    down = list(dict.fromkeys(row.entry.labels.get(picture.heat or "", "") for row in rows))
    over = list(dict.fromkeys(row.entry.labels.get(picture.x, "") for row in rows))
    table = np.full((len(down), len(over)), np.nan)
    for row in rows:
        place = down.index(row.entry.labels.get(picture.heat or "", "")), over.index(row.entry.labels[picture.x])
        table[place] = np.nan if (mean := row.mean(y)) is None else mean
    axes.imshow(table, cmap="viridis_r", aspect="auto")
    dark = np.nanmin(table) + DARK * (np.nanmax(table) - np.nanmin(table)) if np.isfinite(table).any() else np.inf
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            ink = "white" if value > dark else "black"
            axes.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(range(len(over)), over)
    axes.set_yticks(range(len(down)), down)
    axes.set(xlabel=picture.x, ylabel=picture.heat)


def _stacks(axes: Axes, rows: Sequence[Row]) -> None:
    """The labels of every group of the first seed, one colour a label."""
    from matplotlib import colormaps

    points: Sequence[Mapping[str, Any]] = rows[0].within[0]
    table = np.array([point["labels"] for point in points], dtype=np.float64)
    floor = np.zeros(len(table))
    for label in range(table.shape[1]):
        axes.bar(np.arange(len(table)), table[:, label], 0.85, floor, color=colormaps["tab20"](label % 20))
        floor += table[:, label]
    axes.set(xlabel="group", ylabel="samples by label")


def _style(number: int) -> dict[str, Any]:
    from matplotlib import colormaps

    # dashes, so that a line that lies on another does not hide it
    return {"color": colormaps["tab10"](number % 10), "linestyle": ("-", "--", "-.", ":")[number % 4], "linewidth": 1.8}


def _series(row: Row, without: Sequence[str | None]) -> str:
    """What tells this line from the others of its panel."""
    labels = row.entry.labels
    kept = [label for key, label in labels.items() if key not in without and key != "run"]
    shown = [] if "run" in without else [labels.get("run", row.entry.name)]
    return ", ".join([*shown, *kept]) or OURS
