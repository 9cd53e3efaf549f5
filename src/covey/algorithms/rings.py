"""Rings and their chains, as TornadoAggregate and the architectures use them.

A ring's order is a random permutation, reshuffled after every full pass; chain c is c places ahead. (Algorithm 2's
(i_j + c) mod |N^k| need not be a member of the group.) Where clients are awake in windows only, the order goes through
the windows one after the other and chain c is c places ahead within each: all chains follow the sun together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.algorithms.base import Outcome
from covey.fleet import Fleet

T = TypeVar("T")


def visited(
    nodes: Sequence[T],
    *,
    first: int,
    count: int,
    chain: int = 0,
    key: Sequence[int],
    windows: NDArray[np.int64] | None = None,
) -> list[T]:
    """The nodes a chain visits at steps first, first + 1, …; `key` and the lap decide the order of a pass.

    Chains of one ring, at most one per node (a node awake in the same window), never meet.

    >>> print(*visited("abc", first=0, count=6, key=[1]))
    a b c c a b
    >>> print(*visited("abc", first=0, count=6, chain=1, key=[1]))
    b c a a b c
    >>> print(*visited("abcd", first=0, count=4, key=[1], windows=np.array([1, 0, 1, 0])))
    b d a c
    """
    found = []
    for step in range(first, first + count):
        lap, spot = divmod(step, len(nodes))
        found.append(nodes[_order(len(nodes), chain, np.random.default_rng([*key, lap]), windows)[spot]])
    return found


def _order(length: int, chain: int, rng: np.random.Generator, windows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """One pass of a chain: the windows in turn, each at random and rotated by the chain."""
    shuffled = rng.permutation(length)
    parts = [shuffled] if windows is None else [shuffled[windows[shuffled] == w] for w in np.unique(windows)]
    return np.concatenate([np.roll(part, -chain) for part in parts])


def samples_of(groups: Sequence[Sequence[int]], fleet: Fleet) -> list[int] | None:
    """The samples of all clients of every group as weights, |D^k|; None, a Star's own way, where nobody has any.

    >>> samples_of([[0, 2], [1]], Fleet(np.array([[3], [5], [4]])))
    [7, 5]
    """
    weights = [int(fleet.sizes[list(members)].sum()) for members in groups]
    return weights if any(weights) else None


def evaluate_mean(outcome: Outcome, chains: int) -> None:
    """Put the mean of the chains' models after them, and let everybody be tested with it; the chains live on."""
    models = outcome.models[:chains]
    models += [models[0]] * (chains - len(models))
    mean = sum(models[1:], start=models[0]) / chains
    outcome.models = [*models, mean]
    outcome.home = np.full(outcome.fleet.clients, chains, dtype=np.int64)
