"""Block-cyclic data: clients are awake in blocks of the day, one block after the other, day after day.

Shared by MM-PSGD and SemiCyclic. A chain, model 0 of the run, goes through the blocks, a round in each; block b's
predictor is model 1 + b and what the clients of that block are tested with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np
from pydantic import Field

from covey.algorithms.base import Outcome
from covey.fleet import Fleet

if TYPE_CHECKING:
    from torch import Tensor

Blocks: TypeAlias = Annotated[
    int, Field(ge=1, description="blocks of the day, where the fleet has no windows of its own")
]


def blocks_of(fleet: Fleet, blocks: int, rng: np.random.Generator) -> list[list[int]]:
    """The clients of every block: the fleet's windows, or this many blocks at random.

    >>> fleet = Fleet(np.ones((3, 1)), window_of=np.array([4, 0, 4]))
    >>> blocks_of(fleet, 2, np.random.default_rng(0))
    [[1], [0, 2]]
    """
    if fleet.window_of is not None:
        return [np.flatnonzero(fleet.window_of == w).tolist() for w in np.unique(fleet.window_of)]
    order = rng.permutation(fleet.clients)
    count = min(blocks, fleet.clients)
    return [sorted(order[b::count].tolist()) for b in range(count)]


def block_in(round: int, blocks: int) -> int:
    """The block that is awake in that round.

    >>> [block_in(round, 3) for round in (1, 2, 3, 4)]
    [0, 1, 2, 0]
    """
    return (round - 1) % blocks


def predict(outcome: Outcome, blocks: list[list[int]], count: list[int], iterates: list[Tensor]) -> list[int]:
    """Take new iterates into the predictor of the block that was awake; gives the new counts of iterates.

    A predictor is the mean of all iterates its block has made; until it made one it follows the chain.
    """
    chain, *predictors = outcome.models if len(outcome.models) > 1 else outcome.models * (len(blocks) + 1)
    count = list(count)
    if iterates:
        b = block_in(outcome.round, len(blocks))
        total = sum(iterates[1:], start=iterates[0])
        predictors[b] = (count[b] * predictors[b] + total) / (count[b] + len(iterates))
        count[b] += len(iterates)
    predictors = [p if made else chain for p, made in zip(predictors, count, strict=True)]
    outcome.models = [chain, *predictors]
    for b, members in enumerate(blocks):
        outcome.home[members] = 1 + b
    return count
