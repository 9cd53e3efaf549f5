"""HierFAVG: clients average at their edge, and every so often the edges average at the cloud.

Liu et al., "Client-Edge-Cloud Hierarchical Federated Learning", ICC 2020, Algorithm 1. kappa_1 is `tau1`, kappa_2 is
`tau2`.

Departures: kappa_1 counts local epochs, not iterations, as in FedAvg-IC and TornadoAggregate. With `direct` the cloud
gathers the models of all clients, not one per edge: FedAvg-IC's simulator charges HierFAVG's global step so. The model
is the same, the traffic is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample, Tau1, Tau2, sampled
from covey.fleet import Fleet
from covey.plan import Place, Plan, Ring, Star, Train, cloud, edge


@ALGORITHMS.register("hierfavg", paper="Liu et al. 2020")
@settings
class HierFAVG(Algorithm):
    """STAR-stars over the edges: tau2 averages at every edge, then one at the cloud."""

    sketch: ClassVar[str] = "Star(Star(Train))"

    tau1: Tau1 = None
    tau2: Tau2 = 5
    sample: Sample = 1.0
    direct: Annotated[
        bool,
        Field(description="in the last step clients send to the cloud themselves, as FedAvg-IC's authors charge it"),
    ] = False

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star:
        """A star of stars, one per edge."""
        groups = [members for members in sampled(fleet.by_edge, fleet, self.sample, rng) if members]
        return Star(self._edge(members, edge(fleet.edge(members[0]))) for members in groups)

    def _edge(self, members: Sequence[int], place: Place) -> Plan:
        """What the clients of an edge do in a round."""
        trains = [Train(i, self.tau1) for i in members]
        if not self.direct:
            return Star(trains, rounds=self.tau2, at=place)
        last = Star(trains, at=cloud)
        return last if self.tau2 == 1 else Ring([Star(trains, rounds=self.tau2 - 1, at=place), last])
