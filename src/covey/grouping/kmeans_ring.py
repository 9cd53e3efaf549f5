"""K-means clusters of clients with like updates, and a ring of their heads.

What IHC-FL (Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID
Data", Section II-C, Fig. 2) looks at before it states its problem: K clusters by K-means on model distance, whose heads
form the ring with the least total model distance.

What the paper leaves open: the head is the member nearest to the cluster's mean; the distance of two heads is 1 - cos
of their clusters' mean updates; up to nine heads the ring is the shortest, above that what 2-opt finds.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.grouping.base import Grouping
from covey.grouping.per_edge import members_of
from covey.grouping.updates import cosines, unit_rows

Floats = NDArray[np.float64]

EXACT = 9  # heads up to which every ring is tried: 8! / 2 = 20,160


def kmeans_ring(updates: ArrayLike, heads: int, rng: np.random.Generator) -> Grouping:
    """As many clusters as `heads` by K-means of the updates' directions, each around a head, the heads on a ring.

    K-means knows nothing of sizes, so that this is a part of IHC-FL and no grouping with a name of its own.

    >>> updates = [[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0], [-1.0, 0.1], [-1.0, 0.2]]
    >>> found = kmeans_ring(updates, 3, np.random.default_rng(0))
    >>> sorted(found.groups), len(found.links)
    ([(0, 1), (2, 3), (4, 5)], 3)
    """
    from sklearn.cluster import KMeans

    rows = unit_rows(np.asarray(updates, dtype=np.float64))
    seed = int(rng.integers(2**31))
    of = KMeans(min(heads, len(rows)), n_init=10, random_state=seed).fit_predict(rows)
    clusters = [members.tolist() for members in members_of(of)]
    means = np.stack([rows[members].mean(axis=0) for members in clusters])
    leaders = [
        members[int(np.linalg.norm(rows[members] - mean, axis=1).argmin())]
        for members, mean in zip(clusters, means, strict=True)
    ]
    return Grouping(tuple(map(tuple, clusters)), heads=tuple(leaders), links=ring_of(1 - cosines(means)))


def ring_of(apart: Floats) -> tuple[tuple[int, int], ...]:
    """The links of a short ring through all; one node has none, two have one.

    Four on a line, 1 apart: out over the odd ones, back over the even ones; any ring costs 6 at least.

    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> sum(line[a, b] for a, b in ring_of(line)), ring_of(line[:2, :2])
    (np.float64(6.0), ((0, 1),))
    """
    n = len(apart)
    if n < 3:
        return ((0, 1),) if n == 2 else ()
    if n <= EXACT:
        order = min(([0, *rest] for rest in permutations(range(1, n))), key=lambda ring: _length(ring, apart))
    else:
        order = _two_opt(list(range(n)), apart)
    pairs = zip(order, [*order[1:], order[0]], strict=True)
    return tuple(sorted((min(a, b), max(a, b)) for a, b in pairs))


def _two_opt(order: list[int], apart: Floats) -> list[int]:
    """Turn parts of the ring round while that shortens it."""
    better = True
    while better:
        better = False
        for i in range(1, len(order) - 1):
            for j in range(i + 1, len(order)):
                turned = order[:i] + order[i : j + 1][::-1] + order[j + 1 :]
                if _length(turned, apart) < _length(order, apart) - 1e-12:
                    order, better = turned, True
    return order


def _length(ring: list[int], apart: Floats) -> float:
    return float(sum(apart[a, b] for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)))
