"""Grouping inside edges: every edge server groups the clients attached to it, knowing nothing of the others."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import Grouping, how_many

Clients = NDArray[np.int64]
Form = Callable[[Clients, int | None, int, np.random.Generator], Grouping]
"""Groups some clients, called 0, 1, 2, … in its answer: (clients, groups or None, least size, rng)."""


def per_edge(
    form: Form,
    clients: Clients,
    *,
    edges: Clients | None,
    groups: int | None,
    min_size: int | None,
    max_size: int | None = None,
    rng: np.random.Generator,
    default_size: int = 5,
) -> Grouping:
    """Run `form` on the clients of every edge and put the groups side by side; `edges` are those of `clients`.

    `groups` are shared out among the edges by their clients, at least one each. Every edge draws from a generator of
    its own, so edges do not depend on one another. Groups of different edges are not linked.
    """
    how_many(len(clients), groups, min_size, max_size)

    def least(n: int) -> int:  # where nobody asked for one, as large as the other limit leaves possible
        return min_size or min(default_size, n // (1 if max_size is None else -(-n // max_size)))

    members = [np.arange(len(clients))] if edges is None else members_of(edges)
    if len(members) == 1:
        return form(clients, groups, least(len(clients)), rng).renamed(clients)
    smallest = min(map(len, members))
    if min_size is not None and min_size > smallest:
        raise BadValue("min_size", min_size, f"at most {smallest}, the clients of the smallest edge")
    shares: list[int] | list[None] = [None] * len(members)
    if groups is not None:
        shares = share_out(groups, [len(m) for m in members], least=min_size or 1, most=max_size)
    seeds = rng.integers(2**63, size=len(members))
    parts = []
    for at_edge, share, seed in zip(members, shares, seeds, strict=True):
        how_many(len(at_edge), share, min_size, max_size)
        at, own = clients[at_edge], np.random.default_rng(int(seed))
        parts.append(form(at, share, least(len(at)), own).renamed(at))
    return side_by_side(parts)


def members_of(places: Clients) -> list[Clients]:
    """Who is at each place that somebody is at, places ascending.

    >>> [at.tolist() for at in members_of(np.array([7, 0, 7]))]
    [[1], [0, 2]]
    """
    order = np.argsort(places, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(places[order])) + 1)


def side_by_side(parts: list[Grouping]) -> Grouping:
    """The groups of all parts, with the heads and links that each part has.

    >>> pair = Grouping(((0,), (1,)), heads=(0, 1), links=((0, 1),))
    >>> side_by_side([pair, pair.renamed(np.array([2, 3]))]).links
    ((0, 1), (2, 3))
    """
    heads: list[int] = []
    links: list[tuple[int, int]] = []
    first = 0
    for part in parts:
        heads += part.heads or ()
        links += [(first + a, first + b) for a, b in part.links or ()]
        first += len(part)
    return Grouping(
        tuple(members for part in parts for members in part),
        left_out=tuple(i for part in parts for i in part.left_out),
        heads=tuple(heads) if all(part.heads is not None for part in parts) else None,
        links=tuple(links) if all(part.links is not None for part in parts) else None,
    )


def share_out(groups: int, clients: list[int], *, least: int = 1, most: int | None = None) -> list[int]:
    """How many of `groups` groups each edge makes: in proportion to its clients, as far as group sizes allow.

    >>> share_out(6, [10, 50, 40])
    [1, 3, 2]
    """
    lowest = [1 if most is None else -(-n // most) for n in clients]
    highest = [max(1, n // least) for n in clients]
    if not sum(lowest) <= groups <= sum(highest):
        allowed = f"from {sum(lowest)} to {sum(highest)}, what {len(clients)} edges and the sizes allow"
        raise BadValue("groups", groups, allowed)
    shares = lowest.copy()
    queue = [(-n / (share + 0.5), e) for e, (n, share) in enumerate(zip(clients, shares, strict=True))]
    heapify(queue)
    left = groups - sum(shares)
    while left:
        _, e = queue[0]
        if shares[e] < highest[e]:
            shares[e] += 1
            left -= 1
            heapreplace(queue, (-clients[e] / (shares[e] + 0.5), e))
        else:
            heapreplace(queue, (np.inf, e))
    return shares
