"""IHC-FL's heads, members and links solved together, with a proof: how far from the best an answer can be.

Problem (1) of Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID
Data", which the paper gives up on beyond 24 clients. For every number of heads that has a degree of its own (one
head, two heads, …, more than `degree` heads) one model (`model`) is tightened by cuts until its relaxation is
connected, what cannot be part of a better answer is fixed, and the rest is left to HiGHS.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from covey.grouping.ihc.answer import EQUAL
from covey.grouping.ihc.model import Model
from covey.grouping.ihc.problem import Problem, Solution, cost, faults


@dataclass(frozen=True)
class Proof:
    """The best answer found (None: there is none, or none was found), and what no answer costs less than."""

    solution: Solution | None
    bound: float
    complete: bool


def exact(problem: Problem, *, start: Solution | None = None, seconds: float = 60.0) -> Proof:
    """Solve the problem, or stop after about that many seconds with the bound reached so far.

    `start` is an answer to improve on; one that breaks rules is ignored.

    >>> costs = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> proof = exact(Problem(costs, costs, epsilon=1.0, gamma=9.0))
    >>> proof.solution.heads, proof.bound, proof.complete
    ([1, 4], 10.0, True)
    """
    deadline = time.monotonic() + seconds
    best = start if start is not None and not faults(problem, start) else None
    value = np.inf if best is None else cost(problem, best)
    bounds = []
    for degree, fewest, most in sizes(problem):
        found, bound = _solve(Model(problem, degree, fewest, most), value, deadline)
        if found is not None and cost(problem, found) < value:
            best, value = found, cost(problem, found)
        bounds.append(bound)
    bound = min([value, *bounds])
    return Proof(best, bound, complete=bound >= value - EQUAL * max(abs(value), 1.0) if best else bound == np.inf)


def sizes(problem: Problem) -> list[tuple[int, int, int]]:
    """What to solve apart: (degree, fewest heads, most heads); an odd degree stands for an even number of heads.

    >>> sizes(Problem(np.zeros((9, 9)), np.zeros((9, 9)), 1.0, 1.0, degree=3))
    [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 4, 9), (4, 5, 9)]
    """
    n, degree = problem.clients, problem.degree
    if problem.heads is not None:
        return [(problem.degree_of(problem.heads), problem.heads, problem.heads)]
    few = [(k - 1, k, k) for k in range(1, min(degree, n) + 1)]
    many = [(d, d + 1, n) for d in range(degree, degree + 1 + degree % 2) if d + 1 <= n]
    return few + many


def _solve(model: Model, value: float, deadline: float) -> tuple[Solution | None, float]:
    """A better answer than `value` if there is one, and a bound on all answers of this model."""
    bound = -np.inf
    while True:
        relaxed = model.relaxed(max(deadline - time.monotonic(), 0.01))
        if relaxed.status != 0:
            return None, np.inf if relaxed.status == 2 else bound  # infeasible, or out of time
        bound = max(bound, float(relaxed.fun))
        if bound >= value - EQUAL * max(value, 1.0):
            return None, bound
        if not model.separate(relaxed.x):
            break
    if np.isfinite(value):
        model.fix(relaxed, value - relaxed.fun)
    while (left := deadline - time.monotonic()) > 0:
        integral = model.integral(left)
        if integral.status == 2:
            return None, value  # nothing better than what is known
        if integral.mip_dual_bound is not None:
            bound = max(bound, float(integral.mip_dual_bound))
        if integral.x is None:
            return None, bound
        if not model.separate(np.round(integral.x)):
            return model.solution(integral.x), bound
    return None, bound
