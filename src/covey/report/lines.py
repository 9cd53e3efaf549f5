"""Scores over what was spent: one line per run, a band from the least to the most where there are several seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.report.drawing import Drawing

Rounds = Sequence[Mapping[str, Any]]

WIDTH, HEIGHT = 480.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 16.0, 14.0, 50.0
MOST = 240  # points of a line; more cannot be told apart
SERIES = 10


@dataclass(frozen=True)
class Axis:
    """What scores are drawn over: the metric, what it is called on a button and under a picture, and its unit."""

    metric: str
    short: str
    label: str
    unit: str = ""
    why_not: str = ""


AXES = (
    Axis("round", "rounds", "global rounds"),
    Axis("epochs", "epochs", "local epochs, one after another", why_not="the run is from before they were counted"),
    Axis("simulated_seconds", "seconds", "simulated seconds", why_not="a run has them where network is set"),
    Axis("wall_seconds", "computing", "seconds on this machine"),
    Axis("traffic_bytes", "bytes", "traffic", "B"),
    Axis("cost", "cost", "cost, seconds of all clients", why_not="a run has it where prices is set"),
)


@dataclass(frozen=True)
class Score:
    """What is drawn: each has a picture to itself."""

    metric: str
    title: str
    share: bool = True  # from 0 to 1


SCORES = (
    Score("accuracy", "Accuracy of the global model"),
    Score("loss", "Loss of the global model", share=False),
    Score("own_accuracy", "Clients' accuracy on their own data"),
)


@dataclass(frozen=True)
class Line:
    """A run, or the same run with several seeds."""

    name: str
    seeds: Sequence[Rounds]

    def has(self, axis: str, score: str) -> bool:
        """Whether every seed counts what this axis shows and is scored."""
        return all(any(_number(r.get(axis)) and _number(r.get(score)) for r in rounds) for rounds in self.seeds)


class _Drawn(NamedTuple):
    """A line with the number of its colour, and its points."""

    k: int
    line: Line
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def lines(every: Sequence[Line], axis: Axis, score: Score, *, legend: bool = False) -> Drawing | None:
    """The picture; None where no run has both. With a legend it stands by itself."""
    shown = [
        _Drawn(k, line, *_means(line, axis.metric, score.metric))
        for k, line in enumerate(every)
        if line.has(axis.metric, score.metric)
    ]
    if not shown:
        return None
    below = 20.0 * math.ceil(len(shown) / 2) + 8 if legend else 0.0
    said = "; ".join(f"{d.line.name} ends at {d.y[-1]:.3f}" for d in shown[:12])
    picture = Drawing(WIDTH, HEIGHT + below, f"{score.title} over {axis.label}: {said}")
    unit, name = _unit(max(float(d.x[-1]) for d in shown)) if axis.unit == "B" else (1.0, "")
    right = max(float(d.x[-1]) for d in shown) / unit
    top = 1.0 if score.share else max(float(np.nanquantile(d.high, 0.98)) for d in shown) * 1.05 or 1.0
    x_ticks, y_ticks = ticks(right), ([0, 0.2, 0.4, 0.6, 0.8, 1.0] if score.share else ticks(top))
    right, top = max(right, 1e-9), max(top, y_ticks[-1])

    def at(x: float, y: float) -> tuple[float, float]:
        high = min(max(y / top, 0.0), 1.0)
        return LEFT + (WIDTH - LEFT - RIGHT) * x / right, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * high

    for tick in y_ticks:
        picture.line([at(0, tick), at(right, tick)], "grid", 1)
        picture.text(LEFT - 8, at(0, tick)[1], _written(tick), anchor="end", colour="soft")
    for tick in x_ticks:
        picture.text(at(tick, 0)[0], HEIGHT - BOTTOM + 16, _written(tick), anchor="middle", colour="soft")
    label = axis.label + (f", {name}" if name else "")
    picture.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, label, anchor="middle", colour="soft")
    for k, line, x, _, low, high in shown:
        if len(line.seeds) > 1:
            band = [at(a / unit, b) for a, b in zip(x, high, strict=True)]
            band += [at(a / unit, b) for a, b in zip(x[::-1], low[::-1], strict=True)]
            picture.area(band, f"series-{k % SERIES}", opacity=0.16, title=line.name)
    drawn: list[NDArray[np.float64]] = []
    for k, line, x, y, _, _ in shown:
        under = any(len(y) == len(other) and np.allclose(y, other, atol=1e-6) for other in drawn)
        drawn.append(y)
        points = [at(a / unit, b) for a, b in zip(x, y, strict=True)]
        picture.line(points, f"series-{k % SERIES}", 2.4, dashed=under or k >= SERIES)
        picture.circle(*points[-1], 3.6, f"series-{k % SERIES}", title=f"{line.name}: {y[-1]:.4f}")
    for number, (k, line, *_) in enumerate(shown if legend else ()):
        left, top_of = LEFT - 40 + (number % 2) * (WIDTH / 2), HEIGHT + 6 + 20 * (number // 2)
        picture.line([(left, top_of), (left + 22, top_of)], f"series-{k % SERIES}", 3, dashed=k >= SERIES)
        picture.text(left + 28, top_of, cut(line.name, 30), size=12)
    return picture


def ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to about that.

    >>> ticks(84), ticks(0.9)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    if not most > 0:
        return [0.0]
    rough = most / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * 0.99)
    return [float(f"{k * step:.12g}") for k in range(int(most / step + 1e-9) + 1)]


def cut(text: str, most: int) -> str:
    """The text, with … for what is too much."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _means(line: Line, axis: str, score: str) -> tuple[NDArray[np.float64], ...]:
    """Means over the seeds of x and y, and least and most of y, as far as every seed goes; thinned out."""
    scored = [[r for r in rounds if _number(r.get(axis)) and _number(r.get(score))] for rounds in line.seeds]
    most = min(map(len, scored))
    chosen = np.unique(np.linspace(0, most - 1, min(most, MOST)).astype(int))
    x, y = (np.array([[rows[i][key] for i in chosen] for rows in scored], dtype=np.float64) for key in (axis, score))
    return x.mean(axis=0), y.mean(axis=0), y.min(axis=0), y.max(axis=0)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _unit(most: float) -> tuple[float, str]:
    return next(((scale, name) for scale, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if most >= scale), (1.0, "B"))


def _written(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
