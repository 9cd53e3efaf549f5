"""FedGSP: from sequential to parallel, in ever more groups that look alike.

Zeng et al., "Heterogeneous Federated Learning via Grouped Sequential-to-Parallel Training", Algorithm 1. In round r all
clients are regrouped into f(r) groups by inter-cluster grouping; a share kappa of the groups takes part; in a group the
model is handed from client to client, and the groups' models are averaged. f grows: Eq. 1 to 3 with `alpha`, `beta`.

What departs: line 14 divides by f(r) though only kappa f(r) groups have sent a model, which would shrink it; here the
mean is over the sampled groups, by their samples (`weights`). f(r) is capped at the number of clients. Clients that
equal clusters leave over sit the round out, as Algorithm 2 has it, or are dealt to groups (`rest`).

Where clients cannot reach one another, a group manager on the server's machine relays every hand-over (Section 3.2), so
that each client gets a model and gives one back, 2 kappa K M a round (Eq. 17): `relay`.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Ring, Star, Train, cloud
from covey.sampling import group_odds, part_of, sample_groups

Growth = Literal["linear", "log", "exp"]
Relay: TypeAlias = Annotated[bool, Field(description="hand models over by way of the server, not directly")]


@ALGORITHMS.register("fedgsp", paper="FedGSP")
@settings
class FedGSP(Algorithm):
    """Rings under a star; every round regroups the clients into more and shorter rings."""

    sketch: ClassVar[str] = "Star(Ring(Train))"

    growth: Annotated[Growth, Field(description="how the number of groups grows, Eq. 1 to 3")] = "log"
    alpha: Annotated[float, Field(ge=0, description="how fast it grows")] = 2.0
    beta: Annotated[int, Field(ge=1, description="groups in the first round")] = 10
    kappa: Annotated[float, Field(gt=0, le=1, description="share of the groups that take part in a round")] = 0.3
    rest: Annotated[Literal["idle", "deal"], Field(description="what clients do that no equal group has")] = "idle"
    relay: Relay = True
    weights: Annotated[Literal["samples", "uniform"], Field(description="shares of the groups in the mean")] = "samples"

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star:
        """Regroup, sample groups, shuffle each into a ring."""
        count = self.groups_in(round, fleet.clients)
        groups = group("icg", fleet.labels, groups=count, rng=rng, rest=self.rest).groups
        rings = sample_rings([rng.permutation(members).tolist() for members in groups], self.kappa, rng, self.relay)
        return Star(rings, weights="uniform" if self.weights == "uniform" else None)

    def groups_in(self, round: int, clients: int) -> int:
        """f(r), at most one group per client.

        >>> [FedGSP().groups_in(r, 368) for r in (1, 2, 3, 34)]
        [10, 20, 30, 80]
        """
        if self.growth == "linear":
            grown = self.alpha * (round - 1) + 1
        elif self.growth == "log":
            grown = self.alpha * log(round) + 1
        else:
            grown = exp(min((round - 1) * log1p(self.alpha), log(clients) + 1))  # no larger than is needed
        return min(clients, self.beta * int(grown + 1e-9))


def sample_rings(groups: list[list[int]], kappa: float, rng: np.random.Generator, relay: bool) -> list[Ring]:
    """A share kappa of the groups, at least one, each as a ring in the order of its members, relayed or not."""
    count = part_of(kappa, len(groups))
    drawn = sample_groups(group_odds(np.ones(len(groups)), "uniform"), count, rng)
    return [Ring((Train(i) for i in groups[k]), via=cloud if relay else None) for k in drawn]
