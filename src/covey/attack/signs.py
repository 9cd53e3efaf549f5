"""Sign flipping: attackers send the opposite of their update, to keep everybody from learning.

Li et al., "RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed Learning from Heterogeneous Datasets",
AAAI 2019.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from covey.attack.base import ATTACKS, Attack, Trial
from covey.errors import BadValue
from covey.execute.effects import Answer, Job
from covey.fleet import FleetData


@ATTACKS.register("sign-flip", paper="Li et al. 2019")
@dataclass(frozen=True)
class SignFlip(Attack):
    """Attackers send the opposite of their update, `scale` times as long.

    It works as often as a test sample is labelled wrongly.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scale > 0:
            raise BadValue("scale of sign-flip", self.scale, "a number above 0")

    def answer(self, job: Job, answer: Answer, attackers: frozenset[int]) -> Answer:
        """The opposite of the update."""
        return replace(answer, model=job.model - self.scale * (answer.model - job.model), finite=None)

    def trial(self, data: FleetData) -> Trial:
        """The test set; any wrong label will do."""
        return Trial(data.test_x, data.test_y, wrong=True)
