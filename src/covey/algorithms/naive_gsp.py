"""NaiveGSP: what FedGSP is without its growth and without its grouping.

Zeng et al., "Heterogeneous Federated Learning via Grouped Sequential-to-Parallel Training", Section 4.1, ablations:
clients are assigned at random to a fixed number of groups; in a group they train one after another, always in the same
order, and the groups are averaged. NaiveGSP+ICG forms the groups by inter-cluster grouping instead.

The paper does not say how many groups: `groups` is the 10 that FedGSP starts with. What departs: clients that equal
clusters leave over are dealt to groups, since in fixed groups they would never train.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import GroupCount
from covey.algorithms.fedgsp import Relay, sample_rings
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Star


@ALGORITHMS.register("naive-gsp", paper="FedGSP")
@settings
class NaiveGSP(Algorithm):
    """Rings under a star, in fixed random groups."""

    sketch: ClassVar[str] = "Star(Ring(Train))"

    grouping: Annotated[Literal["random", "icg"], Field(description="how clients are grouped, once")] = "random"
    groups: GroupCount = 10
    kappa: Annotated[float, Field(gt=0, le=1, description="share of the groups that take part in a round")] = 0.3
    relay: Relay = True

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Group once, in an order that stays."""
        extras: dict[str, Any] = {"rest": "deal"} if self.grouping == "icg" else {}
        found = group(self.grouping, fleet.labels, groups=min(self.groups, fleet.clients), rng=rng, **extras)
        return {"groups": [rng.permutation(members).tolist() for members in found]}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star:
        """Sample groups; each is a ring."""
        return Star(sample_rings(state["groups"], self.kappa, rng, self.relay))


ALGORITHMS.add(
    "naive-gsp-icg",
    NaiveGSP,
    summary="Rings under a star, in fixed groups that look alike.",
    paper="FedGSP",
    settings={"grouping": "icg"},
    fixed=("grouping",),
)
