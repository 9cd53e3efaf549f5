"""Groups that look like the whole fleet, and groups of clients that look alike, by the earth mover's distance.

Lee et al., "TornadoAggregate: Accurate and Scalable Federated Learning via the Ring-Based Architecture", Algorithm 3:
Group_By_IID is `emd-iid`, Cluster is `emd-cluster`. EMD(p, q) = sum over labels of |p(y) - q(y)| (Eq. 32).

Departures: a client joins where the cost of all groups together grows least, sum_k p_k EMD(D^k, D) or the weighted
mean of EMD(D^{k,i}, D^k), since the printed costs ignore what the group was before. No group has more than
ceil(N/|G|) clients, or else IID groups may collapse into one.
"""

from __future__ import annotations

import numpy as np

from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.insertion import Term, Weighted, insertion
from covey.grouping.kmedoids import grouping_of, weights_of
from covey.grouping.measures import emd_of, shares_of
from covey.grouping.terms import FromAll, FromGroup


def emd_iid(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    steady: int = 1,
) -> Grouping:
    """Groups whose label shares are near those of the whole fleet, of even size at most.

    >>> labels = np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    >>> emd_iid(labels, groups=2, rng=np.random.default_rng(0)).sums(labels).tolist()
    [[9, 9], [9, 9]]
    """
    labels = check_labels(labels)
    own = emd_of(labels, labels.sum(axis=0))
    term = FromAll(shares_of(labels), weights_of(labels), order=1, as_medoid=own)
    return _grouped(term, len(labels), (groups, min_size, max_size), steady, rng)


def emd_cluster(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    steady: int = 1,
) -> Grouping:
    """Groups of clients whose label shares are near those of their group, of even size at most.

    >>> labels = np.array([[9, 0], [0, 9], [8, 1], [1, 8]])
    >>> {frozenset(members) for members in emd_cluster(labels, groups=2, rng=np.random.default_rng(1))}
    {frozenset({0, 2}), frozenset({1, 3})}
    """
    labels = check_labels(labels)
    term = FromGroup(shares_of(labels), weights_of(labels))
    return _grouped(term, len(labels), (groups, min_size, max_size), steady, rng)


def _grouped(
    term: Term, n: int, wanted: tuple[int | None, int | None, int | None], steady: int, rng: np.random.Generator
) -> Grouping:
    """Insertion into `wanted` (groups, least and most clients), never more than ceil(n / groups) clients in a group."""
    count, least = how_many(n, *wanted), wanted[1] or 1
    most = -(-n // count)
    found = insertion([Weighted(term)], n, count, rng=rng, steady=steady, min_size=least, max_size=most)
    return grouping_of(*found)


GROUPINGS.add("emd-iid", emd_iid, paper="Lee et al., TornadoAggregate, Algorithm 3")
GROUPINGS.add("emd-cluster", emd_cluster, paper="Lee et al., TornadoAggregate, Algorithm 3")
