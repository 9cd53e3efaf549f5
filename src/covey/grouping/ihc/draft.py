"""A draft of IHC-FL's network: who is head, who follows whom, which heads are linked, and what each change costs.

The state behind `search`. A link beyond gamma is not refused but fined, the more the farther it is, so that a
search is led from any network towards a feasible one; so is a client that may follow no head. Everything is plain
Python on short lists: a change touches some twenty numbers, which is too few for an array operation to pay.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

import numpy as np

from covey.grouping.ihc.problem import Floats, Integers, Pair, Problem, Solution

Step = tuple[Callable[[int], float], Callable[[int], None], Callable[[int], None], int]
"""What a client's change costs, how to make it, how to take it back, and who it is."""

FINE = 3.0
"""What a link or a follower out of bounds costs at least, in units of the largest cost of doing it within bounds."""


def fined_links(problem: Problem) -> Floats:
    """Link costs with a fine on every pair that may not be linked, growing with its distance."""
    unit = float(problem.link_costs.max()) or 1.0
    excess = np.maximum(problem.deltas - problem.gamma, 0) / max(float(problem.deltas.max()), 1e-300)
    fined: Floats = problem.link_costs + np.where(problem.may_link, 0.0, unit * (FINE + 4 * excess))
    return fined


class Draft:
    """`links[i]` are the heads linked with head i, `head_of[i]` whom i follows (-1: nobody), at a cost of `pays[i]`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.table = fined_links(problem)
        self.link_cost = [array("d", row.tobytes()) for row in self.table]
        self.cost = [array("d", row.tobytes()) for row in np.ascontiguousarray(problem.costs)]
        self.fined = FINE * (float(problem.link_costs.max()) or 1.0)  # more than any link costs that may be
        as_head = problem.degree * float(problem.link_costs.max())  # what it may cost to become a head instead
        self.alone = FINE * (max(float(problem.costs.max()), as_head) or 1.0)
        follower, head = np.nonzero(problem.may_follow)
        by_cost = np.lexsort((problem.costs[follower, head], follower))
        self.choices = _split(head[by_cost], problem.may_follow.sum(axis=1))
        self.reach = _split(np.nonzero(problem.may_follow.T)[1], problem.may_follow.sum(axis=0))
        cheapest = np.where(problem.may_follow, problem.costs, self.alone).min(axis=1)
        self.cheapest: list[float] = cheapest.tolist()

    def reset(self, links: dict[int, list[int]]) -> float:
        """Start anew from heads with those links; what that costs."""
        n = self.problem.clients
        self.head = [i in links for i in range(n)]
        self.links = [list(links.get(i, ())) for i in range(n)]
        self.heads = len(links)
        self.head_of, self.pays = list(range(n)), [0.0] * n
        self.followers: list[set[int]] = [set() for _ in range(n)]
        for i in range(n):
            if not self.head[i]:
                self._choose(i)
        return self.total()

    def total(self) -> float:
        """What the network costs, fines included."""
        linked = sum(self.link_cost[i][j] for i, around in enumerate(self.links) for j in around) / 2
        return float(sum(self.pays) + linked)

    def solution(self) -> Solution:
        """The network as it is; who may follow no head follows the one most like it."""
        heads = np.flatnonzero(self.head)
        deltas = self.problem.deltas
        head_of = [h if h >= 0 else int(heads[deltas[i, heads].argmin()]) for i, h in enumerate(self.head_of)]
        links = sorted((i, j) for i, around in enumerate(self.links) for j in around if i < j)
        return Solution(tuple(head_of), tuple(links))

    def troubled(self) -> list[int]:
        """Heads with a link they may not have, and clients who may follow no head."""
        cost, fined = self.link_cost, self.fined
        far = [i for i, around in enumerate(self.links) for j in around if cost[i][j] >= fined]
        return far + [i for i, h in enumerate(self.head_of) if h < 0]

    def attempt(
        self,
        cuts: list[Pair],
        ties: list[Pair],
        *,
        joins: tuple[int, ...] = (),
        leaves: tuple[int, ...] = (),
        limit: float,
        check: bool = True,
    ) -> bool:
        """Cut and tie links and change heads, if that costs less than `limit` and leaves a connected network."""
        change = 0.0
        for i, j in ties:
            change += self.link_cost[i][j]
        for i, j in cuts:
            change -= self.link_cost[i][j]
        if len(joins) < 2:  # the least it can cost
            least = change
            for h in leaves:
                least += self.cheapest[h]
            for g in joins:
                least += self._price_of_joining(g)
            if least >= limit:
                return False
        steps: list[Step] = [(self._price_of_joining, self._join, self._leave, g) for g in joins]
        steps += [(self._price_of_leaving, self._leave, self._join, h) for h in leaves]
        undo = []
        for k, (price, do, revert, client) in enumerate(steps, start=1):
            change += price(client)
            if change >= limit and k >= len(joins):  # from here on it only gets dearer
                break
            do(client)
            undo.append((revert, client))
        if change < limit and len({frozenset(pair) for pair in cuts}) == len(cuts):
            self._relink(cuts, ties)
            if all(len(set(self.links[i])) == len(self.links[i]) for i, _ in ties) and (not check or self._connected()):
                return True
            self._relink(ties, cuts)
        for revert, client in reversed(undo):
            revert(client)
        return False

    def _choose(self, i: int) -> None:
        for h in self.choices[i]:
            if self.head[h]:
                self._follow(i, h, self.cost[i][h])
                return
        self.head_of[i], self.pays[i] = -1, self.alone

    def _follow(self, i: int, h: int, price: float) -> None:
        self.head_of[i], self.pays[i] = h, price
        self.followers[h].add(i)

    def _unfollow(self, i: int) -> None:
        if self.head_of[i] >= 0:
            self.followers[self.head_of[i]].discard(i)

    def _price_of_joining(self, g: int) -> float:
        """What followers pay more if g becomes a head: never more than 0."""
        pays, cost = self.pays, self.cost
        change = -pays[g]
        for i in self.reach[g]:
            offer = cost[i][g]
            if offer < pays[i]:
                change += offer - pays[i]
        return change

    def _price_of_leaving(self, h: int) -> float:
        """What followers pay more if h is no longer a head: never less than 0."""
        change = 0.0
        for i in (h, *self.followers[h]):
            for other in self.choices[i]:
                if self.head[other] and other != h:
                    change += self.cost[i][other] - self.pays[i]
                    break
            else:
                change += self.alone - self.pays[i]
        return change

    def _join(self, g: int) -> None:
        self._unfollow(g)
        self.head[g], self.head_of[g], self.pays[g] = True, g, 0.0
        self.heads += 1
        for i in self.reach[g]:
            offer = self.cost[i][g]
            if offer < self.pays[i]:
                self._unfollow(i)
                self._follow(i, g, offer)

    def _leave(self, h: int) -> None:
        self.head[h] = False
        self.heads -= 1
        orphans, self.followers[h] = self.followers[h], set()
        for i in (h, *orphans):
            self._choose(i)

    def _relink(self, cuts: list[Pair], ties: list[Pair]) -> None:
        for i, j in cuts:
            self.links[i].remove(j)
            self.links[j].remove(i)
        for i, j in ties:
            self.links[i].append(j)
            self.links[j].append(i)

    def _connected(self) -> bool:
        start, links = self.head.index(True), self.links
        if len(links[start]) == 2:  # a ring: go round
            before, here, count = start, links[start][0], 1
            while here != start:
                one, other = links[here]
                before, here = here, other if one == before else one
                count += 1
            return count == self.heads
        seen = {start}
        stack = [start]
        while stack:
            for j in links[stack.pop()]:
                if j not in seen:
                    seen.add(j)
                    stack.append(j)
        return len(seen) == self.heads


def _split(values: Integers, counts: Integers) -> list[list[int]]:
    return [part.tolist() for part in np.split(values, np.cumsum(counts)[:-1])]
