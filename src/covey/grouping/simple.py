"""Groupings that look at no labels: random, and as the clients are attached to edges.

Random groups are the yardstick of every paper here; groups by edge are those of HierFAVG (Liu et al., "Client-Edge-
Cloud Hierarchical Federated Learning").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.per_edge import members_of


def random(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
) -> Grouping:
    """Groups of even size, drawn at random.

    >>> random(np.ones((7, 2)), groups=3, rng=np.random.default_rng(0)).sizes.tolist()
    [3, 2, 2]
    """
    n = len(check_labels(labels))
    count = how_many(n, groups, min_size, max_size)
    order = rng.permutation(n)
    return Grouping(tuple(tuple(order[k::count].tolist()) for k in range(count)))


def edge(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64],
) -> Grouping:
    """One group per edge: everybody attached to it.

    >>> edge(np.ones((3, 2)), edges=np.array([4, 0, 4]), rng=np.random.default_rng(0)).groups
    ((1,), (0, 2))
    """
    check_labels(labels)
    members = [tuple(at.tolist()) for at in members_of(edges)]
    smallest, largest = min(map(len, members)), max(map(len, members))
    if groups not in (None, len(members)):
        raise BadValue("groups", groups, f"{len(members)}, one per edge, for grouping 'edge'")
    if min_size is not None and min_size > smallest:
        raise BadValue("min_size", min_size, f"at most {smallest}, the clients of the smallest edge")
    if max_size is not None and max_size < largest:
        raise BadValue("max_size", max_size, f"at least {largest}, the clients of the largest edge")
    return Grouping(tuple(members))


GROUPINGS.add("random", random, paper="")
GROUPINGS.add("edge", edge, paper="Liu et al., HierFAVG")
