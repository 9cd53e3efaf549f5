"""QCID sampling: draw the members of a group so that balanced sets are likely.

Zhang et al., "Fed-CBS: A Heterogeneity-Aware Client Sampling Mechanism for Federated Learning via Class-Imbalance
Reduction", as Liu et al., Group-FEL, Section 6.1, bring it to groups: one set after the other is drawn from the
clients that have none yet. QCID(S) = sum_b (share of label b in S - 1/B)^2. The first client c of a set has
P(c) ~ QCID({c})^-1 + lambda sqrt(3 ln k / (2 T_c)), the m-th P(c) ~ QCID(S + c)^-m.

Departures: in a partition everybody is drawn once, so T_c = 1 for all who are left, and k counts the sets drawn.
Odds are taken relative to the best client's, so large groups do not overflow. With `edges` every edge groups its own
clients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, even_sizes, how_many
from covey.grouping.per_edge import Clients, per_edge
from covey.grouping.pool import Pool

FLOOR = 1e-12  # a perfectly balanced set would be infinitely likely


def qcid(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64] | None = None,
    explore: float = 10.0,
) -> Grouping:
    """Groups of even size, drawn client by client with odds in favour of balance.

    `explore` is the paper's lambda (10 there, 1 in Group-FEL): larger draws first members more evenly.

    >>> labels = np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    >>> qcid(labels, groups=2, rng=np.random.default_rng(0)).sums(labels).tolist()
    [[9, 9], [9, 9]]
    """
    if not explore >= 0:
        raise BadValue("explore", explore, "a number from 0 up")

    table = check_labels(labels)

    def form(at: Clients, groups: int | None, least: int, rng: np.random.Generator) -> Grouping:
        count = how_many(len(at), groups, min_size, max_size)
        pool = Pool(table[at])
        found = []
        for k, size in enumerate(even_sizes(len(at), count), start=1):
            pool.open()
            bonus = explore * np.sqrt(1.5 * np.log(k))
            members = [pool.join(_draw(pool, 1, bonus, rng))]
            members += [pool.join(_draw(pool, m, 0.0, rng)) for m in range(2, size + 1)]
            found.append(tuple(members))
        return Grouping(tuple(found))

    everyone = np.arange(len(table))
    return per_edge(form, everyone, edges=edges, groups=groups, min_size=min_size, max_size=max_size, rng=rng)


GROUPINGS.add("qcid", qcid, paper="Zhang et al., Fed-CBS; Liu et al., Group-FEL, Section 6.1")


def _draw(pool: Pool, power: int, bonus: float, rng: np.random.Generator) -> int:
    """A position in the pool with odds QCID^-power + bonus; who is not free has none."""
    together = pool.concentrations()
    imbalance = np.maximum(together - 1 / pool.rows.shape[1], FLOOR)
    odds = (imbalance / imbalance.min()) ** -power + np.where(
        np.isfinite(together), bonus * imbalance.min() ** power, 0
    )
    return int(rng.choice(len(odds), p=odds / odds.sum()))
