"""IHC-FL's heads, members and links by simulated annealing: the fast way, for fleets of any size.

Problem (1) of Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID
Data"; the paper's own way is `paper`. A step picks a client and a pair it would like to be linked by, and tries
a change that makes this link: two links exchange ends, a head moves, joins the network, leaves it or hands over
its place. Dearer networks are accepted with falling probability. Every change keeps all degrees as they must be;
with an odd degree heads therefore join and leave in twos.
"""

from __future__ import annotations

import math
import random as pseudo

import numpy as np
from scipy.sparse.csgraph import connected_components

from covey.grouping.ihc.draft import Draft
from covey.grouping.ihc.limits import cover
from covey.grouping.ihc.problem import Floats, Pair, Problem, Solution

LIKED = 12
"""How many of its cheapest links a client likes, besides those to clients it has no head in common with."""

COOLING = 20.0
"""How many times colder the last step is than the first."""

STARTS = 3
"""How many times a fleet of up to 100 clients starts anew, in as many steps altogether."""

WARM = 4.0
"""How many times colder a search starts that goes on from an answer; it is twice as many times shorter."""


def search(
    problem: Problem, rng: np.random.Generator, *, start: Solution | None = None, steps: int | None = None
) -> Solution:
    """A network of low cost, feasible wherever the search finds one that is.

    `steps` defaults to 600 a client up to 20,000, then 100 a client; with a `start` to go on from, to an eighth of it.

    >>> costs = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> search(Problem(costs, costs, epsilon=1.0, gamma=9.0), np.random.default_rng(0)).heads
    [1, 4]
    """
    draft = Draft(problem)
    annealing = _Annealing(draft, _liked(problem, draft.table), pseudo.Random(int(rng.integers(2**63))))
    steps = steps or max(min(600 * problem.clients, 20_000), 100 * problem.clients)
    if start is not None:
        draft.reset(_links_of(start))
        annealing.run(int(steps / (2 * WARM)), annealing.temperature / WARM)
        return draft.solution()
    starts = STARTS if problem.clients <= 100 else 1
    found: list[tuple[float, Solution]] = []
    for _ in range(starts):
        heads = _first_heads(problem, rng)
        rings = [_circulant(_ring(some, draft.table, annealing.liked), problem) for some in heads]
        draft.reset(min(rings, key=draft.reset))
        annealing.run(steps // starts, annealing.temperature)
        found.append((draft.total(), draft.solution()))
    return min(found, key=lambda one: one[0])[1]


class _Annealing:
    """The changes that are tried, and when they are accepted."""

    def __init__(self, draft: Draft, liked: list[list[int]], random: pseudo.Random) -> None:
        self.draft, self.liked, self.random = draft, liked, random
        problem = draft.problem
        self.fixed = problem.heads is not None
        self.degree = problem.degree_of(problem.heads) if problem.heads is not None else problem.degree
        self.ring = self.degree == 2  # where some changes cannot disconnect

    @property
    def temperature(self) -> float:
        """What one change costs as a rule: the difference between a client's first and fifth cheapest link."""
        table = self.draft.table
        gaps = [table[i, around[:5][-1]] - table[i, around[0]] for i, around in enumerate(self.liked) if around]
        usual = float(np.median(gaps)) if gaps else 0.0
        return max((self.degree - 1) * usual, 1e-9 * float(table.max()), 1e-300)

    def run(self, steps: int, temperature: float) -> None:
        """Take that many steps, colder and colder; every third one where rules are still broken."""
        uniform, clients = self.random.random, self.draft.problem.clients
        may_link = self.draft.problem.may_link
        cooling = COOLING ** (-1 / steps)
        troubled: dict[int, list[int]] = {}
        for step in range(steps if clients > 1 else 0):
            temperature *= cooling
            if step % 500 == 0:
                troubled = {i: np.flatnonzero(may_link[i]).tolist() or self.liked[i] for i in self.draft.troubled()}
            if troubled and step % 3 == 0:
                i = self._any(list(troubled))
                j = self._any(troubled[i])
            else:
                i = int(uniform() * clients)
                around = self.liked[i]
                j = around[int(uniform() * uniform() * len(around))]
            self._step(i, j, -temperature * math.log(1 - uniform()))

    def _step(self, i: int, j: int, limit: float) -> None:
        head, links, uniform = self.draft.head, self.draft.links, self.random.random
        if head[i] and head[j]:
            if j in links[i]:
                self._leave(i, limit)
            elif self.degree % 2 == 0 and uniform() < 0.4:
                self._move(i, j, limit)
            else:
                self._exchange(i, j, limit)
        elif head[i] or head[j]:
            h, g = (i, j) if head[i] else (j, i)
            if self.fixed or uniform() < 0.5:
                cuts, ties = [(h, a) for a in links[h]], [(g, a) for a in links[h]]
                self.draft.attempt(cuts, ties, joins=(g,), leaves=(h,), limit=limit, check=False)
            else:
                self._join(g, h, limit)

    def _exchange(self, i: int, j: int, limit: float) -> None:
        """i-a and j-b become i-j and a-b."""
        cost, links = self.draft.link_cost, self.draft.links
        change, a, b = min([(cost[a][b] - cost[i][a] - cost[j][b], a, b) for a in links[i] for b in links[j]])
        if change + cost[i][j] < limit:
            self.draft.attempt([(i, a), (j, b)], [(i, j), (a, b)], limit=limit)

    def _move(self, i: int, j: int, limit: float) -> None:
        """Head i leaves its place and comes to stand next to j."""
        ends = self.draft.links[i]
        cuts, ties = self._splits(i, j, self.degree // 2)
        if len(cuts) == self.degree // 2 and not any(i in pair for pair in cuts):
            cuts += [(i, a) for a in ends]
            self.draft.attempt(cuts, ties + self._pairs(ends), limit=limit, check=not self.ring)

    def _join(self, g: int, h: int, limit: float) -> None:
        """Client g becomes a head next to h."""
        draft, odd = self.draft, self.degree % 2
        if draft.heads <= self.degree:
            ties = [(g, a) for a, is_head in enumerate(draft.head) if is_head]
            draft.attempt([], ties, joins=(g,), limit=limit, check=False)
            return
        cuts, ties = self._splits(g, h, self.degree // 2)
        joins: tuple[int, ...] = (g,)
        if odd:
            partner = self._any(self.liked[g])
            near = [h for h in self.liked[partner] if draft.head[h]]
            if draft.head[partner] or not near:
                return
            more_cuts, more_ties = self._splits(partner, self._any(near), self.degree // 2)
            cuts, ties, joins = cuts + more_cuts, [*ties, *more_ties, (g, partner)], (g, partner)
        if len(cuts) == len(joins) * (self.degree // 2):
            draft.attempt(cuts, ties, joins=joins, limit=limit, check=not self.ring)

    def _leave(self, h: int, limit: float) -> None:
        """Head h becomes a follower; its neighbours are linked instead."""
        draft, links = self.draft, self.draft.links
        if self.fixed:
            return
        cuts = [(h, a) for a in links[h]]
        if draft.heads <= self.degree + 1:
            draft.attempt(cuts, [], leaves=(h,), limit=limit, check=False)
        elif self.degree % 2 == 0:
            draft.attempt(cuts, self._pairs(links[h]), leaves=(h,), limit=limit, check=not self.ring)
        else:
            other = self._any(links[h])
            cuts += [(other, a) for a in links[other] if a != h]
            ties = self._pairs([a for a in links[h] if a != other])
            ties += self._pairs([a for a in links[other] if a != h])
            draft.attempt(cuts, ties, leaves=(h, other), limit=limit)

    def _splits(self, g: int, first: int, count: int) -> tuple[list[Pair], list[Pair]]:
        """Cuts of `count` links, one at `first` and the best at heads that g likes, and ties of their ends to g."""
        links, cost = self.draft.links, self.draft.link_cost
        mine = cost[g]
        cuts = [(first, min([(mine[a] - cost[first][a], a) for a in links[first]])[1])]
        if count > 1:
            others = [(mine[h] + mine[a] - cost[h][a], h, a) for h in self.liked[g] for a in links[h]]
            taken = {*cuts[0], g}
            for _, h, a in sorted(others):
                if len(cuts) < count and h not in taken and a not in taken:
                    cuts.append((h, a))
                    taken |= {h, a}
        return cuts, [(g, end) for pair in cuts for end in pair]

    def _pairs(self, ends: list[int]) -> list[Pair]:
        """The ends in pairs, cheap ones first."""
        if len(ends) == 2:
            return [(ends[0], ends[1])]
        cost, pairs, free = self.draft.link_cost, [], self.random.sample(ends, len(ends))
        while free:
            a = free.pop()
            b = min(free, key=lambda end: cost[a][end] + (1e300 if end in self.draft.links[a] else 0.0))
            free.remove(b)
            pairs.append((a, b))
        return pairs

    def _any(self, of: list[int]) -> int:
        return of[int(self.random.random() * len(of))]


def _liked(problem: Problem, table: Floats) -> list[list[int]]:
    """For every client its cheapest links, and its two cheapest to clients who cannot follow the same heads."""
    if problem.clients == 1:
        return [[]]
    part_of = connected_components(problem.may_follow, directed=False)[1]
    away = np.where(np.eye(problem.clients, dtype=bool), np.inf, table)
    abroad = np.where((part_of[:, None] != part_of) & problem.may_link, table, np.inf)
    liked: list[list[int]] = _smallest(away, LIKED)
    for i, far in enumerate(_smallest(abroad, 2)):
        liked[i] += [j for j in far if abroad[i, j] < np.inf and j not in liked[i]]
    return liked


def _smallest(table: Floats, count: int) -> list[list[int]]:
    """The columns of the smallest entries of every row, smallest first."""
    count = min(count, table.shape[1] - 1)
    columns = np.argpartition(table, count - 1, axis=1)[:, :count]
    order = np.take_along_axis(table, columns, axis=1).argsort(axis=1, kind="stable")
    found: list[list[int]] = np.take_along_axis(columns, order, axis=1).tolist()
    return found


def _first_heads(problem: Problem, rng: np.random.Generator) -> list[list[int]]:
    """Sets of heads to start from: as few as reach everybody, and (if their number is free) everybody."""
    n = problem.clients
    few = cover(problem.may_follow, rng.random(n))
    least = min(n, max(len(few), problem.degree + 1)) if problem.heads is None else problem.heads
    others = [i for i in rng.permutation(n).tolist() if i not in set(few)]
    few = few[:least] + others[: max(0, least - len(few))]
    sets = [few] if problem.heads is not None else [few, list(range(n))]
    return [_even(heads, problem, others) for heads in sets]


def _even(heads: list[int], problem: Problem, others: list[int]) -> list[int]:
    """With an odd degree one head more or less, so that all can have it."""
    if problem.heads is not None or len(heads) <= problem.degree or len(heads) * problem.degree % 2 == 0:
        return heads
    spare = [i for i in others if i not in set(heads)]
    return [*heads, spare[0]] if spare else heads[:-1]


def _ring(heads: list[int], table: Floats, liked: list[list[int]]) -> list[int]:
    """The heads in an order in which neighbours are cheap to link: scarce links first, then cheap ones."""
    inside = set(heads)
    path_of = {i: [i] for i in heads}
    scarce = {(i, j) for i in heads for j in liked[i][LIKED:]}
    pairs = [((i, j) not in scarce, float(table[i, j]), i, j) for i in heads for j in liked[i] if j in inside]
    for _, _, i, j in sorted(pairs):
        one, other = path_of[i], path_of[j]
        if one is not other and i in (one[0], one[-1]) and j in (other[0], other[-1]):
            joined = (one if one[-1] == i else one[::-1]) + (other if other[0] == j else other[::-1])
            for k in (i, j, joined[0], joined[-1]):
                path_of[k] = joined
    paths = [path for i, path in path_of.items() if i == path[0] and path_of[path[-1]] is path]
    ring = paths.pop(0)
    while paths:
        ends = np.array([(path[0], path[-1]) for path in paths])
        k, end = divmod(int(table[ring[-1]][ends].argmin()), 2)
        path = paths.pop(k)
        ring = ring + (path[::-1] if end else path)
    return ring


def _links_of(solution: Solution) -> dict[int, list[int]]:
    """The neighbours of every head."""
    links: dict[int, list[int]] = {h: [] for h in solution.heads}
    for i, j in solution.links:
        links[i].append(j)
        links[j].append(i)
    return links


def _circulant(ring: list[int], problem: Problem) -> dict[int, list[int]]:
    """Everyone linked with the next ones on both sides of the ring, and if the degree is odd, with its opposite."""
    degree, count = problem.degree_of(len(ring)), len(ring)
    links: dict[int, list[int]] = {h: [] for h in ring}
    pairs = [(k, (k + offset) % count) for offset in range(1, degree // 2 + 1) for k in range(count)]
    pairs += [(k, k + count // 2) for k in range(count // 2) if degree % 2]
    for i, j in pairs:
        links[ring[i]].append(ring[j])
        links[ring[j]].append(ring[i])
    return links
