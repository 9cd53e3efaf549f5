"""SemiCyclic: one chain of SGD through the blocks of the day, and the mean of a block's iterates as its predictor.

Eichner et al., "Semi-Cyclic Stochastic Gradient Descent", ICML 2019, section 4 (pluralistic averaging). The chain
passes the clients of the block that is awake one after the other; block i's predictor is the mean of all iterates made
inside block i, over all cycles. A round is one block, and a cycle as many rounds as blocks.

Departures: an iterate is the model a client hands on, not every SGD step of a client; a block that was not visited yet
is tested with the chain.
"""

from __future__ import annotations

from itertools import accumulate
from typing import ClassVar

import numpy as np

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.blocks import Blocks, block_in, blocks_of, predict
from covey.algorithms.common import Sample, Tau1, some_of
from covey.fleet import Fleet
from covey.plan import Forest, Ring, Train


@ALGORITHMS.register("semicyclic", paper="Eichner et al. 2019")
@settings
class SemiCyclic(Algorithm):
    """A chain through the clients of the block that is awake; a predictor per block."""

    sketch: ClassVar[str] = "Forest(Ring(Train))"

    keeps_updates: ClassVar[bool] = True

    blocks: Blocks = 5
    tau1: Tau1 = None
    sample: Sample = 1.0

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Who is awake in which block; how many iterates went into each predictor."""
        blocks = blocks_of(fleet, self.blocks, rng)
        return {"blocks": blocks, "iterates": [0] * len(blocks)}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Forest:
        """The block that is awake in this round, one client after the other."""
        members = state["blocks"][block_in(round, len(state["blocks"]))]
        taken = some_of(members, fleet, self.sample, rng)
        return Forest([Ring(Train(i, self.tau1) for i in rng.permutation(taken))])

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """The block's predictor takes in every model that was handed on."""
        steps = [outcome.updates[i] for i in outcome.trained]
        made = list(accumulate(steps, initial=outcome.before[0]))[1:]
        return {**state, "iterates": predict(outcome, state["blocks"], state["iterates"], made)}
