"""MM-PSGD: parallel SGD over block-cyclic data, with a predictor of its own for every block.

Ding et al., "Distributed Optimization over Block-Cyclic Data", 2020, multi-model parallel SGD. One chain goes through
the blocks; in its block the clients train in parallel and average every I steps. Block m's predictor becomes
(r predictor + mean) / (r + 1) after r visits before. A round is one block, and a cycle as many rounds as blocks.

Departures: I counts local epochs (`tau1`), after which a block averages, `tau2` times in a visit; a block that was
not visited yet is tested with the chain.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.blocks import Blocks, block_in, blocks_of, predict
from covey.algorithms.common import Sample, Tau1, Tau2, some_of
from covey.fleet import Fleet
from covey.plan import Forest, Star, Train


@ALGORITHMS.register("mm-psgd", paper="Ding et al. 2020")
@settings
class MMPSGD(Algorithm):
    """A chain of stars: the block that is awake averages, then hands the model on; a predictor per block."""

    sketch: ClassVar[str] = "Forest(Star(Train))"

    blocks: Blocks = 5
    tau1: Tau1 = None
    tau2: Tau2 = 1
    sample: Sample = 1.0

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Who is awake in which block; how many visits went into each predictor."""
        blocks = blocks_of(fleet, self.blocks, rng)
        return {"blocks": blocks, "visits": [0] * len(blocks)}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Forest:
        """The block that is awake in this round, as a star."""
        members = state["blocks"][block_in(round, len(state["blocks"]))]
        taken = some_of(members, fleet, self.sample, rng)
        return Forest([Star((Train(i, self.tau1) for i in taken), rounds=self.tau2)])

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """The block's predictor takes in the model the chain leaves with."""
        made = outcome.models[:1] if outcome.round else []
        return {**state, "visits": predict(outcome, state["blocks"], state["visits"], made)}
