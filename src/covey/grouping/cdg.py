"""CDG, clustering then distribution: deal the members of every k-means cluster over the groups in turn.

The grouping of OUEA (Mhaisen et al., "Optimal User-Edge Assignment in Hierarchical Federated Learning Based on
Statistical Properties and Network Topology Constraints"), as Liu et al., Group-FEL, Section 4.4, bring it to groups:
G = floor(K / MinGS) groups; k-means of raw label counts into floor(K / G) clusters; every cluster is dealt
cyclically over the groups, each deal going on where the last one stopped.

Departures: no more clusters than clients that differ. With `edges` every edge groups its own clients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels
from covey.grouping.per_edge import per_edge


def cdg(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    rng: np.random.Generator,
    edges: NDArray[np.int64] | None = None,
) -> Grouping:
    """Groups of even size, each with its share of every cluster of similar clients.

    >>> labels = np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    >>> cdg(labels, groups=2, rng=np.random.default_rng(0)).sums(labels).tolist()
    [[9, 9], [9, 9]]
    """
    from sklearn.cluster import KMeans  # takes a second to import, which other groupings need not wait for

    def form(labels: Labels, groups: int | None, least: int, rng: np.random.Generator) -> Grouping:
        n = len(labels)
        count = groups or max(1, n // least)
        clusters = min(n // count, len(np.unique(labels, axis=0)))
        kmeans = KMeans(clusters, n_init=1, random_state=int(rng.integers(2**32)))
        order = np.argsort(kmeans.fit_predict(labels.astype(np.float64)), kind="stable")
        return Grouping(tuple(tuple(order[k::count].tolist()) for k in range(count)))

    return per_edge(form, check_labels(labels), edges=edges, groups=groups, min_size=min_size, rng=rng)


GROUPINGS.add("cdg", cdg, paper="Mhaisen et al., OUEA; Liu et al., Group-FEL, Section 4.4")
