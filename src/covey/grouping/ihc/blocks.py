"""IHC-FL's heads, members and links for fleets too large for tables of all pairs.

Clients are cut into blocks of like clients, halving them along the direction in which they differ most. Every block
is solved alone by search, with the thresholds of the whole fleet; then the blocks' networks are joined one after the
other: a link a-b of the one and a link c-d of the other become a-c and b-d, which leaves every head its degree and
connects both. Of all such exchanges the cheapest is taken. Time grows with clients, but for the thresholds, which need
all distances once; memory is that of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from covey.errors import BadValue
from covey.grouping.hops import EdgeHops
from covey.grouping.ihc.answer import Topology, Wishes
from covey.grouping.ihc.problem import ROUNDING, Floats, Integers, Pair, Solution, components
from covey.grouping.ihc.solve import answer_to, grouping_of, pose
from covey.grouping.per_edge import share_out
from covey.grouping.updates import unit_rows

LARGE = 2_000
"""Fleets with more clients are solved in blocks."""

BLOCK = 1_000
"""The most clients of a block."""

AT_ONCE = 10_000_000
"""How many distances are looked at together."""

FINE = 100.0
"""What joining by a link beyond gamma costs, in units of the largest cost; more with its distance."""


def solve_in_blocks(
    vectors: Floats, weights: Floats, distances: Floats | EdgeHops | None, wishes: Wishes, rng: np.random.Generator
) -> Topology:
    """The topology, block by block; its bound is a rough one, since followers and links may cross blocks."""
    fleet = _Fleet(unit_rows(vectors), distances, wishes.once)
    epsilon = fleet.paper_epsilon() if wishes.epsilon is None else wishes.epsilon
    asked = 1.8 * epsilon if wishes.gamma is None else wishes.gamma
    blocks = _alike(fleet.unit, rng)
    head_of = np.arange(len(vectors))
    networks: list[Integers] = []
    gamma = asked
    for block, heads in zip(blocks, _shares(blocks, wishes), strict=True):
        own = replace(wishes, groups=heads, epsilon=epsilon, gamma=asked)
        problem, delta = pose(vectors[block], weights[block], fleet.taken(block), own)
        answered, answer, _ = answer_to(problem, own, delta, rng)
        if (count := _joinable(len(answer.heads), wishes.degree)) != len(answer.heads):
            answered, answer, _ = answer_to(replace(problem, heads=count), own, delta, rng)
        epsilon, gamma = max(epsilon, answered.epsilon), max(gamma, answered.gamma)
        head_of[block] = block[list(answer.head_of)]
        networks.append(block[np.array(answer.links)])
    links = _joined(networks, fleet, gamma)
    gamma = max(gamma, float(fleet.deltas(*links.T).max()))
    pairs: list[Pair] = [(min(i, j), max(i, j)) for i, j in links.tolist()]
    answer = Solution(tuple(head_of.tolist()), tuple(sorted(pairs)))
    follows = np.flatnonzero(head_of != np.arange(len(head_of)))
    value = float(fleet.costs(follows, head_of[follows]).sum() + fleet.link_costs(*links.T).sum())
    far = fleet.deltas(*links.T)
    if wishes.between == "clusters":
        far = _cluster_deltas(links, head_of, vectors, weights)
    return Topology(
        grouping=grouping_of(answer),
        objective=value,
        bound=min(value, fleet.bound(epsilon, gamma, wishes.degree)),
        epsilon=epsilon,
        gamma=gamma,
        asked_gamma=asked,
        far_links=int((far > gamma + ROUNDING).sum()),
        method=wishes.method,
    )


@dataclass(frozen=True, eq=False)
class _Fleet:
    """Distances and costs of pairs, computed when they are asked for; `unit` are the updates at length 1."""

    unit: Floats
    distances: Floats | EdgeHops | None
    once: bool

    def taken(self, at: Integers) -> Floats | EdgeHops | None:
        """What is given of the costs, for some clients."""
        if isinstance(self.distances, EdgeHops):
            return self.distances.taken(at)
        return None if self.distances is None else np.asarray(self.distances)[np.ix_(at, at)]

    def deltas(self, i: Integers, j: Integers) -> Floats:
        """Of pairs that broadcast against each other."""
        delta: Floats = 1 - np.clip((self.unit[i] * self.unit[j]).sum(axis=-1), -1, 1)
        return delta

    def table(self, i: Integers, j: Integers) -> Floats:
        """Distances of each of `i` from each of `j`."""
        delta: Floats = 1 - np.clip(self.unit[i] @ self.unit[j].T, -1, 1)
        return delta

    def costs(self, i: Integers, j: Integers, deltas: Floats | None = None) -> Floats:
        """What it costs to send a model from i to j, of pairs that broadcast against each other."""
        if self.distances is None:
            return 1 + (self.deltas(i, j) if deltas is None else deltas)
        if isinstance(self.distances, EdgeHops):
            hops, edge = self.distances, self.distances.edge_of
            return np.where(edge[i] == edge[j], hops.near, hops.far)
        return np.asarray(self.distances, dtype=np.float64)[i, j]

    def link_costs(self, i: Integers, j: Integers, deltas: Floats | None = None) -> Floats:
        """What a link costs, both ways unless it is counted once."""
        both = self.costs(i, j, deltas) + self.costs(j, i, deltas)
        return both / 2 if self.once else both

    def rows(self) -> Iterator[tuple[Integers, Floats]]:
        """All distances, some clients at a time; nobody is at any distance from itself."""
        everyone = np.arange(len(self.unit))
        for start in range(0, len(everyone), max(1, AT_ONCE // len(everyone))):
            some = everyone[start : start + max(1, AT_ONCE // len(everyone))]
            deltas = self.table(some, everyone)
            deltas[np.arange(len(some)), some] = np.inf
            yield some, deltas

    def paper_epsilon(self) -> float:
        """Section III-C: the largest distance of a client from the client most like it."""
        return max(float(deltas.min(axis=1).max()) for _, deltas in self.rows())

    def bound(self, epsilon: float, gamma: float, degree: int) -> float:
        """What no network costs less than: everybody pays the cheapest head, or as a head half of the cheapest links.

        Of networks with no more heads than `degree` only that all others pay the cheapest head.
        """
        everyone = np.arange(len(self.unit))
        total, following = 0.0, []
        for some, deltas in self.rows():
            costs = self.costs(some[:, None], everyone, deltas)
            follow = np.where(deltas <= epsilon + ROUNDING, costs, np.inf).min(axis=1)
            links = self.link_costs(some[:, None], everyone, deltas)
            link = np.where(deltas <= gamma + ROUNDING, links, np.inf).min(axis=1)
            total += float(np.minimum(follow, degree * link / 2).sum())
            following.append(follow)
        few = np.sort(np.concatenate(following))[: len(everyone) - degree].sum()
        return min(total, float(few))


def _joinable(heads: int, degree: int) -> int:
    """The number of heads, or one near it with which a block can be joined to others at that degree.

    >>> _joinable(1, 2), _joinable(7, 2), _joinable(7, 3), _joinable(2, 3)
    (3, 7, 6, 4)
    """
    return max(degree + 1, heads - (heads * degree) % 2)


def _shares(blocks: list[Integers], wishes: Wishes) -> list[int] | list[None]:
    """How many heads every block has, where their number is given."""
    sizes = [len(block) for block in blocks]
    fewest = wishes.degree + 1
    if wishes.min_size is not None and wishes.min_size * fewest > min(sizes):
        allowed = f"at most {min(sizes) // fewest}: this many clients are solved in blocks of {min(sizes)} or more"
        raise BadValue("min_size", wishes.min_size, allowed)
    if wishes.groups is None:
        return [None] * len(blocks)
    if wishes.groups < fewest * len(blocks):
        allowed = f"at least {fewest * len(blocks):,}: {sum(sizes):,} clients are solved in {len(blocks)} blocks"
        raise BadValue("groups", wishes.groups, allowed)
    even = 2 if wishes.degree % 2 else 1  # with an odd degree every block needs an even number of heads
    if wishes.groups % even:
        raise BadValue("groups", wishes.groups, f"an even number where degree is {wishes.degree}")
    more = share_out(wishes.groups // even - (fewest // even - 1) * len(blocks), sizes)
    return [even * (share + fewest // even - 1) for share in more]


def _alike(unit: Floats, rng: np.random.Generator) -> list[Integers]:
    """Clients in blocks of at most BLOCK: halves along the direction in which they differ most, and again."""
    done, waiting = [], [np.arange(len(unit))]
    while waiting:
        block = waiting.pop()
        if len(block) <= BLOCK:
            done.append(block)
            continue
        centred = unit[block] - unit[block].mean(axis=0)
        direction = rng.normal(size=unit.shape[1])
        for _ in range(10):
            direction = centred.T @ (centred @ direction)
            direction /= np.linalg.norm(direction) or 1.0
        order = block[np.argsort(centred @ direction, kind="stable")]
        waiting += [np.sort(order[len(order) // 2 :]), np.sort(order[: len(order) // 2])]
    return done


def _joined(networks: list[Integers], fleet: _Fleet, gamma: float) -> Integers:
    """One connected network of all of them, links as pairs of clients."""
    main = networks[0]
    for other in networks[1:]:
        main = _exchanged(main, other, fleet, gamma)
    return main


def _exchanged(main: Integers, other: Integers, fleet: _Fleet, gamma: float) -> Integers:
    """Both networks joined by the exchange of ends that costs least."""
    left, ends = np.unique(main, return_inverse=True)
    right, tips = np.unique(other, return_inverse=True)
    ends, tips = ends.reshape(main.shape), tips.reshape(other.shape)
    deltas = fleet.table(left, right)
    price = fleet.link_costs(left[:, None], right, deltas)
    price = price + np.where(deltas > gamma + ROUNDING, FINE * float(price.max()) * (1 + deltas - gamma), 0.0)
    saved = fleet.link_costs(*main.T)[:, None] + fleet.link_costs(*other.T)
    straight = price[np.ix_(ends[:, 0], tips[:, 0])] + price[np.ix_(ends[:, 1], tips[:, 1])] - saved
    crossed = price[np.ix_(ends[:, 0], tips[:, 1])] + price[np.ix_(ends[:, 1], tips[:, 0])] - saved
    change = np.stack([straight, crossed])
    while True:
        way, k, other_k = (int(at) for at in np.unravel_index(int(change.argmin()), change.shape))
        (a, b), (c, d) = main[k], other[other_k][:: 1 if way == 0 else -1]
        kept = [np.delete(main, k, axis=0), np.delete(other, other_k, axis=0)]
        joined = np.vstack([*kept, [[a, c], [b, d]]])
        if components(len(fleet.unit), np.unique(joined).tolist(), tuple(map(tuple, joined.tolist()))) == 1:
            return joined
        change[way, k, other_k] = np.inf  # both links were bridges, which only odd degrees have


def _cluster_deltas(links: Integers, head_of: Integers, vectors: Floats, weights: Floats) -> Floats:
    """Delta of linked clusters: distances between their weighted mean updates."""
    heads, cluster = np.unique(head_of, return_inverse=True)
    empty = np.bincount(cluster, weights)[cluster] == 0  # a cluster without samples counts its members alike
    sums = np.zeros((len(heads), vectors.shape[1]))
    np.add.at(sums, cluster, np.where(empty, 1.0, weights)[:, None] * vectors)
    unit = unit_rows(sums)
    i, j = np.searchsorted(heads, links).T
    delta: Floats = 1 - np.clip((unit[i] * unit[j]).sum(axis=1), -1, 1)
    return delta
