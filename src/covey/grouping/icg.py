"""ICG, inter-cluster grouping: cluster clients that are alike into equal clusters, then give each group one of each.

Zeng et al., "Heterogeneous Federated Learning via Grouped Sequential-to-Parallel Training" (FedGSP), Section 3.3,
Algorithm 2. Symbols: K clients, M = f(r) is `groups`, L = floor(K / M) clusters of floor(K / L) clients, V is
`labels`. The clusters are equal-size k-means on raw counts; a cluster assignment (Eq. 10 to 13) is a minimum cost
flow, solved exactly by OR-Tools.

Departures: the first centroids, which the paper leaves open, are clients drawn at random. `rest="deal"` gives the
clients that Algorithm 2 strands to groups, at most one each, instead of letting them idle. `deal="assign"` replaces
the random draw of line 6 by the assignment of every cluster's clients to the groups that minimises the products
of group sum and client, which is what lowers Eq. 4 with squared distances; `deal="random"` is the paper's.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
BLOCK = 500  # larger assignments are cut into random parts: a few per cent worse, many times faster
COST_RANGE = 1e6  # the flow solver takes whole numbers; steps of a millionth of the largest cost are fine enough


def icg(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    deal: Literal["random", "assign"] = "random",
    rest: Literal["idle", "deal"] = "idle",
    iterations: int = 10,
) -> Grouping:
    """Groups of equal size that hold one client of every equal-size cluster.

    `iterations` bounds the k-means steps (tau in the paper, which takes 10); it ends earlier once the centroids
    stand still.

    >>> labels = np.array([[9, 0], [8, 0], [0, 9], [0, 8], [9, 1]])
    >>> grouping = icg(labels, groups=2, rng=np.random.default_rng(0))
    >>> grouping.sizes.tolist(), len(grouping.left_out)
    ([2, 2], 1)
    """
    if deal not in ("random", "assign"):
        raise BadValue("deal", deal, "'random' or 'assign'")
    if rest not in ("idle", "deal"):
        raise BadValue("rest", rest, "'idle' or 'deal'")
    if iterations < 1:
        raise BadValue("iterations", iterations, "a whole number from 1 up")
    table = check_labels(labels).astype(np.float64)
    k, m = len(table), how_many(len(table), groups, min_size, max_size)
    count = k // m
    taken = rng.permutation(k)[: count * (k // count)]
    cluster_of = equal_clusters(table[taken], count, iterations=iterations, rng=rng)
    seats = np.empty((m, 0), dtype=np.int64)
    sums = np.zeros((m, table.shape[1]))
    for cluster in range(count):
        drawn = rng.permutation(taken[cluster_of == cluster])[:m]
        if deal == "assign":
            drawn = _assign(drawn, table, sums, rng)
        seats, sums = np.column_stack([seats, drawn]), sums + table[drawn]
    found = [row.tolist() for row in seats]
    idle = np.setdiff1d(np.arange(k), seats)
    if rest == "deal":
        at = rng.permutation(m)[: len(idle)]
        if deal == "assign":
            at = _least_sum(table[idle] @ sums.T)
        for client, group in zip(idle.tolist(), at, strict=True):
            found[group].append(client)
        idle = idle[:0]
    return Grouping(tuple(map(tuple, found)), left_out=tuple(idle.tolist()))


GROUPINGS.add("icg", icg, paper="Zeng et al., FedGSP, Algorithm 2")


def _assign(clients: Indices, table: Floats, sums: Floats, rng: np.random.Generator) -> Indices:
    """The clients in the order of the groups they fit best, one each: least sum of (group sum) . (client)."""
    dealt = clients.copy()
    for part in np.array_split(rng.permutation(len(clients)), -(-len(clients) // BLOCK)):
        dealt[part] = clients[part][_least_sum(sums[part] @ table[clients[part]].T)]
    return dealt


def _least_sum(cost: Floats) -> Indices:
    """A column for every row, no column twice, at the least sum of costs.

    >>> _least_sum(np.array([[1.0, 2.0], [1.0, 9.0]])).tolist()
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    columns: Indices = linear_sum_assignment(cost)[1]
    return columns


def equal_clusters(points: Floats, count: int, *, iterations: int, rng: np.random.Generator) -> Indices:
    """The cluster of every point: k-means with `count` clusters of the same size, which must divide evenly.

    >>> points = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> of = equal_clusters(points, 2, iterations=10, rng=np.random.default_rng(0))
    >>> bool(of[0] == of[1] != of[2] == of[3])
    True
    """
    size = len(points) // count
    centroids = points[rng.choice(len(points), count, replace=False)]
    for _ in range(iterations):
        # half the squared distance to each centroid, less what is the same for all of them
        cluster_of = _equal_assignment((centroids**2).sum(axis=1) / 2 - points @ centroids.T, size)
        moved = np.zeros_like(centroids)
        np.add.at(moved, cluster_of, points)
        moved /= size
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    return cluster_of


def _equal_assignment(cost: Floats, size: int) -> Indices:
    """The column of every row at least cost, every column `size` times: a minimum cost flow (Eq. 10 to 13)."""
    from ortools.graph.python import min_cost_flow  # its import takes a while, which other groupings need not wait for

    rows, columns = cost.shape
    cost = cost - cost.min(axis=1, keepdims=True)
    whole = np.rint(cost * (COST_RANGE / max(float(cost.max()), 1e-300))).astype(np.int64)
    flow = min_cost_flow.SimpleMinCostFlow()
    arcs = flow.add_arcs_with_capacity_and_unit_cost(
        np.repeat(np.arange(rows), columns),
        np.tile(np.arange(rows, rows + columns), rows),
        np.ones(rows * columns, dtype=np.int64),
        whole.ravel(),
    )
    supplies = np.concatenate([np.ones(rows, dtype=np.int64), np.full(columns, -size)])
    flow.set_nodes_supplies(np.arange(rows + columns), supplies)
    if flow.solve() != flow.OPTIMAL:
        raise RuntimeError(f"no equal assignment of {rows} rows to {columns} columns")
    chosen: Indices = flow.flows(arcs).reshape(rows, columns).argmax(axis=1)
    return chosen
