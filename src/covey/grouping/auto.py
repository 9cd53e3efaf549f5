"""How many groups: the number at which divergence and communication together cost least.

FedAvg-IC ("Accurate and Fast Federated Learning via IID and Communication-Aware Grouping") leaves the number of groups
open (footnote 5), but its analysis says what it trades. Few large groups are like the whole fleet, yet models travel
far within them; many small groups are near, yet unlike one another. The method in question groups the fleet into k
groups, and

    score(k) = divergence + price x communication
    divergence = (delta h(tau1) + Delta h(tau1 tau2)) / (D h(tau1 tau2))
    communication = (d_group(k) (tau2 - 1) + d_global) / (d_global tau2)

The first is the part of Theorem 1's bound (Eq. 9) that depends on the groups, h(t) = (eta beta + 1)^t - 1, over its
value for clients that are groups of their own; the second is Eq. 5 over its value for a single group. Both are about
1 at their worst, so `price` 1 weighs them alike, as the paper's alphas do.

delta, Delta and D are measured on `updates`, or on label shares where there are none. d_group is the sum of the
distances to the groups' heads; where no distances are known, it is what secure aggregation costs the clients
(Group-FEL, Eq. 5), which grows with the square of the group.

The numbers 1, 2, 3, 4, 6, 8, 12, … are tried, then those between the neighbours of the best one: some 20 groupings, not
one for every number. Every number is tried with the same random draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey.errors import BadValue
from covey.grouping.base import Grouping, check_labels, how_many
from covey.grouping.by_name import group
from covey.grouping.divergence import divergences
from covey.grouping.hops import EdgeHops
from covey.grouping.measures import hops_of, secure_seconds_of, shares_of


@dataclass(frozen=True)
class Candidate:
    """A number of groups, what it was measured at, and its score, the lower the better."""

    groups: int
    delta: float
    Delta: float
    divergence: float
    communication: float
    score: float


@dataclass(frozen=True)
class Choice:
    """The number of groups with the lowest score, and all that were tried, by number."""

    groups: int
    candidates: tuple[Candidate, ...]


def choose_groups(
    labels: ArrayLike,
    *,
    method: str,
    rng: np.random.Generator,
    distances: ArrayLike | EdgeHops | None = None,
    updates: ArrayLike | None = None,
    edges: ArrayLike | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    within_edges: bool | None = None,
    price: float = 1.0,
    tau1: int = 1,
    tau2: int = 5,
    eta_beta: float = 0.1,
    repeats: int = 3,
    **options: Any,
) -> Choice:
    """The number of groups to ask the grouping `method` for.

    `price`: what communication is worth beside divergence; `tau1`, `tau2`: local steps per group aggregation and group
    aggregations per global one; `eta_beta`: learning rate times smoothness; `repeats`: groupings a number is averaged
    over; groups of one client are no candidates. `distances` and `updates` are what the two are measured by, label
    shares where there are no updates. They and `edges`, `min_size`, `max_size`, `within_edges` and all options go to
    the method.

    Twelve clients in three places, each place with all four labels:

    >>> labels = np.tile(30 * np.eye(4, dtype=int), (3, 1))
    >>> place = np.repeat([0, 1, 2], 4)
    >>> apart = np.where(place[:, None] == place, 1, 9) * (1 - np.eye(12))
    >>> choose_groups(labels, method="kmedoids", distances=apart, rng=np.random.default_rng(0)).groups
    3
    """
    table = check_labels(labels)
    n = len(table)
    if not 0 <= price < np.inf:
        raise BadValue("price", price, "a number from 0 up")
    if not (isinstance(repeats, int | np.integer) and repeats >= 1):
        raise BadValue("repeats", repeats, "a whole number from 1 up")
    for name, tau in (("tau1", tau1), ("tau2", tau2)):
        if not (isinstance(tau, int | np.integer) and tau >= 1):
            raise BadValue(name, tau, "a whole number from 1 up")
    if not 0 < eta_beta < np.inf:
        raise BadValue("eta_beta", eta_beta, "a number above 0")
    how_many(n, None, min_size, max_size)
    seeds = rng.integers(2**63, size=repeats).tolist()
    inputs = {"distances": distances, "updates": updates, "edges": edges, "within_edges": within_edges} | options
    inputs |= {"min_size": min_size, "max_size": max_size}
    vectors = shares_of(table) if updates is None else np.asarray(updates, dtype=np.float64)
    weights = np.maximum(table.sum(axis=1), 1e-9)
    flat = _group_cost(Grouping((tuple(range(n)),)), distances)
    local = _drift_ratio(tau1, tau1 * tau2, eta_beta)

    def score(count: int) -> Candidate:
        delta = big_delta = all_ = cost = 0.0
        for seed in seeds:
            found = group(method, table, groups=count, rng=np.random.default_rng(seed), **inputs)
            measured = divergences(vectors, weights, found.groups)
            delta += measured.delta / repeats
            big_delta += measured.Delta / repeats
            all_ = measured.D
            cost += _group_cost(found, distances) / repeats
        divergence = (delta * local + big_delta) / all_ if all_ else 0.0
        communication = (cost * (tau2 - 1) + flat) / (flat * tau2) if flat else 1.0
        return Candidate(count, delta, big_delta, divergence, communication, divergence + price * communication)

    fewest = 1 if max_size is None else -(-n // max_size)
    return _search(score, fewest, max(fewest, n // (min_size or 2)))


def _drift_ratio(few: int, many: int, eta_beta: float) -> float:
    """h(few) / h(many), h(t) = (eta beta + 1)^t - 1, where h(many) alone may be larger than any number.

    >>> round(_drift_ratio(1, 2, 0.5), 9), 0.5 / (1.5**2 - 1)
    (0.4, 0.4)
    """
    a, b = few * math.log1p(eta_beta), many * math.log1p(eta_beta)
    return math.exp(a - b) * math.expm1(-a) / math.expm1(-b)


def _search(score: Callable[[int], Candidate], fewest: int, most: int) -> Choice:
    """The best number from `fewest` to `most`: a coarse scan, then the gaps beside the best are halved, to a tenth."""
    tried: dict[int, Candidate | None] = {}
    reason: BadValue | None = None
    wanted = sorted({fewest, *(count for count in _coarse(most) if count >= fewest)})
    while wanted:
        for count in wanted:
            try:
                tried[count] = score(count)
            except BadValue as error:  # a method may not be able to make that many, as one by edges
                tried[count], reason = None, error
        scored = [candidate for _, candidate in sorted(tried.items()) if candidate is not None]
        if not scored:
            raise reason or BadValue("groups", "auto", "at least one client")
        best = min(scored, key=lambda candidate: candidate.score)
        wanted = [count for count in _beside(best.groups, sorted(tried)) if count not in tried]
    return Choice(best.groups, tuple(scored))


def _coarse(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, 16, … up to `most`.

    >>> _coarse(20)
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    steps = {2**e for e in range(most.bit_length())} | {3 * 2**e for e in range(most.bit_length())}
    return sorted({count for count in steps if count < most} | {most})


def _beside(best: int, tried: list[int]) -> list[int]:
    """The middle of the gap on either side of `best`, unless the gap is under a tenth of it.

    >>> _beside(12, [8, 12, 16]), _beside(100, [92, 100, 106])
    ([10, 14], [])
    """
    at = tried.index(best)
    neighbours = [tried[k] for k in (at - 1, at + 1) if 0 <= k < len(tried)]
    return [(best + other) // 2 for other in neighbours if abs(best - other) > max(1, best / 10)]


def _group_cost(grouping: Grouping, distances: ArrayLike | EdgeHops | None) -> float:
    return secure_seconds_of(grouping.sizes) if distances is None else hops_of(grouping, distances)
