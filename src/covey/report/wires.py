"""A network with its load, and who trains and sends when, for a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covey.plan import Place, client, cloud
from covey.report.drawing import Drawing
from covey.report.layout import positions
from covey.report.lines import ticks

if TYPE_CHECKING:
    from covey.network.clock import Interval
    from covey.network.placement import Placement
    from covey.network.topology import Node

MOST_LINKS = 3000
MOST_ROWS = 60
SHADES = 4
ROW, LEFT, TOP, BOTTOM = 13.0, 74.0, 26.0, 44.0
WHAT = {"train": "trains", "meet": "models meet", "send": "sends", "receive": "receives"}


def load(placement: Placement, carried: NDArray[np.float64]) -> Drawing | None:
    """Every link, darker and thicker the more its busier direction carries; None where there are too many to see."""
    network = placement.network
    if len(network.arcs) > 2 * MOST_LINKS:
        return None
    bytes_of: dict[frozenset[Node], float] = {}
    for (a, b), size in zip(network.arcs, carried.tolist(), strict=True):
        bytes_of[frozenset((a, b))] = max(bytes_of.get(frozenset((a, b)), 0.0), size)
    most = max(bytes_of.values(), default=0.0) or 1.0
    said = f"The network {network.name} with its load: the busiest link carries {_size(most)} a round"
    picture = Drawing(520, 392, said)
    at = _scaled(positions(network), 520, 330)
    for ends, size in sorted(bytes_of.items(), key=lambda link: link[1]):
        shade = min(SHADES - 1, int(SHADES * size / most))
        points = [at[node] for node in ends]
        picture.line(points, f"load-{shade}" if size else "grid", 0.8 + 3.2 * size / most if size else 0.7)
    servers = {*placement.edges, placement.cloud}
    number = {node: i for i, node in enumerate(placement.clients)}
    for node in network.nodes:
        x, y = at[node]
        if node in servers:
            continue
        if node in number:
            picture.circle(x, y, 4, "client", title=f"client {number[node]}")
        else:
            picture.circle(x, y, 2.4, "idle", title=str(node))
    for k, node in enumerate(placement.edges):
        x, y = at[node]
        picture.rect(x - 6, y - 6, 12, 12, "edge", title=f"edge server {k}")
    x, y = at[placement.cloud]
    picture.rect(x - 8, y - 8, 16, 16, "cloud", title="cloud")
    _legend(
        picture, 346, [("cloud", "cloud"), ("edge", "edge server"), ("client", "client"), ("idle", "switch, free host")]
    )
    steps = [(f"load-{k}", f"to {_size(most * (k + 1) / SHADES)}") for k in range(SHADES)]
    _legend(picture, 372, steps)
    return picture


def timeline(intervals: Sequence[Interval], order: Iterable[int], seconds: float) -> Drawing:
    """One line per server and client, clients in the given order; of many clients every second, third, …."""
    everyone = list(dict.fromkeys(order))
    step = -(-len(everyone) // MOST_ROWS)
    places = {p for i in intervals for p in (i.who, i.to) if p is not None and p.kind != "client"}
    servers = sorted(places, key=lambda place: (place != cloud, place.number))
    rows = {place: row for row, place in enumerate([*servers, *map(client, everyone[::step])])}
    width, height = 560.0, TOP + ROW * len(rows) + BOTTOM
    picture = Drawing(width, height, f"Who trains and sends when in a round of {seconds:.3g} simulated seconds")
    shown = dict.fromkeys(what for what in WHAT if what == "receive" or any(i.what == what for i in intervals))
    _legend(picture, 12, [(what, WHAT[what]) for what in shown], left=LEFT)

    def at(time: float) -> float:
        return LEFT + (width - LEFT - 14) * time / (seconds or 1.0)

    base = TOP + ROW * len(rows)
    for tick in ticks(seconds):
        picture.line([(at(tick), TOP), (at(tick), base)], "grid", 1)
        picture.text(at(tick), base + 14, f"{tick:g}", anchor="middle", colour="soft", size=12)
    said = "simulated seconds of the round" + (f" (one of {step} clients is shown)" if step > 1 else "")
    picture.text((LEFT + width) / 2, base + 33, said, anchor="middle", colour="soft")
    for (what, place), spans in _spans(intervals, rows).items():
        row = rows[place]
        half = place.kind != "client" and what != "meet"  # servers send and receive at once, on half a line each
        y = TOP + ROW * row + (ROW * 0.45 if half and what == "receive" else 0) + 1
        for begin, end in spans:
            wide = max(at(end) - at(begin), 0.7)
            title = f"{place} {WHAT[what]} from {begin:.3g} to {end:.3g} s"
            picture.rect(at(begin), y, wide, (ROW - 2) * (0.5 if half else 1), what, title=title)
    for place, row in rows.items():
        if place.kind != "client" or len(rows) <= 30 or row % 5 == 0:
            text = str(place) if place.kind != "client" else f"client {place.number}"
            picture.text(LEFT - 6, TOP + ROW * (row + 0.5), text, size=10.5, anchor="end", colour="soft")
    return picture


def _spans(intervals: Sequence[Interval], rows: dict[Place, int]) -> dict[tuple[str, Place], list[tuple[float, float]]]:
    """What every place does, the same time covered by as few spans as possible."""
    found: dict[tuple[str, Place], list[tuple[float, float]]] = {}
    for interval in intervals:
        if interval.who in rows:
            found.setdefault((interval.what, interval.who), []).append((interval.begin, interval.end))
        if interval.to is not None and interval.to in rows:
            found.setdefault(("receive", interval.to), []).append((interval.begin, interval.end))
    joined: dict[tuple[str, Place], list[tuple[float, float]]] = {}
    for key, spans in found.items():
        own = joined.setdefault(key, [])
        for begin, end in sorted(spans):
            if own and begin <= own[-1][1]:
                own[-1] = own[-1][0], max(own[-1][1], end)
            else:
                own.append((begin, end))
    return joined


def _legend(picture: Drawing, y: float, entries: Sequence[tuple[str, str]], left: float = 16.0) -> None:
    for colour, text in entries:
        picture.rect(left, y - 5, 11, 11, colour)
        picture.text(left + 16, y, text, size=12, colour="soft")
        left += 26 + 7.0 * len(text) + 6


def _scaled(at: dict[Node, tuple[float, float]], width: float, height: float) -> dict[Node, tuple[float, float]]:
    xs, ys = (np.array([point[k] for point in at.values()]) for k in (0, 1))
    spans = [float(np.ptp(v)) or 1.0 for v in (xs, ys)]
    pad = 18.0
    return {
        node: (
            pad + (width - 2 * pad) * (x - float(xs.min())) / spans[0],
            height - pad - (height - 2 * pad) * (y - float(ys.min())) / spans[1],
        )
        for node, (x, y) in at.items()
    }


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"
