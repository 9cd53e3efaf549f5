"""Who trains and sends when: one line per client, one per server, time from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from covey.network.clock import Interval
from covey.plan import Place, client, cloud

COLOURS = {"train": "#2b6cb0", "meet": "#6b46c1", "send": "#dd6b20", "receive": "#f6c28b"}
LABELS = {"train": "trains", "meet": "models meet", "send": "sends", "receive": "receives"}
MOST = 150  # lines that can still be told apart


def timeline(axes: Axes, intervals: Sequence[Interval], order: Iterable[int], *, seconds: float) -> None:
    """Draw the intervals; clients from top to bottom in the given order, below the servers.

    Of very many clients every second, third, … is shown.
    """
    everyone = list(dict.fromkeys(order))
    step = -(-len(everyone) // MOST)
    servers = sorted({p for i in intervals for p in (i.who, i.to) if p is not None and p.kind != "client"}, key=_rank)
    rows = {place: row for row, place in enumerate([*servers, *map(client, everyone[::step])])}
    bars: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for interval in intervals:
        begin, length = interval.begin, interval.end - interval.begin
        if interval.who in rows:
            bars.setdefault((interval.what, rows[interval.who]), []).append((begin, length))
        if interval.to in rows:
            bars.setdefault(("receive", rows[interval.to]), []).append((begin, length))
    for (what, row), spans in bars.items():
        both = row < len(servers) and what != "meet"  # servers send and receive at once, on half a line each
        low = row if both and what == "receive" else row - 0.45
        axes.broken_barh(_joined(spans), (low, 0.45 if both else 0.9), color=COLOURS[what], linewidth=0)
    shown = [what for what in COLOURS if any(key == what for key, _ in bars)]
    axes.legend(
        handles=[Patch(color=COLOURS[what], label=LABELS[what]) for what in shown],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=len(shown),
        frameon=False,
        fontsize=8,
    )
    axes.set(xlim=(0, seconds or 1), ylim=(len(rows) - 0.5, -0.5), xlabel="simulated seconds of the round")
    axes.set_ylabel("clients, group by group" if step == 1 else f"one of {step} clients, group by group")
    ticks = [rows[place] for place in servers] if len(rows) > 45 else list(rows.values())
    names = [str(place) for place in rows]
    axes.set_yticks(ticks, [names[row] for row in ticks], fontsize=7 if len(rows) < 40 else 5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.3)
    if servers:
        axes.axhline(len(servers) - 0.5, color="0.6", linewidth=0.6)


def _rank(place: Place) -> tuple[bool, int]:
    return place != cloud, place.number


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same time covered by as few bars as possible, since a server's transfers overlap."""
    joined: list[list[float]] = []
    for begin, length in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], begin + length)
        else:
            joined.append([begin, begin + length])
    return [(begin, float(np.subtract(end, begin))) for begin, end in joined]
