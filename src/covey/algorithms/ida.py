"""IDA: FedAvg that trusts models near the others more.

Yeganeh et al., "Inverse Distance Aggregation for Federated Learning with Non-IID Data", DART 2020. How models become
one is `covey.merge.ida`; any algorithm takes it as `--merge ida`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample
from covey.fleet import Fleet
from covey.plan import Plan, Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("ida", paper="Yeganeh et al. 2020")
@settings
class IDA(Algorithm):
    """A star that weights every model by the inverse of its distance from the mean."""

    sketch: ClassVar[str] = "Star(Train)"

    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """One star over the sampled clients."""
        return Star(Train(i) for i in sample_clients(fleet, self.sample, rng))

    def parts(self) -> dict[str, str]:
        """IDA's merge."""
        return {"merge": "ida"}
