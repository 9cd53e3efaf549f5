"""IHC-FL's clustering framework as the paper has it: an oracle inside an integer program, taught by another one.

Clusters are formed by the oracle's advice, the topology of their heads is constructed, the oracle is taught what
that costs, and again until the heads stand still. Shih, Kuo, Sheu, "Information-Exchangeable
Hierarchical Clustering for Federated Learning With Non-IID Data", section III: cluster formation is problem (3), a
network of 16 rectified linear units inside the program (Definition 1); topology construction is problem (4).

Departures from the letter:
- the oracle is first taught with the topologies of random heads (`samples=0`: with nothing, the paper's way, which
  ends far from the best), and the cheapest iterate is returned, not the last;
- M is as small as each neuron allows;
- (4) is solved with cuts instead of virtual flows; heads that cannot be connected within gamma are taught with a
  fine, so that the oracle learns to avoid them, and gamma is raised for the iterate that is returned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from covey.grouping.ihc.draft import fined_links
from covey.grouping.ihc.exact import exact
from covey.grouping.ihc.limits import cover
from covey.grouping.ihc.model import Rows
from covey.grouping.ihc.problem import Floats, Pair, Problem, Solution, cost
from covey.grouping.ihc.search import search

Deltas = Callable[[tuple[int, ...]], Floats]
"""From who follows whom to the distances between the heads, heads ascending."""


def alternate(
    problem: Problem,
    deltas: Deltas,
    rng: np.random.Generator,
    *,
    samples: int = 30,
    neurons: int = 16,
    rounds: int = 10,
    seconds: float = 10.0,
) -> tuple[float, Solution]:
    """The gamma that was used and the cheapest of all iterates; `seconds` limits each integer program."""
    taught: list[tuple[list[int], float]] = []
    for _ in range(samples):
        head_of = _nearest(problem, _random_heads(problem, rng))
        links = construct(problem, head_of, deltas(head_of), rng, seconds)
        taught.append((sorted(set(head_of)), _price(problem, head_of, links, deltas)))
    seed = int(rng.integers(2**32))  # one for all rounds: else an oracle taught the same might change its mind
    iterates: dict[tuple[int, ...], tuple[float, Solution]] = {}
    for _ in range(rounds):
        head_of = form_clusters(problem, _Oracle(taught, problem.clients, neurons, seed), seconds)
        if head_of in iterates:  # the heads stand still
            break
        answer = Solution(head_of, construct(problem, head_of, deltas(head_of), rng, seconds))
        price = _price(problem, head_of, answer.links, deltas)
        taught.append((answer.heads, price))
        iterates[head_of] = price + cost(problem, replace(answer, links=())), answer
    best = min(iterates.values(), key=lambda iterate: iterate[0])[1]
    return _settled(problem, best, deltas(best.head_of), rng, seconds)


def construct(
    problem: Problem, head_of: tuple[int, ...], deltas: Floats, rng: np.random.Generator, seconds: float
) -> tuple[Pair, ...]:
    """Problem (4): the cheapest links between these heads; if gamma allows none, those with the smallest fines."""
    within = _among_heads(problem, head_of, deltas)
    answer = exact(within, start=search(within, rng, steps=2000), seconds=seconds).solution
    if answer is None:
        free = replace(within, costs=fined_links(within), gamma=np.inf)
        answer = exact(free, start=search(free, rng, steps=2000), seconds=seconds).solution
    heads = sorted(set(head_of))
    return tuple((heads[i], heads[j]) for i, j in answer.links) if answer else ()


def form_clusters(problem: Problem, oracle: _Oracle, seconds: float) -> tuple[int, ...]:
    """Problem (3): who follows whom, at the least cost of following plus what the oracle says links will cost."""
    n, hidden = problem.clients, len(oracle.out)
    follower, head = np.nonzero(problem.may_follow | np.eye(n, dtype=bool))
    z = {(int(i), int(a)): k for k, (i, a) in enumerate(zip(follower, head, strict=True))}
    y = [z[a, a] for a in range(n)]
    active = len(z) + np.arange(hidden)  # the neurons' outputs, then whether they are positive
    positive = active + hidden
    equal, at_most = Rows(), Rows()
    for i in range(n):
        equal.add({z[i, a]: 1.0 for a in range(n) if (i, a) in z}, 1.0)
    if problem.heads is not None:
        equal.add(dict.fromkeys(y, 1.0), problem.heads)
    for (i, a), k in z.items():
        if i != a:
            at_most.add({k: 1.0, y[a]: -1.0}, 0.0)
    for h in range(hidden):
        inputs = {y[a]: float(oracle.weights[a, h]) for a in range(n)}
        bias, low, high = float(oracle.bias[h]), float(oracle.low[h]), float(oracle.high[h])
        at_most.add(inputs | {int(active[h]): -1.0}, -bias)
        minus = {k: -weight for k, weight in inputs.items()}
        at_most.add(minus | {int(active[h]): 1.0, int(positive[h]): -low}, bias - low)
        at_most.add({int(active[h]): 1.0, int(positive[h]): -high}, 0.0)
    columns = len(z) + 2 * hidden
    costs = np.zeros(columns)
    costs[: len(z)] = np.where(follower == head, 0.0, problem.costs[follower, head])
    costs[active] = oracle.out
    upper = np.ones(columns)
    upper[active] = oracle.high
    integrality = np.ones(columns, dtype=np.int64)
    integrality[active] = 0
    left, total = equal.matrix(columns)
    above, right = at_most.matrix(columns)
    rows = [LinearConstraint(left, total, total), LinearConstraint(above, -np.inf, right)]
    found = milp(
        costs,
        integrality=integrality,
        bounds=Bounds(0, upper),
        constraints=rows,
        options={"time_limit": seconds, "mip_rel_gap": 1e-3},  # the oracle is less exact than that
    )
    if found.x is None:  # out of time without any: the oracle has no say then
        return _nearest(problem, cover(problem.may_follow, problem.costs.sum(axis=0)))
    chosen = np.flatnonzero(found.x[: len(z)] > 0.5)
    head_of = np.empty(n, dtype=np.int64)
    head_of[follower[chosen]] = head[chosen]
    return tuple(head_of.tolist())


class _Oracle:
    """What links between heads will cost: a hidden layer of rectified linear units taught by `construct`."""

    def __init__(self, taught: list[tuple[list[int], float]], clients: int, neurons: int, seed: int) -> None:
        self.weights, self.bias, self.out = np.zeros((clients, 0)), np.zeros(0), np.zeros(0)
        if taught:
            from sklearn.exceptions import ConvergenceWarning  # a second to import, which nothing else waits for
            from sklearn.neural_network import MLPRegressor

            chosen = np.array([np.isin(np.arange(clients), heads) for heads, _ in taught], dtype=np.float64)
            prices = np.array([price for _, price in taught])
            spread = float(prices.std()) or 1.0
            network = MLPRegressor(
                hidden_layer_sizes=(neurons,), solver="lbfgs", alpha=1e-3, max_iter=300, random_state=seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                network.fit(chosen, (prices - prices.mean()) / spread)
            self.weights, self.bias = network.coefs_[0], network.intercepts_[0]
            self.out = spread * network.coefs_[1][:, 0]
        self.high = np.maximum(np.maximum(self.weights, 0).sum(axis=0) + self.bias, 0.0)
        self.low = np.minimum(np.minimum(self.weights, 0).sum(axis=0) + self.bias, 0.0)


def _random_heads(problem: Problem, rng: np.random.Generator) -> list[int]:
    """Heads that reach everybody, and a random number of others."""
    heads = cover(problem.may_follow, rng.random(problem.clients))
    others: list[int] = rng.permutation(np.setdiff1d(np.arange(problem.clients), heads)).tolist()
    count = int(rng.integers(len(others) + 1))
    if problem.heads is not None:
        count = max(problem.heads - len(heads), 0)
    return heads + others[:count]


def _nearest(problem: Problem, heads: list[int]) -> tuple[int, ...]:
    """Everybody follows the cheapest of these heads it may follow."""
    table = np.where(problem.may_follow, problem.costs, np.inf)
    np.fill_diagonal(table, -1.0)
    return tuple(np.array(heads)[table[:, heads].argmin(axis=1)].tolist())


def _among_heads(problem: Problem, head_of: tuple[int, ...], deltas: Floats) -> Problem:
    """The problem of linking these heads with each other; what a link costs is counted already, so `once`."""
    heads = sorted(set(head_of))
    costs = problem.link_costs[np.ix_(heads, heads)]
    return Problem(costs, deltas, -1.0, problem.gamma, problem.degree, heads=len(heads), once=True)


def _price(problem: Problem, head_of: tuple[int, ...], links: tuple[Pair, ...], deltas: Deltas) -> float:
    """What these links cost, fines included."""
    place = {h: k for k, h in enumerate(sorted(set(head_of)))}
    fined = fined_links(_among_heads(problem, head_of, deltas(head_of)))
    return float(sum(fined[place[i], place[j]] for i, j in links))


def _settled(
    problem: Problem, answer: Solution, deltas: Floats, rng: np.random.Generator, seconds: float
) -> tuple[float, Solution]:
    """The smallest gamma with which these heads can be connected, and their cheapest links with it."""
    place = {h: k for k, h in enumerate(answer.heads)}
    longest = max([problem.gamma, *(float(deltas[place[i], place[j]]) for i, j in answer.links)])
    steps = [problem.gamma, *np.unique(deltas[(deltas > problem.gamma) & (deltas < longest)]).tolist(), longest]
    low, high = 0, len(steps) - 1 if longest > problem.gamma else 0
    while low < high:
        middle = (low + high) // 2
        trial = replace(_among_heads(problem, answer.head_of, deltas), gamma=steps[middle])
        possible = exact(trial, seconds=seconds).solution is not None
        low, high = (low, middle) if possible else (middle + 1, high)
    found = replace(problem, gamma=steps[high])
    return steps[high], replace(answer, links=construct(found, answer.head_of, deltas, rng, seconds))
