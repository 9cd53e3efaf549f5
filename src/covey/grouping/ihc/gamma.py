"""Solving IHC-FL's problem at the gamma that was asked for, or else at the smallest one that works.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data", section
III-C, sets gamma = 1.8 epsilon, with which problem (1) often has no answer: the paper does not say what then. Here
gamma is raised; `least_gamma` says from where on it is worth a try.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from covey.grouping.ihc.bound import lower_bound
from covey.grouping.ihc.exact import exact
from covey.grouping.ihc.limits import least_gamma
from covey.grouping.ihc.problem import Floats, Problem, Solution, cost, faults
from covey.grouping.ihc.search import search

TRIES = 2
"""How many times a search halves the range in which it looks for a smaller gamma."""


def solve_quickly(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Solution]:
    """An answer by search, and the problem it answers: that given, or with the smallest gamma the search could do."""
    problem = replace(problem, gamma=least_gamma(problem))
    answer = search(problem, rng)
    if not faults(problem, answer):
        return problem, answer
    found, best = _open_up(problem, answer, rng)
    low = problem.gamma
    for _ in range(TRIES):
        between = _between(problem, low, found.gamma)
        if not len(between):
            break
        trial = replace(problem, gamma=float(between[len(between) // 2]))
        answer = search(trial, rng, start=best)
        if faults(trial, answer):
            low = trial.gamma
        else:
            found, best = _tightened(trial, answer, problem.gamma), answer
    polished = search(found, rng, start=best)
    better = not faults(found, polished) and cost(found, polished) < cost(found, best)
    return found, polished if better else best


def solve_exactly(problem: Problem, rng: np.random.Generator, seconds: float) -> tuple[Problem, Solution, float]:
    """The best answer and a bound, equal if time allows, at the gamma given or the smallest that has an answer."""
    deadline = time.monotonic() + seconds
    found, start = solve_quickly(problem, rng)
    low = replace(problem, gamma=least_gamma(problem))
    if found.gamma > low.gamma:  # the search had to give way; see whether that was necessary
        steps = [low.gamma, *_between(problem, low.gamma, found.gamma).tolist()]
        first, last, middle = 0, len(steps), 0
        while first < last and time.monotonic() < deadline:
            trial = replace(problem, gamma=steps[middle])
            proof = exact(trial, seconds=deadline - time.monotonic())
            if proof.solution is not None:
                found, start, last = trial, proof.solution, middle
            else:
                first = middle + 1
            middle = (first + last) // 2
    proof = exact(found, start=start, seconds=max(deadline - time.monotonic(), 0.1))
    best = proof.solution or start
    bound = proof.bound if proof.complete else max(proof.bound, lower_bound(found, cost(found, best)))
    return found, best, bound


def _open_up(problem: Problem, answer: Solution, rng: np.random.Generator) -> tuple[Problem, Solution]:
    """Any gamma with an answer: that answer's own longest link, or if more is wrong, no limit at all at first."""
    found = _tightened(problem, answer, problem.gamma)
    if faults(found, answer):
        wide = replace(problem, gamma=float(problem.deltas.max()), forbidden=frozenset())
        answer = search(wide, rng)
        found = _tightened(wide, answer, problem.gamma)
    return found, answer


def _tightened(problem: Problem, answer: Solution, least: float) -> Problem:
    """The problem with the smallest gamma from `least` up that allows the answer's links."""
    return replace(problem, gamma=max([least, *(float(problem.deltas[link]) for link in answer.links)]))


def _between(problem: Problem, low: float, high: float) -> Floats:
    """The distances in between, ascending: other values of gamma make no difference."""
    deltas: Floats = np.unique(problem.deltas[(problem.deltas > low) & (problem.deltas < high)])
    return deltas
