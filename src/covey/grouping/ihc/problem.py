"""Problem (1) of IHC-FL as data: what is given, what an answer is, what it costs and which rules it breaks.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data",
section II-D. Clients become heads or follow a head that is like them; the heads form a connected network in which
all have the same degree; the costs of all followed and linked pairs are summed.

Departures from the letter:
- a head follows itself and is not linked with itself (the paper leaves x_ii and z_aa free);
- a link costs p in both directions, as (1a) is printed: two linked heads send to one another; `once=True` counts it
  once, as in the paper's Fig. 1, which makes heads nearly free;
- (1e) bounds the heads' own distance: the distance of their clusters is only known once there are clusters;
- up to `degree` heads are linked each with each; an odd degree with an odd number of heads is raised by one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from covey.grouping.updates import cosines

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Pair = tuple[int, int]

ROUNDING = 1e-9
"""How far a distance may lie above its limit and still count as equal to it."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Who may follow whom (delta <= epsilon), who may be linked with whom (delta <= gamma), at which cost.

    `costs[i, j]` (the paper's p) is the price of sending a model from i to j, `deltas` are the distances of the
    clients' models. `heads` fixes how many heads there are; `forbidden` are pairs that must not be linked.
    """

    costs: Floats
    deltas: Floats
    epsilon: float
    gamma: float
    degree: int = 2
    heads: int | None = None
    once: bool = False
    forbidden: frozenset[Pair] = frozenset()

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.costs)

    @cached_property
    def may_follow(self) -> Flags:
        """Constraint (1d): [n, a] says whether n may follow a head a other than itself."""
        allowed: Flags = self.deltas <= self.epsilon + ROUNDING
        np.fill_diagonal(allowed, False)
        return allowed

    @cached_property
    def may_link(self) -> Flags:
        """Constraint (1e): which pairs may be linked if both are heads."""
        allowed: Flags = self.deltas <= self.gamma + ROUNDING
        np.fill_diagonal(allowed, False)
        for i, j in self.forbidden:
            allowed[i, j] = allowed[j, i] = False
        return allowed

    @cached_property
    def link_costs(self) -> Floats:
        """What a link costs: both directions together, or their mean where it is counted `once`."""
        both: Floats = self.costs + self.costs.T
        return both / 2 if self.once else both

    def degree_of(self, heads: int) -> int:
        """The degree of every head when there are that many.

        >>> problem = Problem(np.zeros((9, 9)), np.zeros((9, 9)), 1.0, 1.0, degree=3)
        >>> [problem.degree_of(heads) for heads in (1, 2, 3, 4, 5, 6, 7)]
        [0, 1, 2, 3, 4, 3, 4]
        """
        if heads <= self.degree:
            return heads - 1
        return self.degree + (heads * self.degree) % 2


@dataclass(frozen=True)
class Solution:
    """An answer: `head_of[n]` is the head that n follows (a head follows itself), `links` are pairs of heads."""

    head_of: tuple[int, ...]
    links: tuple[Pair, ...]

    @property
    def heads(self) -> list[int]:
        """The heads in ascending order."""
        return sorted(set(self.head_of))


def cost(problem: Problem, solution: Solution) -> float:
    """Objective (1a): what all followers pay to reach their heads plus what all links cost."""
    heads = np.array(solution.head_of)
    clients = np.arange(len(heads))
    follow = np.where(heads == clients, 0.0, problem.costs[clients, heads])
    i, j = np.array(solution.links, dtype=np.int64).reshape(-1, 2).T
    return float(follow.sum() + problem.link_costs[i, j].sum())


def faults(problem: Problem, solution: Solution) -> list[str]:
    """The rules of problem (1) that the answer breaks, one sentence each; nothing for a feasible one."""
    heads = solution.heads
    found = [f"head {h} follows {solution.head_of[h]}" for h in heads if solution.head_of[h] != h]
    for n, a in enumerate(solution.head_of):
        if n != a and not problem.may_follow[n, a]:
            found.append(f"{n} follows {a}, which is too far (1d)")
    if problem.heads not in (None, len(heads)):
        found.append(f"{len(heads)} heads instead of {problem.heads}")
    for i, j in solution.links:
        if i not in heads or j not in heads:
            found.append(f"link {i}-{j} is not between heads (1g)")
        if not problem.may_link[i, j]:
            found.append(f"link {i}-{j} is too far (1e)")
    if len({frozenset(link) for link in solution.links}) < len(solution.links):
        found.append("a link is listed twice")
    degrees = Counter(end for link in solution.links for end in link)
    wanted = problem.degree_of(len(heads))
    found += [f"head {h} has {degrees[h]} links instead of {wanted} (1h)" for h in heads if degrees[h] != wanted]
    if components(problem.clients, heads, solution.links) > 1:
        found.append("the heads are not connected (1i-1m)")
    return found


def components(clients: int, heads: list[int], links: tuple[Pair, ...]) -> int:
    """Into how many parts the network of the heads falls."""
    i, j = np.array(links, dtype=np.int64).reshape(-1, 2).T
    network = coo_matrix((np.ones(len(i)), (i, j)), shape=(clients, clients))
    part_of = connected_components(network, directed=False)[1]
    return len(np.unique(part_of[heads]))


def cosine_distances(vectors: Floats) -> Floats:
    """delta_ij = 1 - cos of rows i and j; a row of zeros is at distance 1 from all others.

    >>> cosine_distances(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    distances: Floats = 1 - cosines(vectors)
    np.fill_diagonal(distances, 0.0)
    return (distances + distances.T) / 2


def cluster_deltas(head_of: tuple[int, ...], vectors: Floats, weights: Floats) -> Floats:
    """Delta: distances between the weighted mean vectors of the clusters, in the order of their heads.

    Sum and mean point the same way, so sums will do; a cluster without samples counts its members alike.

    >>> cluster_deltas((0, 0, 2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([5.0, 5.0, 1.0])).round(9)
    array([[0., 0.],
           [0., 0.]])
    """
    heads, cluster = np.unique(head_of, return_inverse=True)
    empty = np.bincount(cluster, weights)[cluster] == 0
    shares = np.where(empty, 1.0, weights)
    sums = np.zeros((len(heads), vectors.shape[1]))
    np.add.at(sums, cluster, shares[:, None] * vectors)
    return cosine_distances(sums)
