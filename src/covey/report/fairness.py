"""How evenly clients are served: every client's accuracy on its own data, as a distribution, a row per run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.report.drawing import Drawing
from covey.report.lines import SERIES, cut

WIDTH, LEFT, RIGHT, ROW, BOTTOM = 480.0, 120.0, 16.0, 46.0, 44.0
BINS = 20


@dataclass(frozen=True)
class Spread:
    """Accuracy over clients: the mean of the worst tenth, the median, the mean of the best tenth, the deviation."""

    clients: int
    worst: float
    median: float
    best: float
    deviation: float


def spread(own: NDArray[np.float64]) -> Spread:
    """What a distribution comes to; clients without a test of their own do not count.

    >>> spread(np.array([0.0, 0.5, 1.0, np.nan]))
    Spread(clients=3, worst=0.0, median=0.5, best=1.0, deviation=0.408248290463863)
    """
    known = np.sort(own[np.isfinite(own)])
    tenth = max(1, round(len(known) / 10))
    worst, best = float(known[:tenth].mean()), float(known[-tenth:].mean())
    return Spread(len(known), worst, float(np.median(known)), best, float(known.std()))


def fairness(runs: Mapping[str, tuple[int, NDArray[np.float64]]]) -> Drawing:
    """A histogram a run; the long mark is the median, the short one the mean of the worst tenth.

    `runs` has the number of the run's colour and every client's accuracy.
    """
    spreads = {name: spread(own) for name, (_, own) in runs.items()}
    said = "; ".join(f"{name}: worst tenth {s.worst:.2f}, median {s.median:.2f}" for name, s in spreads.items())
    picture = Drawing(WIDTH, 10 + ROW * len(runs) + BOTTOM, f"Clients' accuracy on their own data. {said}")

    def at(share: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    base = 10 + ROW * len(runs)
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        picture.line([(at(tick), 10), (at(tick), base)], "grid", 1)
        picture.text(at(tick), base + 14, f"{tick:g}", anchor="middle", colour="soft")
    picture.text((at(0) + at(1)) / 2, base + 34, "a client's accuracy on its own data", anchor="middle", colour="soft")
    for row, (name, (colour, own)) in enumerate(runs.items()):
        bottom = 10 + ROW * (row + 1) - 6
        found, edges = np.histogram(own[np.isfinite(own)], bins=BINS, range=(0, 1))
        for count, low in zip(found.tolist(), edges.tolist(), strict=False):
            if count:
                tall = (ROW - 12) * count / found.max()
                title = f"{name}: {count} clients from {low:.0%} to {low + 1 / BINS:.0%}"
                wide = (WIDTH - LEFT - RIGHT) / BINS - 1.5
                picture.rect(at(low) + 0.75, bottom - tall, wide, tall, f"series-{colour % SERIES}", title=title)
        picture.line([(LEFT, bottom), (WIDTH - RIGHT, bottom)], "grid", 1)
        picture.text(LEFT - 8, bottom - 12, cut(name, 16), anchor="end")
        marks = spreads[name]
        picture.line([(at(marks.median), bottom - ROW + 10), (at(marks.median), bottom + 3)], "ink", 2)
        picture.line([(at(marks.worst), bottom - 12), (at(marks.worst), bottom + 3)], "ink", 2, dashed=True)
    return picture
