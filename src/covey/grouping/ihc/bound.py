"""What no network of IHC-FL can cost less than, for fleets too large to solve: a Lagrangian bound.

Problem (1) of Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID
Data", with three kinds of rows priced instead of obeyed: everybody has one head (u), every head has enough links (v),
and enough links leave every part of the fleet that must have heads of its own (w). What is left falls apart into one
decision a client and one a link:

    sum u + 2 sum w + sum_j min(0, D v_j - u_j - sum_n (u_n - p_nj)+)
                    + sum_ij min(0, p_ij - v_i - v_j - w_S(i) - w_S(j))

is a bound for any prices; subgradient steps raise it.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from covey.grouping.ihc.exact import sizes
from covey.grouping.ihc.problem import Flags, Floats, Problem

PATIENCE = 6
"""After this many steps without progress the steps get shorter."""


def lower_bound(problem: Problem, value: float, *, steps: int = 200) -> float:
    """A bound on the cost of every network, at most `value`, the cost of one.

    >>> costs = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> lower_bound(Problem(costs, costs, epsilon=1.0, gamma=9.0), 10.0) <= 10.0
    True
    """
    reach = np.sort(problem.may_follow.sum(axis=0) + 1)[::-1].cumsum()
    cases = [case for case in sizes(problem) if reach[case[2] - 1] >= problem.clients]
    return min([value, *(_Prices(problem, *case).best(value, steps) for case in cases)])


class _Prices:
    """The relaxation for heads of one degree, `fewest` to `most` of them."""

    def __init__(self, problem: Problem, degree: int, fewest: int, most: int) -> None:
        self.degree, self.fewest, self.most = degree, fewest, most
        self.clients = n = problem.clients
        self.follower, self.head = np.nonzero(problem.may_follow)
        self.follow_cost = problem.costs[self.follower, self.head]
        self.one, self.other = np.nonzero(np.triu(problem.may_link, 1))
        self.link_cost = problem.link_costs[self.one, self.other]
        self.parts, self.part_of = connected_components(problem.may_follow, directed=False)
        self.crosses = self.part_of[self.one] != self.part_of[self.other]
        self.needed = 0.0 if self.parts == 1 else 1.0 if degree % 2 else 2.0  # links out of every part
        cheapest_link = np.where(problem.may_link, problem.link_costs, np.inf).min(axis=1, initial=np.inf)
        cheapest_head = np.where(problem.may_follow, problem.costs, np.inf).min(axis=1, initial=np.inf)
        self.v = np.where(np.isfinite(cheapest_link), cheapest_link / 2, 0.0) if degree else np.zeros(n)
        self.u = np.minimum(cheapest_head, degree * self.v)
        self.w = np.zeros(self.parts)

    def best(self, value: float, steps: int) -> float:
        """The best bound that many steps find; infinite where there is no such network."""
        if self.degree == 0 and self.parts > 1:
            return np.inf
        prices = best_prices = (self.u, self.v, self.w)
        best, length, since = -np.inf, 1.0, 0
        for _ in range(steps):
            bound, slopes = self._bound(*prices)
            if bound > best:
                best, best_prices, since = bound, prices, 0
            else:
                since += 1
            steep = sum(float(slope @ slope) for slope in slopes)
            if steep == 0 or best >= value:
                break
            if since > PATIENCE:
                length, since, prices = length / 2, 0, best_prices
                continue
            move = length * (value - bound) / steep
            u, v, w = (price + move * slope for price, slope in zip(prices, slopes, strict=True))
            prices = (u, np.maximum(v, 0.0), np.maximum(w, 0.0))
        return best

    def _bound(self, u: Floats, v: Floats, w: Floats) -> tuple[float, tuple[Floats, Floats, Floats]]:
        """The bound at these prices, and how it changes with each of them."""
        n = self.clients
        offers = u[self.follower] - self.follow_cost
        opening = self.degree * v - u - np.bincount(self.head, np.maximum(offers, 0), minlength=n)
        heads = self._chosen(opening)
        links = self.link_cost - v[self.one] - v[self.other]
        links = links - self.crosses * (w[self.part_of[self.one]] + w[self.part_of[self.other]])
        tied = links < 0
        bound = u.sum() + self.needed * w.sum() + opening[heads].sum() + links[tied].sum()
        followed = np.bincount(self.follower, (offers > 0) & heads[self.head], minlength=n)
        ends = np.concatenate([self.one[tied], self.other[tied]])
        crossing = np.concatenate([self.one[tied & self.crosses], self.other[tied & self.crosses]])
        out = np.bincount(self.part_of[crossing], minlength=self.parts)
        linked = np.bincount(ends, minlength=n)
        slopes = (1 - heads - followed, self.degree * heads - linked, self.needed - out)
        u_slope, v_slope, w_slope = (np.asarray(slope, dtype=np.float64) for slope in slopes)
        return float(bound), (u_slope, v_slope, w_slope)

    def _chosen(self, opening: Floats) -> Flags:
        """Everybody whom it pays to make a head, but at least `fewest` and at most `most`."""
        order = np.argsort(opening, kind="stable")
        count = int(np.clip((opening < 0).sum(), self.fewest, self.most))
        chosen = np.zeros(self.clients, dtype=bool)
        chosen[order[:count]] = True
        return chosen
