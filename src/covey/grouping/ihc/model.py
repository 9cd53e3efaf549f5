"""Problem (1) of IHC-FL as a small integer program whose connectivity rows are found when they are needed.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data". Instead
of the paper's virtual flows (1i-1m), which are clients^3 variables, connectivity is asked for by cuts as in Labbé et
al., "The Ring Star Problem": for clients i, k and a set S of clients

    links out of S  >=  2 (z_i(S) - z_k(S)),    z_i(S) = share of i's head that lies in S,

1 instead of 2 for an odd degree: if i's head is inside and k's is outside, links must cross (an even number of them
where the degree is even). Likewise x_ij + z_ij <= y_j holds for every pair and is added where it is broken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from covey.grouping.ihc.problem import Flags, Floats, Problem, Solution

BROKEN = 1e-4
"""By how much a row must be broken to be added."""

CAPACITY = 10**6
"""Maximum flows are computed in whole numbers: one link carries this many units."""


class Model:
    """Heads of one degree, `fewest` to `most` of them; variables are the z that may be (diagonal: y), then the x."""

    def __init__(self, problem: Problem, degree: int, fewest: int, most: int) -> None:
        n = problem.clients
        self.problem, self.degree, self.clients = problem, degree, n
        self.follower, self.head = np.nonzero(problem.may_follow | np.eye(n, dtype=bool))
        self.one, self.other = np.nonzero(np.triu(problem.may_link, 1))
        follows, links = len(self.follower), len(self.one)
        self.follows = follows
        self.z = np.full((n, n), -1)
        self.z[self.follower, self.head] = np.arange(follows)
        self.x = np.full((n, n), -1)
        self.x[self.one, self.other] = self.x[self.other, self.one] = follows + np.arange(links)
        self.y = self.z.diagonal()
        followed = np.where(self.follower == self.head, 0.0, problem.costs[self.follower, self.head])
        parity = degree % 2  # one more variable: half of the heads
        self.costs = np.concatenate([followed, problem.link_costs[self.one, self.other], np.zeros(parity)])
        self.lower, self.upper = np.zeros(len(self.costs)), np.ones(len(self.costs))
        self.upper[len(self.costs) - parity :] = n
        self._equal = Rows()
        for i in range(n):
            self._equal.add({int(k): 1.0 for k in self.z[i] if k >= 0}, 1.0)
            self._equal.add({int(k): 1.0 for k in self.x[i] if k >= 0} | {int(self.y[i]): -float(degree)}, 0.0)
        heads = {int(k): 1.0 for k in self.y}
        if parity:
            self._equal.add(heads | {len(self.costs) - 1: -2.0}, 0.0)
        self._at_most = Rows()
        self._at_most.add(heads, most)
        self._at_most.add(dict.fromkeys(heads, -1.0), -fewest)
        self.complete = most <= degree + 1  # each linked with each: connected in any case

    def relaxed(self, seconds: float) -> Any:
        """The program without integrality, with the rows it has so far."""
        above, right = self._at_most.matrix(len(self.costs))
        equal, left = self._equal.matrix(len(self.costs))
        bounds: Any = np.column_stack([self.lower, self.upper])
        return linprog(
            self.costs,
            A_ub=above,
            b_ub=right,
            A_eq=equal,
            b_eq=left,
            bounds=bounds,
            method="highs-ds",
            options={"time_limit": seconds},
        )

    def integral(self, seconds: float) -> Any:
        """The program with integrality, with the rows it has so far."""
        above, right = self._at_most.matrix(len(self.costs))
        equal, left = self._equal.matrix(len(self.costs))
        rows = [LinearConstraint(equal, left, left), LinearConstraint(above, -np.inf, right)]
        return milp(
            self.costs,
            integrality=np.ones(len(self.costs), dtype=np.int64),
            bounds=Bounds(self.lower, self.upper),
            constraints=rows,
            options={"time_limit": seconds, "mip_rel_gap": 0.0},
        )

    def fix(self, relaxed: Any, room: float) -> None:
        """Fix what must be 0 or 1 in every solution at most `room` above the relaxed one (reduced costs)."""
        self.upper[(relaxed.x < 1e-9) & (relaxed.lower.marginals > room)] = 0.0
        binary = np.arange(len(self.costs)) < self.follows + len(self.one)
        self.lower[binary & (relaxed.x > 1 - 1e-9) & (-relaxed.upper.marginals > room)] = 1.0

    def separate(self, values: Floats) -> int:
        """Add rows that these values break; how many."""
        return self._add_bounds(values) or (0 if self.complete else self._add_cuts(values))

    def solution(self, values: Floats) -> Solution:
        """The answer that integral values stand for."""
        head_of = np.empty(self.clients, dtype=np.int64)
        chosen = np.flatnonzero(values[: self.follows] > 0.5)
        head_of[self.follower[chosen]] = self.head[chosen]
        links = np.flatnonzero(values[self.follows : self.follows + len(self.one)] > 0.5)
        pairs = zip(self.one[links].tolist(), self.other[links].tolist(), strict=True)
        return Solution(tuple(head_of.tolist()), tuple(pairs))

    def _add_bounds(self, values: Floats) -> int:
        """x_ij + z_ij <= y_j."""
        table = np.append(values, 0.0)  # index -1: no such variable
        used = table[self.x] + np.where(np.eye(self.clients, dtype=bool), 0.0, table[self.z])
        broken = np.argwhere(used > values[self.y][None, :] + BROKEN)
        for i, j in broken:
            terms = {int(k): 1.0 for k in (self.x[i, j], self.z[i, j]) if k >= 0}
            self._at_most.add(terms | {int(self.y[j]): -1.0}, 0.0)
        return len(broken)

    def _add_cuts(self, values: Floats) -> int:
        """Connectivity: by components where the links fall apart, else by maximum flows."""
        amounts = np.maximum(values[self.follows : self.follows + len(self.one)], 0.0)
        used = amounts > 1e-6
        shape = (self.clients, self.clients)
        half = coo_array((amounts[used], (self.one[used], self.other[used])), shape=shape)
        links = csr_array(half + half.T)
        share = np.zeros(shape)  # of client's head at client
        share[self.follower, self.head] = np.maximum(values[: self.follows], 0.0)
        part_of = connected_components(links, directed=False)[1]
        parts = [part_of == part for part in np.unique(part_of[values[self.y] > 1e-6])]
        if len(parts) > 1:
            return sum(self._cut(part, *_extremes(share[:, part].sum(axis=1))) for part in parts)
        root = int(values[self.y].argmax())
        found = 0
        for i in np.argsort(-values[self.y], kind="stable").tolist():
            inside = None if i == root else self._too_little_flow(links, share[i], share[root])
            if inside is not None:
                found += self._cut(inside, i, root)
            if found >= self.clients // 3:
                break
        return found

    def _too_little_flow(self, links: csr_array, source: Floats, sink: Floats) -> Flags | None:
        """The clients on the source's side of the smallest cut, if less than everything crosses it."""
        n, strength = self.clients, self._strength
        at_source, at_sink = np.flatnonzero(source > 1e-9), np.flatnonzero(sink > 1e-9)
        pairs = links.tocoo()
        tails = np.concatenate([pairs.row, np.full(len(at_source), n), at_sink])
        tips = np.concatenate([pairs.col, at_source, np.full(len(at_sink), n + 1)])
        amounts = np.concatenate([pairs.data, strength * source[at_source], strength * sink[at_sink]])
        whole = np.rint(amounts * CAPACITY).astype(np.int32)
        capacity = csr_array((whole, (tails, tips)), shape=(n + 2, n + 2))
        result = maximum_flow(capacity, n, n + 1)
        if result.flow_value > (strength - 10 * BROKEN) * CAPACITY:
            return None
        left = csr_array(capacity - result.flow)
        left.data[left.data < 0] = 0
        left.eliminate_zeros()
        inside = np.zeros(n + 2, dtype=bool)
        inside[breadth_first_order(left, n, return_predecessors=False)] = True
        return inside[:n]

    def _cut(self, inside: Flags, i: int, k: int) -> int:
        crossing = np.flatnonzero(inside[self.one] != inside[self.other]) + self.follows
        terms = dict.fromkeys(crossing.tolist(), -1.0)
        for client, sign in ((i, self._strength), (k, -self._strength)):
            for variable in self.z[client, inside].tolist():
                if variable >= 0:
                    terms[variable] = terms.get(variable, 0.0) + sign
        self._at_most.add(terms, 0.0)
        return 1

    @property
    def _strength(self) -> float:
        return 1.0 if self.degree % 2 else 2.0


class Rows:
    """Rows of a sparse matrix, with a right-hand side each."""

    def __init__(self) -> None:
        self.row: list[int] = []
        self.column: list[int] = []
        self.value: list[float] = []
        self.right: list[float] = []

    def add(self, terms: dict[int, float], right: float) -> None:
        """One more row, given by its entries other than zero."""
        self.row += [len(self.right)] * len(terms)
        self.column += terms.keys()
        self.value += terms.values()
        self.right.append(right)

    def matrix(self, columns: int) -> tuple[Any, Floats]:
        """The matrix (Any: linprog takes sparse ones, its type stubs do not know) and its right-hand side."""
        shape = (len(self.right), columns)
        return csr_array((self.value, (self.row, self.column)), shape=shape), np.array(self.right)


def _extremes(shares: Floats) -> tuple[int, int]:
    return int(shares.argmax()), int(shares.argmin())
