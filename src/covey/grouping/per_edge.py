"""Grouping inside edges: every edge server groups the clients attached to it, knowing nothing of the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import Grouping, Labels, how_many

Form = Callable[[Labels, int | None, int, np.random.Generator], Grouping]
"""Groups the clients of one edge: (labels, groups or None, min_size, rng)."""


def per_edge(
    form: Form,
    labels: Labels,
    *,
    edges: NDArray[np.int64] | None,
    groups: int | None,
    min_size: int | None,
    rng: np.random.Generator,
    default_size: int = 5,
) -> Grouping:
    """Run `form` on the clients of every edge and put the groups side by side.

    `groups` are shared out among the edges by their clients, at least one each. An edge with fewer clients than
    `min_size` is one group. Every edge draws from a generator of its own, so edges do not depend on one another.
    """
    how_many(len(labels), groups, min_size)
    least = min_size or default_size
    if edges is None or len(set(np.asarray(edges).tolist())) == 1:
        return form(labels, groups, min(least, len(labels)), rng)
    members = [np.flatnonzero(np.asarray(edges) == e) for e in np.unique(edges)]
    shares: list[int] | list[None] = [None] * len(members)
    if groups is not None:
        shares = share_out(groups, [len(m) for m in members], least=min_size or 1)
    found: list[tuple[int, ...]] = []
    left_out: list[int] = []
    seeds = rng.integers(2**63, size=len(members))
    for at_edge, share, seed in zip(members, shares, seeds, strict=True):
        own = np.random.default_rng(int(seed))
        part = form(labels[at_edge], share, min(least, len(at_edge)), own).renamed(at_edge)
        found += part.groups
        left_out += part.left_out
    return Grouping(tuple(found), left_out=tuple(left_out))


def share_out(groups: int, clients: list[int], *, least: int = 1) -> list[int]:
    """How many of `groups` groups each edge makes: in proportion to its clients, from one to `clients // least`.

    >>> share_out(6, [10, 50, 40])
    [1, 3, 2]
    """
    most = [max(1, n // least) for n in clients]
    if not len(clients) <= groups <= sum(most):
        raise BadValue("groups", groups, f"from {len(clients)}, one an edge, to {sum(most)}, what the sizes allow")
    shares = [1] * len(clients)
    for _ in range(groups - len(clients)):
        open_ = [e for e in range(len(clients)) if shares[e] < most[e]]
        shares[max(open_, key=lambda e: clients[e] / (shares[e] + 0.5))] += 1
    return shares
