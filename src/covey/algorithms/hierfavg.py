"""HierFAVG: clients average at their edge, and every so often the edges average at the cloud.

Liu et al., "Client-Edge-Cloud Hierarchical Federated Learning", ICC 2020, Algorithm 1. kappa_1 is `tau1`, kappa_2 is
`tau2`.

Departures: kappa_1 counts local epochs, not iterations, as in FedAvg-IC and TornadoAggregate.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample, Tau1, Tau2, sampled
from covey.fleet import Fleet
from covey.plan import Plan, Star, Train, edge


@ALGORITHMS.register("hierfavg", paper="Liu et al. 2020")
@settings
class HierFAVG(Algorithm):
    """STAR-stars over the edges: tau2 averages at every edge, then one at the cloud."""

    sketch: ClassVar[str] = "Star(Star(Train))"

    tau1: Tau1 = None
    tau2: Tau2 = 5
    sample: Sample = 1.0

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """A star of stars, one an edge."""
        groups = sampled(fleet.by_edge, fleet, self.sample, rng)
        return Star(
            Star((Train(i, self.tau1) for i in members), rounds=self.tau2, at=edge(fleet.edge(members[0])))
            for members in groups
            if members
        )
