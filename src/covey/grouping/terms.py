"""The terms that insertion adds up: how far groups are from all, how far nodes are from their group, hops.

FedAvg-IC's Delta (Eq. 8) and hop distances (Eq. 10, 11); TornadoAggregate's EMD of groups and of nodes (Algorithm 3).
"""

from __future__ import annotations

import numpy as np

from covey.grouping.hops import EdgeHops
from covey.grouping.insertion import Floats, Integers, best_of_groups, group_sums


class FromAll:
    """How far the groups are from all: sum_k (|D^k| / |D|) ||mean of group k - mean of all||.

    With x_i = |D_i| (v_i - mean of all) that is sum_k ||sum of the x_i in group k|| / |D|. `order` 2 with gradients v
    gives FedAvg-IC's Delta, 1 with label shares v gives TornadoAggregate's EMD. `as_medoid` is what every node costs
    as a medoid. With `alone` a node looks at the group it would join and not at what the group was before (Eq. 10).
    """

    def __init__(self, vectors: Floats, weights: Floats, *, order: int, as_medoid: Floats, alone: bool = False) -> None:
        self._total = weights.sum()
        self._weights, self._order, self._alone, self._as_medoid = weights, order, alone, as_medoid
        self._rows = weights[:, None] * (vectors - weights @ vectors / self._total)

    def open(self, medoids: Integers) -> None:
        """Groups of one."""
        self._sums, self._held = self._rows[medoids], self._weights[medoids]
        self._lengths = self._length(self._sums)

    def increase(self, node: int) -> Floats:
        """By how much the weighted distances grow."""
        row = self._rows[node]
        if self._order == 1:
            after = self._length(self._sums + row)
        else:  # |s + x|^2 = |s|^2 + 2 s.x + |x|^2, one product for all groups
            after = np.sqrt(np.maximum(self._lengths**2 + 2 * (self._sums @ row) + row @ row, 0))
        if self._alone:
            held = self._held + self._weights[node]
            grown: Floats = after / np.where(held > 0, held, 1.0)
        else:
            grown = (after - self._lengths) / self._total
        return grown

    def add(self, node: int, group: int) -> None:
        """One sum changes."""
        self._change(group, self._rows[node], self._weights[node])

    def remove(self, node: int, group: int) -> None:
        """One sum changes."""
        self._change(group, -self._rows[node], -self._weights[node])

    def measure(self, group_of: Integers) -> tuple[float, Floats]:
        """The weighted mean over groups; as medoids nodes do not depend on their group."""
        return float(self._length(group_sums(self._rows, group_of)).sum() / self._total), self._as_medoid

    def _change(self, group: int, row: Floats, weight: float) -> None:
        self._sums[group] += row
        self._held[group] += weight
        self._lengths[group] = self._length(self._sums[group])

    def _length(self, rows: Floats) -> Floats:
        lengths: Floats = np.abs(rows).sum(axis=-1) if self._order == 1 else np.sqrt((rows * rows).sum(axis=-1))
        return lengths


class FromGroup:
    """How far nodes are from their group: sum_k (|D^k| / |D|) x the weighted mean of EMD(D_i, D^k) over its nodes."""

    def __init__(self, shares: Floats, weights: Floats) -> None:
        self._shares, self._weights, self._total = shares, weights, weights.sum()
        self._counts = weights[:, None] * shares

    def open(self, medoids: Integers) -> None:
        """Groups of one, each at no distance from itself."""
        self._members, self._of = medoids.copy(), np.arange(len(medoids))
        self._sums, self._held = self._counts[medoids], self._weights[medoids]
        self._costs = np.zeros(len(medoids))

    def increase(self, node: int) -> Floats:
        """With a new node the group's own shares move, so that all of its nodes are measured again."""
        mixes = self._mixes(self._sums + self._counts[node], self._held + self._weights[node])
        inside = self._weights[self._members] * _emd(self._shares[self._members], mixes[self._of])
        after = np.bincount(self._of, inside) + self._weights[node] * _emd(self._shares[node], mixes)
        grown: Floats = (after - self._costs) / self._total
        return grown

    def add(self, node: int, group: int) -> None:
        """The group's nodes are measured again."""
        self._members, self._of = np.append(self._members, node), np.append(self._of, group)
        self._change(group, self._counts[node], self._weights[node])

    def remove(self, node: int, group: int) -> None:
        """The nodes that stay are measured again."""
        stay = self._members != node
        self._members, self._of = self._members[stay], self._of[stay]
        self._change(group, -self._counts[node], -self._weights[node])

    def measure(self, group_of: Integers) -> tuple[float, Floats]:
        """The weighted mean over nodes; a node costs its own distance as a medoid."""
        held = group_sums(self._weights[:, None], group_of)[:, 0]
        distances = _emd(self._shares, self._mixes(group_sums(self._counts, group_of), held)[group_of])
        return float(self._weights @ distances / self._total), distances

    def _change(self, group: int, counts: Floats, weight: float) -> None:
        self._sums[group] += counts
        self._held[group] += weight
        inside = self._members[self._of == group]
        mix = self._mixes(self._sums[[group]], self._held[[group]])
        self._costs[group] = self._weights[inside] @ _emd(self._shares[inside], mix)

    @staticmethod
    def _mixes(sums: Floats, held: Floats) -> Floats:
        mixes: Floats = sums / np.where(held > 0, held, 1.0)[:, None]
        return mixes


class Hops:
    """Distances of all nodes to the server of their group, which is the member nearest to all (its 1-median).

    `distances[i, j]` is that of node i from node j. With `alone` a node looks at its own distance to the medoid
    (Eq. 10), times the number of nodes, to be on the scale of the whole.
    """

    def __init__(self, distances: Floats, *, alone: bool = False) -> None:
        self._distances, self._alone = distances, alone

    def open(self, medoids: Integers) -> None:
        """Groups of one, at no distance."""
        n = len(self._distances)
        self._medoids = medoids
        self._of = np.zeros(n, dtype=np.int64)
        self._of[medoids] = np.arange(len(medoids))
        self._to = self._distances[medoids]  # groups x nodes: what a server at that node would cost the group
        self._as_server = np.full(n, np.inf)  # the same for members only
        self._as_server[medoids] = self._to[np.arange(len(medoids)), medoids]
        self._costs = self._as_server[medoids]

    def increase(self, node: int) -> Floats:
        """With the node inside, the server is an old member or the node itself."""
        own = self._distances[node]
        if self._alone:
            grown: Floats = own[self._medoids] * len(own)
        else:
            after = self._to[:, node] + own[node]
            np.minimum.at(after, self._of, self._as_server + own)
            grown = after - self._costs
        return grown

    def add(self, node: int, group: int) -> None:
        """The row of one group changes, and with it all of its members."""
        self._of[node] = group
        self._as_server[node] = 0.0
        self._to[group] += self._distances[node]
        self._refresh(group)

    def remove(self, node: int, group: int) -> None:
        """As when one is added."""
        self._as_server[node] = np.inf
        self._to[group] -= self._distances[node]
        self._refresh(group)

    def measure(self, group_of: Integers) -> tuple[float, Floats]:
        """The sum over groups; a node costs the distances of its whole group as a medoid."""
        to = group_sums(self._distances, group_of)
        as_server = to[group_of, np.arange(len(group_of))]
        return float(as_server[best_of_groups(as_server, group_of, len(to))].sum()), as_server

    def _refresh(self, group: int) -> None:
        members = np.flatnonzero((self._of == group) & np.isfinite(self._as_server))
        self._as_server[members] = self._to[group, members]
        self._costs[group] = self._as_server[members].min()


class HopsByEdge:
    """`Hops` where clients of one edge are `near` and all others `far`: the server sits at the group's commonest edge.

    With g nodes, c of them at that edge, a group costs near (c - 1) + far (g - c), so no table of all pairs is needed.
    """

    def __init__(self, hops: EdgeHops, *, alone: bool = False) -> None:
        self._near, self._far, self._alone = hops.near, hops.far, alone
        self._edges, self._edge_of = np.unique(hops.edge_of, return_inverse=True)

    def open(self, medoids: Integers) -> None:
        """Groups of one, at no distance."""
        self._medoids = medoids
        self._counts = np.zeros((len(self._edges), len(medoids)), dtype=np.int32)
        self._counts[self._edge_of[medoids], np.arange(len(medoids))] = 1
        self._commonest = np.ones(len(medoids), dtype=np.int64)

    def increase(self, node: int) -> Floats:
        """A node at the commonest edge, or one that makes its edge the commonest, is near; any other is far."""
        edge = self._edge_of[node]
        if self._alone:
            to_medoid = np.where(self._edge_of[self._medoids] == edge, self._near, self._far)
            return np.where(self._medoids == node, 0.0, to_medoid) * len(self._edge_of)
        return np.where(self._counts[edge] == self._commonest, self._near, self._far)

    def add(self, node: int, group: int) -> None:
        """One more at that edge."""
        edge = self._edge_of[node]
        self._counts[edge, group] += 1
        self._commonest[group] = max(self._commonest[group], self._counts[edge, group])

    def remove(self, node: int, group: int) -> None:
        """One less at that edge."""
        self._counts[self._edge_of[node], group] -= 1
        self._commonest[group] = self._counts[:, group].max()

    def measure(self, group_of: Integers) -> tuple[float, Floats]:
        """The sum over groups; a node costs the distances of its whole group as a medoid."""
        edges = len(self._edges)
        at = group_of * edges + self._edge_of
        beside = np.bincount(at, minlength=(group_of.max() + 1) * edges)
        sizes = np.bincount(group_of)
        as_server = self._near * (beside[at] - 1) + self._far * (sizes[group_of] - beside[at])
        return float(as_server[best_of_groups(as_server, group_of, len(sizes))].sum()), as_server


def hops_term(distances: EdgeHops | Floats, *, alone: bool = False) -> Hops | HopsByEdge:
    """The term for distances in a table, or by edge."""
    if isinstance(distances, EdgeHops):
        return HopsByEdge(distances, alone=alone)
    return Hops(np.asarray(distances, dtype=np.float64), alone=alone)


def _emd(shares: Floats, others: Floats) -> Floats:
    distances: Floats = np.abs(shares - others).sum(axis=-1)
    return distances
