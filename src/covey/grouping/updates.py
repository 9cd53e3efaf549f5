"""Groups of clients whose model updates are alike: FL+HC, CFL's bipartition and FedCLAR's merging.

- `fl-hc`: Briggs, Fan, Andras, "Federated learning with hierarchical clustering of local updates to improve training on
  non-IID data", 2020, Algorithm 1: agglomerative clustering.
- `cfl`: Sattler, Müller, Samek, "Clustered Federated Learning", 2020, Algorithm 1: two halves by complete linkage on
  -cos, whose gate sqrt((1 - alpha_cross^max) / 2) > gamma_max is `gamma`.
- `fedclar`: Presotto et al., "FedCLAR: Federated Clustering for Personalized Sensor-Based Human Activity Recognition",
  2022: the most similar pair is merged while its cosine reaches `similarity`.

Departures: `groups` (or `min_size`, which says how many) makes CFL go on splitting, always the cluster whose halves
have least in common, and makes FedCLAR merge until as many are left, whatever their similarity. Clusters that are then
smaller than `min_size` or larger than `max_size` take or give the clients that lose least by the move, by distance from
the clusters' mean updates. An update of zeros is at right angles to all others.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.per_edge import members_of
from covey.grouping.sizes import fit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

METRICS = ("l1", "l2", "cosine")
LINKAGES = ("ward", "complete", "average", "single")


def fl_hc(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    updates: Floats,
    metric: Literal["l1", "l2", "cosine"] = "l1",
    linkage: Literal["ward", "complete", "average", "single"] = "complete",
    threshold: float | None = None,
) -> Grouping:
    """Merge the two nearest clusters of updates until `groups` are left, or all are `threshold` apart.

    `linkage` "ward" goes with `metric` "l2" only.

    >>> updates = np.array([[1.0, 0], [5, 5], [1.1, 0], [0.9, 0]])
    >>> fl_hc(np.ones((4, 2)), updates=updates, threshold=1.0, rng=np.random.default_rng(0)).groups
    ((0, 2, 3), (1,))
    """
    n = len(check_labels(labels))
    count = how_many(n, groups, min_size, max_size)
    if metric not in METRICS:
        raise BadValue("metric", metric, f"one of {', '.join(METRICS)}")
    if linkage not in LINKAGES:
        raise BadValue("linkage", linkage, f"one of {', '.join(LINKAGES)}")
    if linkage == "ward" and metric != "l2":
        raise BadValue("metric", metric, "'l2' where linkage is 'ward'")
    if threshold is not None and not threshold > 0:
        raise BadValue("threshold", threshold, "a number above 0")
    if threshold is not None and groups is not None:
        raise BadValue("threshold", threshold, "nothing where groups is given: one of them decides")
    if n == 1:
        return Grouping(((0,),))
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(
        None if threshold is not None else count,
        distance_threshold=threshold,
        metric="euclidean" if linkage == "ward" else "precomputed",
        linkage=linkage,
    )
    cluster_of = model.fit_predict(updates if linkage == "ward" else _distances(updates, metric))
    return _grouping(cluster_of, np.asarray(updates, dtype=np.float64), min_size, max_size)


def cfl(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    updates: Floats,
    gamma: float | None = None,
) -> Grouping:
    """Split clients in two where their updates point apart, or again until there are `groups` clusters.

    With `gamma` (gamma_max, from 0 to 1) a cluster stays whole unless its halves are that far apart.

    >>> updates = np.array([[1.0, 0], [-1, 0.1], [1, 0.2], [-1, 0]])
    >>> cfl(np.ones((4, 2)), updates=updates, rng=np.random.default_rng(0)).groups
    ((0, 2), (1, 3))
    """
    n = len(check_labels(labels))
    count = how_many(n, groups, min_size, max_size)
    if groups is None and min_size is None:
        count = min(n, 2) if max_size is None else max(min(n, 2), -(-n // max_size))
    if gamma is not None and not 0 <= gamma <= 1:
        raise BadValue("gamma", gamma, "a number from 0 to 1")
    alike = cosines(updates)

    def halves_of(members: Integers) -> tuple[float, Integers, Integers] | None:
        """How alike the two most similar updates across the cut are, and the halves; None where there is no cut."""
        if len(members) == 1:
            return None
        side = bipartition(alike[np.ix_(members, members)])
        left, right = members[~side], members[side]
        across = float(alike[np.ix_(left, right)].max())
        return None if gamma is not None and np.sqrt((1 - across) / 2) <= gamma else (across, left, right)

    clusters = [(np.arange(n), halves_of(np.arange(n)))]
    while len(clusters) < count:
        cuts = [(cut[0], k) for k, (_, cut) in enumerate(clusters) if cut is not None]
        if not cuts:
            break
        _, cut = clusters.pop(min(cuts)[1])
        clusters += [(half, halves_of(half)) for half in (cut[1:] if cut is not None else ())]
    cluster_of = np.empty(n, dtype=np.int64)
    for k, (members, _) in enumerate(clusters):
        cluster_of[members] = k
    return _grouping(cluster_of, unit_rows(np.asarray(updates, dtype=np.float64)), min_size, max_size)


def fedclar(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    updates: Floats,
    sizes: Floats | None = None,
    similarity: float = 0.995,
) -> Grouping:
    """Merge the most similar pair of models while their cosine is at least `similarity`, or until `groups` are left.

    A merged model is the mean of the two, weighted by `sizes`, the samples of every client.

    >>> updates = np.array([[1.0, 0], [0, 1], [1, 0.01]])
    >>> fedclar(np.ones((3, 2)), updates=updates, rng=np.random.default_rng(0)).groups
    ((0, 2), (1,))
    """
    labels = check_labels(labels)
    if not -1 <= similarity <= 1:
        raise BadValue("similarity", similarity, "a number from -1 to 1")
    samples = labels.sum(axis=1) if sizes is None else np.asarray(sizes)
    count = how_many(len(labels), groups, min_size, max_size)
    if groups is None and min_size is None:
        found = merge_similar(updates, samples, similarity, max_size=max_size)
    else:
        found = merge_similar(updates, samples, -np.inf, keep=count)
    cluster_of = np.empty(len(labels), dtype=np.int64)
    for k, members in enumerate(found):
        cluster_of[members] = k
    return _grouping(cluster_of, unit_rows(np.asarray(updates, dtype=np.float64)), min_size, max_size)


GROUPINGS.add("fl-hc", fl_hc, paper="Briggs et al., FL+HC, Algorithm 1")
GROUPINGS.add("cfl", cfl, paper="Sattler et al., CFL, Algorithm 1")
GROUPINGS.add("fedclar", fedclar, paper="Presotto et al., FedCLAR")


def cosines(updates: ArrayLike) -> Floats:
    """Cosine of the angle between every two rows; a row of zeros is at right angles to all.

    >>> cosines([[1, 0], [1, 1], [-2, 0]]).round(2)[0].tolist()
    [1.0, 0.71, -1.0]
    """
    unit = unit_rows(np.asarray(updates, dtype=np.float64))
    table: Floats = np.clip(unit @ unit.T, -1.0, 1.0)
    return table


def bipartition(alike: Floats) -> NDArray[np.bool_]:
    """Which of two halves every client is in, by complete linkage on -cos; the first client is in the first half.

    >>> bipartition(np.array([[1, -1, 0.9], [-1, 1, -0.8], [0.9, -0.8, 1]])).tolist()
    [False, True, False]
    """
    from sklearn.cluster import AgglomerativeClustering

    side = AgglomerativeClustering(2, metric="precomputed", linkage="complete").fit_predict(-alike)
    halves: NDArray[np.bool_] = side != side[0]
    return halves


def merge_similar(
    models: ArrayLike,
    sizes: NDArray[np.int64] | Floats,
    least: float,
    *,
    keep: int = 1,
    max_size: int | None = None,
    stop_above: int | None = None,
    edges: NDArray[np.int64] | None = None,
) -> list[list[int]]:
    """Merge the most similar pair of rows, weighted by `sizes`, while their cosine is at least `least`.

    Stops at `keep` clusters, or once a cluster has more than `stop_above` rows, as Group-FEL's authors do;
    clusters with more than `max_size` rows together are not merged. With `edges` every edge merges its own rows.
    One row of the table of cosines changes per merge: O(n^2) each, O(n^3) in all.

    >>> merge_similar([[1, 0], [1, 0.01], [0, 1]], np.array([1, 1, 1]), 0.99)
    [[0, 1], [2]]
    """
    means = np.array(models, dtype=np.float64)
    if edges is not None:
        parts = [np.flatnonzero(edges == e) for e in np.unique(edges)]
        merge = partial(merge_similar, least=least, keep=keep, max_size=max_size, stop_above=stop_above)
        return [p[members].tolist() for p in parts for members in merge(means[p], sizes[p])]
    weights = np.maximum(sizes, 1e-9).astype(np.float64)  # a client without samples has a model, but no weight
    clusters = [[i] for i in range(len(means))]
    table = cosines(means)
    np.fill_diagonal(table, -np.inf)
    left = len(clusters)
    while left > keep:
        a, b = sorted(divmod(int(table.argmax()), len(table)))
        if table[a, b] < least or table[a, b] == -np.inf:
            break
        if max_size is not None and len(clusters[a]) + len(clusters[b]) > max_size:
            table[a, b] = table[b, a] = -np.inf
            continue
        left -= 1
        means[a] = np.average(means[[a, b]], axis=0, weights=weights[[a, b]])
        weights[a] += weights[b]
        clusters[a] += clusters[b]
        clusters[b] = []
        gone = [not members for members in clusters]
        gone[a] = True
        table[a] = table[:, a] = np.where(gone, -np.inf, np.clip(unit_rows(means) @ unit_rows(means[a]), -1, 1))
        table[b] = table[:, b] = -np.inf
        if stop_above is not None and len(clusters[a]) > stop_above:
            break
    return [members for members in clusters if members]


def unit_rows(rows: Floats) -> Floats:
    """The rows at length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return unit


def _distances(updates: Floats, metric: str) -> Floats:
    if metric == "cosine":
        return 1 - cosines(updates)
    from scipy.spatial.distance import pdist, squareform

    table: Floats = squareform(pdist(updates, "cityblock" if metric == "l1" else "euclidean"))
    return table


def _grouping(cluster_of: Integers, rows: Floats, min_size: int | None, max_size: int | None) -> Grouping:
    """Clusters of the sizes asked for, in the order of their first clients; `rows` say who is near which cluster."""
    sizes = np.bincount(cluster_of)
    if sizes.min() < (min_size or 1) or sizes.max() > (max_size or len(rows)):
        means = np.array([rows[at].mean(axis=0) for at in members_of(cluster_of)])
        squares = (rows**2).sum(axis=1)[:, None] + (means**2).sum(axis=1) - 2 * rows @ means.T
        cluster_of = fit(cluster_of, np.maximum(squares, 0), min_size or 1, max_size)
    return Grouping(tuple(sorted(tuple(at.tolist()) for at in members_of(cluster_of))))
