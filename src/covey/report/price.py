"""The picture of a price: who trains and sends when, and the network with its load."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from covey.network.placement import Placement
from covey.network.price import Price
from covey.report.load import network_load
from covey.report.picture import drawing
from covey.report.timeline import timeline


def draw_price(cost: Price, placement: Placement, order: Iterable[int], path: Path, *, title: str = "") -> None:
    """Draw one round; `order` are its clients, group by group."""
    clients = list(dict.fromkeys(order))
    height = min(9.0, max(4.8, 1.8 + 0.09 * len(clients)))
    with drawing(path, 14, height) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        timeline(left, cost.timeline, clients, seconds=cost.seconds)
        network_load(right, placement, cost.carried)
        if title:
            figure.suptitle(title, fontsize=11)
