"""What groups cost in secure aggregation, and which MinGS buys most evenness for its seconds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from covey.errors import BadValue
from covey.grouping import Grouping
from covey.prices import Prices
from covey.profile import make_prices

TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)

Formed = Callable[[int], tuple[Grouping, float]]
"""The groups for a least size, and their CoV."""


def group_cost(grouping: Grouping, word: str, formed: Formed) -> dict[str, Any]:
    """Seconds of one group operation for all clients of these groups together, and the same for other least sizes.

    `min_size` is the knee: of the points (seconds, CoV), each scaled to 0 to 1, the one furthest below the straight
    line from the smallest least size to the largest.
    """
    prices = make_prices(word)
    most = sum(map(len, grouping.groups)) // 2
    sizes = [size for size in TRIED if size <= most]
    if len(sizes) < 3:
        raise BadValue("prices", word, f"given for 8 clients or more; these are {2 * most}")
    rows = []
    for size in sizes:
        with suppress(BadValue):  # an edge may have fewer clients than that
            groups, cov = formed(size)
            rows.append({"min_size": size, "groups": len(groups), "cov": cov, "seconds": seconds(groups, prices)})
    if len(rows) < 3:
        raise BadValue("prices", word, f"given where groups can have three least sizes; these can have {len(rows)}")
    knee = rows[knee_of([row["seconds"] for row in rows], [row["cov"] for row in rows])]["min_size"]
    return {"prices": word, "seconds": seconds(grouping, prices), "min_size": knee, "by_min_size": rows}


def seconds(grouping: Grouping, prices: Prices) -> float:
    """What one group operation takes all clients together: |g| O(|g|) per group."""
    return sum(len(members) * prices.group_seconds(len(members)) for members in grouping.groups)


def knee_of(cost: list[float], value: list[float]) -> int:
    """Where a falling curve bends: the point furthest below the line from its first to its last.

    >>> knee_of([0.0, 1.0, 2.0, 10.0], [1.0, 0.2, 0.15, 0.1])
    1
    """
    x, y = (np.asarray(column, dtype=np.float64) for column in (cost, value))
    span = (np.ptp(x) or 1.0, np.ptp(y) or 1.0)
    x, y = (x - x[0]) / span[0], (y - y[-1]) / span[1]
    line = y[0] + (y[-1] - y[0]) * (x / (x[-1] or 1.0))
    return int(np.argmax(line - y))


def lines(cost: dict[str, Any]) -> list[str]:
    """The same for a person."""
    tried = ", ".join(f"{r['min_size']}: {r['cov']:.2f} for {r['seconds']:.3g} s" for r in cost["by_min_size"])
    return [
        f"secure aggregation takes all clients {cost['seconds']:.3g} s a group round, by {cost['prices']}",
        f"CoV by MinGS: {tried}",
        f"most evenness for its seconds: --min-size {cost['min_size']}",
    ]
