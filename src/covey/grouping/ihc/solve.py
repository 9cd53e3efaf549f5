"""Solving problem (1) of IHC-FL in one of its three ways, and checking what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from covey.errors import BadValue
from covey.grouping.base import Grouping
from covey.grouping.hops import EdgeHops, table_of
from covey.grouping.ihc.answer import Topology, Wishes
from covey.grouping.ihc.bound import lower_bound
from covey.grouping.ihc.exact import exact
from covey.grouping.ihc.gamma import solve_exactly, solve_quickly
from covey.grouping.ihc.limits import least_epsilon, paper_epsilon
from covey.grouping.ihc.paper import Deltas, alternate
from covey.grouping.ihc.problem import (
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
from covey.grouping.ihc.search import search
from covey.grouping.per_edge import members_of
from covey.grouping.sizes import fit

RECHECKS = 3
"""How many times links that failed the check of Delta are forbidden and the problem is solved again."""


def solve(
    vectors: Floats, weights: Floats, distances: Floats | EdgeHops | None, wishes: Wishes, rng: np.random.Generator
) -> Topology:
    """The topology for clients with these updates (or label shares), samples and costs of sending."""
    problem, delta = pose(vectors, weights, distances, wishes)
    answered, answer, bound = answer_to(problem, wishes, delta, rng)
    value = cost(answered, answer)
    if bound is None:  # the paper's rule lets any two heads be linked whose clusters are alike
        any_link = wishes.method == "paper" and wishes.between == "clusters"
        bound = lower_bound(replace(answered, gamma=float(problem.deltas.max())) if any_link else answered, value)
    return Topology(
        grouping=grouping_of(answer),
        objective=value,
        bound=min(bound, value),
        epsilon=answered.epsilon,
        gamma=answered.gamma,
        asked_gamma=problem.gamma,
        far_links=len(_far(answered, answer, delta)),
        method=wishes.method,
    )


def pose(
    vectors: Floats, weights: Floats, distances: Floats | EdgeHops | None, wishes: Wishes
) -> tuple[Problem, Deltas]:
    """Problem (1) for these clients, and how to tell the distances between clusters."""
    deltas = cosine_distances(vectors)
    epsilon = paper_epsilon(deltas) if wishes.epsilon is None else wishes.epsilon
    gamma = 1.8 * epsilon if wishes.gamma is None else wishes.gamma
    costs = _costs(deltas, distances)
    problem = Problem(costs, deltas, epsilon, gamma, wishes.degree, heads=wishes.groups, once=wishes.once)

    def delta(head_of: tuple[int, ...]) -> Floats:
        heads = sorted(set(head_of))
        return deltas[np.ix_(heads, heads)] if wishes.between == "heads" else cluster_deltas(head_of, vectors, weights)

    return problem, delta


def answer_to(
    problem: Problem, wishes: Wishes, delta: Deltas, rng: np.random.Generator
) -> tuple[Problem, Solution, float | None]:
    """The problem with the thresholds that were needed, an answer, and a bound if there is one already."""
    if problem.heads is not None:
        problem = replace(problem, epsilon=least_epsilon(problem, problem.heads))
    answered, answer, bound = _solve(problem, wishes, delta, rng)
    least, most = wishes.min_size or 1, wishes.max_size or problem.clients
    sizes = np.unique(answer.head_of, return_counts=True)[1]
    if sizes.min() < least or sizes.max() > most:
        count = min(max(len(sizes), -(-problem.clients // most)), problem.clients // least)
        if count != len(sizes):
            other = replace(problem, heads=count)
            other = replace(other, epsilon=least_epsilon(other, count))
            answered, answer, bound = _solve(other, wishes, delta, rng)
        answer, bound = _fitted(answered, answer, least, most), None
    farthest = max(float(problem.deltas[n, a]) for n, a in enumerate(answer.head_of))
    return replace(answered, epsilon=max(answered.epsilon, farthest)), answer, bound


def _costs(deltas: Floats, distances: Floats | EdgeHops | None) -> Floats:
    if distances is None:
        return 1 + deltas
    costs = table_of(distances)
    if costs.shape != deltas.shape or not (costs >= 0).all():
        raise BadValue("distances", costs.shape, f"{len(deltas)} x {len(deltas)} costs from 0 up")
    return costs


def _solve(
    problem: Problem, wishes: Wishes, delta: Deltas, rng: np.random.Generator
) -> tuple[Problem, Solution, float | None]:
    """The problem with the gamma that was needed, an answer, and a bound if there is one already."""
    seconds = wishes.seconds
    if wishes.method == "paper":
        gamma, answer = alternate(problem, delta, rng, seconds=seconds)
        return replace(problem, gamma=gamma), answer, None
    if wishes.method == "exact":
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


def _fitted(problem: Problem, answer: Solution, least: int, most: int) -> Solution:
    """The answer with followers moved to the heads most like them until all clusters have `least` to `most` clients."""
    heads = np.array(answer.heads)
    distances = problem.deltas[:, heads].copy()
    distances[heads] = np.inf
    distances[heads, np.arange(len(heads))] = 0.0
    cluster_of = fit(np.searchsorted(heads, answer.head_of), distances, least, most)
    return replace(answer, head_of=tuple(heads[cluster_of].tolist()))


def grouping_of(answer: Solution) -> Grouping:
    """The clusters in the order of their heads."""
    heads = answer.heads
    place = {head: k for k, head in enumerate(heads)}
    members = members_of(np.array(answer.head_of))
    links = tuple((place[i], place[j]) for i, j in answer.links)
    return Grouping(tuple(tuple(at.tolist()) for at in members), heads=tuple(heads), links=links)
