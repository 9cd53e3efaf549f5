"""Who holds what: one bar per client or group, split by label, and above it how many samples that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.grouping.measures import cov_of, shares_of
from covey.report.drawing import Drawing, label_colour
from covey.report.lines import cut

MOST_BARS = 60
MOST_LABELS = 20  # that have room in a legend
LEFT, TOP, SIZES, SHARES, BOTTOM = 46.0, 20.0, 44.0, 190.0, 44.0


def label_bars(
    counts: ArrayLike,
    names: Sequence[str],
    *,
    what: str,
    label_names: Sequence[str] | None = None,
    by_evenness: bool = False,
) -> Drawing:
    """A bar for every row of `counts`; the leftmost is all of them together.

    what: what a bar is, as in "clients"
    by_evenness: from the most even to the least, with the coefficient of variation above every bar
    """
    table = np.asarray(counts, dtype=np.float64)
    order = np.argsort(cov_of(table), kind="stable") if by_evenness else np.arange(len(table))
    if len(order) > MOST_BARS:
        order = order[np.linspace(0, len(order) - 1, MOST_BARS).astype(int)]
    labels = table.shape[1]
    known = [str(name) for name in label_names] if label_names is not None else [str(j) for j in range(labels)]
    legend = 90.0 if labels <= MOST_LABELS else 0.0
    step = min(30.0, max(11.0, 420.0 / (len(order) + 2)))
    width = max(480.0, LEFT + step * (len(order) + 2) + legend + 8)
    covs = cov_of(table)
    mean = float(np.mean(covs)) if len(covs) else 0.0
    said = f"Share of every label, {len(table):,} {what}: mean coefficient of variation {mean:.2f}"
    picture = Drawing(width, TOP + SIZES + SHARES + BOTTOM, said, wide=width > 640)
    base = TOP + SIZES + SHARES
    for share in (0.0, 0.5, 1.0):
        picture.text(LEFT - 6, base - share * SHARES, f"{share:.0%}", anchor="end", colour="soft", size=12)
    largest = float(table.sum(axis=1).max()) or 1.0
    picture.text(LEFT - 6, TOP + 12, f"{largest:,.0f}", anchor="end", colour="soft", size=12)
    picture.text(LEFT - 40, TOP - 10, "samples", colour="soft", size=12)
    rows = [("all", table.sum(axis=0)), *((str(names[k]), table[k]) for k in order)]
    for number, (name, row) in enumerate(rows):
        x = LEFT + step * (number + (0.6 if number else 0.0))
        _bar(picture, x, step * 0.84, base, row, f"{name}", known)
        if number:
            tall = (SIZES - 12) * float(row.sum()) / largest
            picture.rect(
                x, TOP + SIZES - 6 - tall, step * 0.84, tall, "idle", title=f"{name}: {row.sum():,.0f} samples"
            )
        if by_evenness or number == 0 or len(order) <= 24 or (number - 1) % 5 == 0:
            shown = cut(name, 9)
            turned = len(shown) > 3 or step < 16
            anchor = "end" if turned else "middle"
            picture.text(x + step * 0.42, base + 12, shown, size=11, anchor=anchor, colour="soft", turn=45 * turned)
    for j, name in enumerate(known if legend else []):
        y = base - SHARES + 6 + (SHARES - 12) * (len(known) - 1 - j + 0.5) / max(len(known), 10)
        picture.rect(width - legend + 6, y - 5, 11, 11, label_colour(j, labels))
        picture.text(width - legend + 22, y, cut(name, 10), size=12)
    if legend:
        picture.text(width - legend + 6, base - SHARES - 12, "label", size=12, colour="soft")
    return picture


def _bar(
    picture: Drawing, x: float, wide: float, base: float, row: NDArray[np.float64], name: str, known: Sequence[str]
) -> None:
    high = base
    for j, share in enumerate(shares_of(row)):
        if share > 0:
            tall = SHARES * float(share)
            title = f"{name}: {row[j]:,.0f} of label {known[j]}, {share:.0%}"
            picture.rect(x, high - tall, wide, tall, label_colour(j, len(row)), title=title)
            high -= tall
