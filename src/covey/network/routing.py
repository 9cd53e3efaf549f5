"""Which links a transfer takes: a path with the fewest hops, ties spread over the equals or always the first.

Spread is what switches do with equal-cost multi-path (RFC 2992): the next hop is picked by a hash of the flow, so that
one flow keeps to one path and many flows use all of them. The hash takes (seed, source, target, flow), nothing else:
the same transfer takes the same path in every round and every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from covey.errors import BadValue
from covey.network.topology import Network, Node
from covey.seeds import key

Ties: TypeAlias = Literal["spread", "fixed"]
Path: TypeAlias = tuple[int, ...]


class Router:
    """Shortest paths through a network, as tuples of arc numbers.

    >>> from covey.network.topology import fat_tree
    >>> router = Router(fat_tree(4))
    >>> len(router.path("host-0-0-0", "host-3-0-0")), router.path("host-0-0-0", "host-0-0-0")
    (6, ())
    """

    def __init__(self, network: Network, *, ties: Ties = "spread", seed: int = 0) -> None:
        if ties not in ("spread", "fixed"):
            raise BadValue("ties", ties, "spread or fixed")
        self.network, self.ties, self.seed = network, ties, seed
        number = network.number
        self._ends = [(number[a], number[b]) for a, b in network.arcs]
        self._arc = {ends: arc for arc, ends in enumerate(self._ends)}
        self._leaving: list[list[int]] = [[] for _ in network.nodes]
        self._before: list[list[int]] = [[] for _ in network.nodes]  # the nodes from which a link leads here
        for arc, (tail, head) in enumerate(self._ends):
            self._leaving[tail].append(arc)
            self._before[head].append(tail)
        self._hops_to: dict[int, NDArray[np.int32]] = {}
        self._nearer: dict[tuple[int, int], list[int]] = {}
        self._paths: dict[tuple[int, int, int], Path] = {}

    def path(self, source: Node, target: Node, flow: int = 0) -> Path:
        """The arcs from source to target; `flow` tells apart transfers that may take different ways."""
        ends = self._number(source), self._number(target), flow
        if ends not in self._paths:
            self._paths[ends] = tuple(self._walk(*ends))
        return self._paths[ends]

    def latency(self, path: Path) -> float:
        """Seconds before the first byte is through."""
        return float(self.network.latency[list(path)].sum())

    def _walk(self, here: int, target: int, flow: int) -> Iterator[int]:
        source, gate = here, self._gate(target)
        while here != target:
            if here == gate:
                yield self._arc[gate, target]
                return
            nearer = self._arcs_towards(gate, here)
            spread = self.ties == "spread" and len(nearer) > 1
            pick = key(self.seed, source, target, flow, here) % len(nearer) if spread else 0
            yield nearer[pick]
            here = self._ends[nearer[pick]][1]

    def _gate(self, target: int) -> int:
        """The node all ways to the target lead through: the only one linked to it, or itself where there are more.

        The hosts of a switch so share one search for the shortest ways, however many there are.
        """
        before = self._before[target]
        return before[0] if len(before) == 1 else target

    def _arcs_towards(self, gate: int, here: int) -> list[int]:
        """The arcs from here with which a shortest way to the gate begins."""
        if (here, gate) not in self._nearer:
            if gate not in self._hops_to:
                self._hops_to[gate] = hops(self.network, [gate], towards=True)[0]
            left = self._hops_to[gate]
            self._nearer[here, gate] = [
                arc for arc in self._leaving[here] if left[self._ends[arc][1]] == left[here] - 1
            ]
        return self._nearer[here, gate]

    def _number(self, node: Node) -> int:
        if node not in self.network.number:
            raise BadValue("node", node, f"a node of {self.network.name}")
        return self.network.number[node]


def hops(network: Network, numbers: Sequence[int], *, towards: bool = False) -> NDArray[np.int32]:
    """Links on the shortest way from each of the numbered nodes to every node (or towards it from every node)."""
    graph = network.adjacency.T if towards else network.adjacency
    return dijkstra(graph, unweighted=True, indices=list(numbers)).astype(np.int32)


def hop_matrix(network: Network, nodes: Sequence[Node]) -> NDArray[np.int32]:
    """Hops between every two of the nodes: what FedAvg-IC's grouping takes as HopDistance (Eq. 10, 11).

    >>> from covey.network.topology import ring
    >>> hop_matrix(ring(4), ["host-0", "host-1", "host-2"]).tolist()
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """
    numbers = [network.number[node] for node in nodes]
    distinct, back = np.unique(numbers, return_inverse=True)
    return hops(network, distinct.tolist())[:, numbers][back]
