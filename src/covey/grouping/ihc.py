"""IHC-FL: clusters around heads, and a network of the heads, at the least cost of communication.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data", problem
(1), three ways: `search` anneals (`ihc_search`), `exact` proves (`ihc_exact`), `paper` alternates cluster formation
around a neural oracle with topology construction (`ihc_paper`).

Departures from the letter (those of the problem itself are in `ihc_problem`):
- distances are 1 - cos of updates, not of models, which share their initialisation and are all alike; without
  updates, of label shares;
- without `distances` a link costs 1 + delta, like the paper's 1 to 2 seconds;
- Delta, the distance of two clusters, is that of their mean updates; `search` and `exact` bound the heads' own
  distance, then check Delta, forbid the links that fail and solve again;
- a gamma without an answer is raised: to the smallest possible by `exact`, to the smallest found by the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.fill_up import fill_up
from covey.grouping.ihc_bound import lower_bound
from covey.grouping.ihc_exact import EQUAL, exact
from covey.grouping.ihc_gamma import solve_exactly, solve_quickly
from covey.grouping.ihc_limits import least_epsilon, paper_epsilon
from covey.grouping.ihc_paper import Deltas, alternate
from covey.grouping.ihc_problem import (
    ROUNDING,
    Floats,
    Pair,
    Problem,
    Solution,
    cluster_deltas,
    cosine_distances,
    cost,
    faults,
)
from covey.grouping.ihc_search import search
from covey.grouping.measures import shares_of

RECHECKS = 3
"""How many times links that failed the check of Delta are forbidden and the problem is solved again."""


@dataclass(frozen=True)
class Topology:
    """Clusters, heads and links, and how good they are.

    `objective` is the sum of all costs, `bound` what no answer with the same thresholds costs less than. `gamma` is
    the threshold that was used: `asked_gamma`, or more where that has no answer.
    `far_links` counts links between clusters that, averaged, are farther apart than gamma.
    """

    grouping: Grouping
    objective: float
    bound: float
    epsilon: float
    gamma: float
    asked_gamma: float
    far_links: int
    method: str

    @property
    def gap(self) -> float:
        """By which part of the objective it could be lower at most."""
        return max(self.objective - self.bound, 0.0) / self.objective if self.objective else 0.0

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """`optimal` if nothing is left to gain, else `feasible`."""
        return "optimal" if self.gap <= EQUAL else "feasible"


def topology(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    rng: np.random.Generator,
    updates: Floats | None = None,
    distances: Floats | None = None,
    sizes: NDArray[np.int64] | None = None,
    method: Literal["search", "exact", "paper"] = "search",
    degree: int = 2,
    epsilon: float | None = None,
    gamma: float | None = None,
    between: Literal["clusters", "heads"] = "clusters",
    once: bool = False,
    seconds: float = 60.0,
) -> Topology:
    """Solve problem (1) for a fleet.

    `groups`: how many heads, else as many as are cheapest; `min_size`: the least clients in a cluster, which may take
    followers beyond epsilon; `degree`: links of every head; `epsilon`, `gamma`: thresholds, by default the paper's;
    `between`: what gamma bounds, the distance of averaged clusters or of heads alone; `once`: count links in one
    direction only, as the paper's Fig. 1 does; `seconds`: the time limit of `exact` and of each program of `paper`.

    >>> updates = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.1, 1.0], [0.2, 1.0], [0.3, 1.0]])
    >>> found = topology(np.ones((6, 2)), updates=updates, epsilon=0.1, method="exact", rng=np.random.default_rng(0))
    >>> found.grouping.groups, found.grouping.links, found.status
    (((0, 1, 2), (3, 4, 5)), ((0, 1),), 'optimal')
    """
    labels = check_labels(labels)
    how_many(len(labels), groups, min_size)
    _check(method=method, between=between, degree=degree, epsilon=epsilon, gamma=gamma, seconds=seconds)
    vectors = shares_of(labels) if updates is None else np.asarray(updates, dtype=np.float64)
    weights = np.asarray(labels.sum(axis=1) if sizes is None else sizes, dtype=np.float64)
    deltas = cosine_distances(vectors)
    epsilon = paper_epsilon(deltas) if epsilon is None else epsilon
    asked = 1.8 * epsilon if gamma is None else gamma
    problem = Problem(_costs(deltas, distances), deltas, epsilon, asked, degree, groups, once)
    if groups is not None:
        problem = replace(problem, epsilon=least_epsilon(problem, groups))

    def delta(head_of: tuple[int, ...]) -> Floats:
        heads = sorted(set(head_of))
        return deltas[np.ix_(heads, heads)] if between == "heads" else cluster_deltas(head_of, vectors, weights)

    answered, answer, bound = _solve(problem, method, delta, rng, seconds)
    if min_size is not None and np.unique(answer.head_of, return_counts=True)[1].min() < min_size:
        if len(answer.heads) * min_size > len(labels):
            fewer = replace(problem, heads=len(labels) // min_size)
            fewer = replace(fewer, epsilon=least_epsilon(fewer, len(labels) // min_size))
            answered, answer, bound = _solve(fewer, method, delta, rng, seconds)
        answer, bound = _at_least(answered, answer, min_size), None
    farthest = max(float(deltas[n, a]) for n, a in enumerate(answer.head_of))
    answered = replace(answered, epsilon=max(answered.epsilon, farthest))
    value = cost(answered, answer)
    if bound is None:  # the paper's rule lets any two heads be linked whose clusters are alike
        any_link = method == "paper" and between == "clusters"
        bound = lower_bound(replace(answered, gamma=float(deltas.max())) if any_link else answered, value)
    return Topology(
        grouping=_grouping(answer),
        objective=value,
        bound=min(bound, value),
        epsilon=answered.epsilon,
        gamma=answered.gamma,
        asked_gamma=asked,
        far_links=len(_far(answered, answer, delta)),
        method=method,
    )


@wraps(topology, assigned=())  # the options are those of `topology`, the name and what is said of it are its own
def ihc(labels: Labels, **given: Any) -> Grouping:
    """Clusters of clients with like updates, each around a head, and links between the heads; see `topology`.

    >>> grouping = ihc(np.array([[9, 1], [8, 1], [1, 9], [1, 8]]), rng=np.random.default_rng(0))
    >>> grouping.groups, grouping.links
    (((0, 1), (2, 3)), ((0, 1),))
    """
    return topology(labels, **given).grouping


GROUPINGS.add("ihc", ihc, paper="Shih et al., IHC-FL, problem (1)")


def _check(
    *, method: str, between: str, degree: int, epsilon: float | None, gamma: float | None, seconds: float
) -> None:
    if method not in ("search", "exact", "paper"):
        raise BadValue("method", method, "'search', 'exact' or 'paper'")
    if between not in ("clusters", "heads"):
        raise BadValue("between", between, "'clusters' or 'heads'")
    if degree < 2:
        raise BadValue("degree", degree, "a whole number from 2 up")
    for name, threshold in (("epsilon", epsilon), ("gamma", gamma)):
        if threshold is not None and not threshold >= 0:
            raise BadValue(name, threshold, "a number from 0 up")
    if not seconds > 0:
        raise BadValue("seconds", seconds, "a number above 0")


def _costs(deltas: Floats, distances: Floats | None) -> Floats:
    if distances is None:
        return 1 + deltas
    costs = np.asarray(distances, dtype=np.float64)
    if costs.shape != deltas.shape or not (costs >= 0).all():
        raise BadValue("distances", costs.shape, f"{len(deltas)} x {len(deltas)} costs from 0 up")
    return costs


def _solve(
    problem: Problem, method: str, delta: Deltas, rng: np.random.Generator, seconds: float
) -> tuple[Problem, Solution, float | None]:
    """The problem with the gamma that was needed, an answer, and a bound if there is one already."""
    if method == "paper":
        gamma, answer = alternate(problem, delta, rng, seconds=seconds)
        return replace(problem, gamma=gamma), answer, None
    if method == "exact":
        found, answer, bound = solve_exactly(problem, rng, seconds)
        return found, _rechecked(found, answer, delta, lambda p, _: exact(p, seconds=seconds).solution), bound
    found, answer = solve_quickly(problem, rng)
    return found, _rechecked(found, answer, delta, lambda p, start: search(p, rng, start=start)), None


def _rechecked(
    problem: Problem, answer: Solution, delta: Deltas, again: Callable[[Problem, Solution], Solution | None]
) -> Solution:
    """The answer, or another one with fewer links between clusters that are farther apart than gamma."""
    best, best_far = answer, _far(problem, answer, delta)
    far = best_far
    for _ in range(RECHECKS):
        if not far:
            break
        problem = replace(problem, forbidden=problem.forbidden | far)
        other = again(problem, answer)
        if other is None or faults(problem, other):
            break
        answer, far = other, _far(problem, other, delta)
        if (len(far), cost(problem, answer)) < (len(best_far), cost(problem, best)):
            best, best_far = answer, far
    return best


def _far(problem: Problem, answer: Solution, delta: Deltas) -> frozenset[Pair]:
    """Links between heads whose distance after averaging exceeds gamma."""
    place = {h: k for k, h in enumerate(answer.heads)}
    table = delta(answer.head_of)
    limit = problem.gamma + ROUNDING
    return frozenset((i, j) for i, j in answer.links if table[place[i], place[j]] > limit)


def _at_least(problem: Problem, answer: Solution, min_size: int) -> Solution:
    """The answer with the clusters filled up with whoever is most like their heads."""
    heads = np.array(answer.heads)
    distances = problem.deltas[:, heads].copy()
    distances[heads] = np.inf
    distances[heads, np.arange(len(heads))] = 0.0
    cluster_of = fill_up(np.searchsorted(heads, answer.head_of), distances, min_size)
    return replace(answer, head_of=tuple(heads[cluster_of].tolist()))


def _grouping(answer: Solution) -> Grouping:
    heads = answer.heads
    members = [tuple(n for n, a in enumerate(answer.head_of) if a == h) for h in heads]
    links = tuple((heads.index(i), heads.index(j)) for i, j in answer.links)
    return Grouping(tuple(members), heads=tuple(heads), links=links)
