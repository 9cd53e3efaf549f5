"""CDG, clustering then distribution: deal the members of every k-means cluster over the groups in turn.

The grouping of OUEA (Mhaisen et al., "Optimal User-Edge Assignment in Hierarchical Federated Learning Based on
Statistical Properties and Network Topology Constraints"), as Liu et al., Group-FEL, Section 4.4, bring it to groups:
G = floor(K / MinGS) groups; k-means of raw label counts into floor(K / G) clusters; every cluster is dealt
cyclically over the groups, each deal beginning with the first group, as in the code of Group-FEL's authors. So the
first groups are the largest.

Departures: no more clusters than clients that differ. Where `min_size` or `max_size` is given, the largest groups give
clients to the smallest; with `drop=True` groups short of `min_size` are left out instead, as in that code. With `edges`
every edge groups its own clients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.per_edge import Clients, members_of, per_edge
from covey.grouping.sizes import check_someone_is_left, evened, filled_to, without_short


def cdg(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64] | None = None,
    drop: bool = False,
) -> Grouping:
    """Groups that each have their share of every cluster of similar clients.

    `drop` leaves out groups short of `min_size` instead of filling them up.

    >>> labels = np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    >>> cdg(labels, groups=2, rng=np.random.default_rng(0)).sums(labels).tolist()
    [[9, 9], [9, 9]]
    """
    from sklearn.cluster import KMeans  # takes a second to import, which other groupings need not wait for

    filled, table = filled_to(min_size, drop=drop), check_labels(labels)

    def form(at: Clients, groups: int | None, least: int, rng: np.random.Generator) -> Grouping:
        count = how_many(len(at), groups, min_size, max_size)
        points = table[at]
        clusters = min(len(at) // count, len(np.unique(points, axis=0)))
        kmeans = KMeans(clusters, n_init=1, random_state=int(rng.integers(2**32)))
        dealt = _dealt([m.tolist() for m in members_of(kmeans.fit_predict(points.astype(np.float64)))], count)
        return without_short(evened(dealt, filled, max_size), least if drop else 1)

    everyone = np.arange(len(table))
    found = per_edge(form, everyone, edges=edges, groups=groups, min_size=min_size, max_size=max_size, rng=rng)
    return check_someone_is_left(found, "cdg") if drop else found


GROUPINGS.add("cdg", cdg, paper="Mhaisen et al., OUEA; Liu et al., Group-FEL, Section 4.4")


def _dealt(clusters: list[list[int]], groups: int) -> list[list[int]]:
    """Every cluster over all groups in turn, from the first group on.

    >>> _dealt([[0, 1, 2], [3, 4, 5]], 2)
    [[0, 2, 3, 5], [1, 4]]
    """
    return [[i for members in clusters for i in members[k::groups]] for k in range(groups)]
