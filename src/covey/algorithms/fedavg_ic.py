"""FedAvg-IC: groups that are like the whole fleet and whose nodes are near one another.

Lee et al., "Accurate and Fast Federated Learning via IID and Communication-Aware Grouping", 2020, Algorithm 1 and
Appendix B. Epoch 1 is FedAvg; then the nodes' gradients at that model and the hops between nodes (the fleet's
`distances`: hops on the run's network, else on a fat-tree with a pod an edge) make the groups, once;
from there on nodes average in their group every tau1 epochs and at the cloud every tau1 tau2. FedAvg-I and FedAvg-C
look at one of the two costs only.

Departures: the group's mean is also taken before a global average (a mean of means: the same model). Algorithm 1 line 6
forgets "mod tau1 = 0", Eq. 4 is followed. A group's server is at its medoid, whose hops the grouping minimised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.common import GroupCount
from covey.errors import BadValue
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Plan, Ring, Star, Train, client, combine

PAPER = "FedAvg-IC"


@ALGORITHMS.register("fedavg-ic", paper=PAPER)
@settings
class FedAvgIC(Algorithm):
    """STAR-stars over groups with low IID and communication costs."""

    sketch: ClassVar[str] = "Star(Star(Train))"

    groups: GroupCount = 10
    tau1: Annotated[int, Field(ge=1, description="local epochs between group averages")] = 1
    tau2: Annotated[int, Field(ge=1, description="group averages between global ones")] = 5
    epoch_decay: Annotated[float, Field(gt=0, le=1, description="factor of the learning rate after every epoch")] = 0.99
    alpha_iid: Annotated[float, Field(ge=0, description="weight of the IID cost")] = 1.0
    alpha_comm: Annotated[float, Field(ge=0, description="weight of the communication cost")] = 1.0
    combined: Annotated[bool, Field(description="average the models of one edge there first (App. B)")] = True
    assign: Annotated[
        Literal["total", "own"],
        Field(description="what a node joins by: the cost of all groups, or Eq. 10's of its own"),
    ] = "total"
    steady: Annotated[int, Field(ge=1, description="passes of the grouping without improvement before it stops")] = 5
    max_size: Annotated[int | None, Field(ge=1, description="most nodes of a group; no limit unless given")] = None
    search: Annotated[int, Field(ge=0, description="passes that then move single nodes to where all costs least")] = 0

    def __post_init__(self) -> None:
        if self.search and self.assign == "own":
            raise BadValue("search", self.search, "0 with assign 'own'; a search lowers the cost of all groups")

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Nothing is remembered before the groups are formed; whether they can be is known now."""
        groups = min(self.groups, fleet.clients)
        if self.max_size is not None and self.max_size * groups < fleet.clients:
            least = -(-fleet.clients // groups)
            raise BadValue("max_size", self.max_size, f"{least} or more for {fleet.clients} clients in {groups} groups")
        return {}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """The warm-up epoch, then a star of groups."""
        if round == 1:
            plan = Star(Train(i, 1) for i in range(fleet.clients))
        else:
            done = 1 + (round - 2) * self.tau1 * self.tau2
            plan = Star(
                self._group(members, head, done) for members, head in zip(state["groups"], state["heads"], strict=True)
            )
        return combine(plan, fleet) if self.combined else plan

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Group by gradients and hops, after the warm-up; who does not look at gradients does not ask for them."""
        if outcome.round != 1:
            return state
        fleet = outcome.fleet
        found = group(
            "kmedoids",
            fleet.labels,
            groups=min(self.groups, fleet.clients),
            updates=outcome.gradients() if self.alpha_iid else None,
            sizes=fleet.sizes,
            distances=fleet.distances,
            alpha_iid=self.alpha_iid,
            alpha_comm=self.alpha_comm,
            assign=self.assign,
            steady=self.steady,
            max_size=self.max_size,
            search=self.search,
            rng=rng,
        )
        if self.alpha_iid:
            outcome.traffic += Counter({("client", "cloud"): fleet.clients})  # the gradients
        return {"groups": [sorted(members) for members in found], "heads": list(found.heads or ())}

    def _group(self, members: Sequence[int], head: int, done: int) -> Plan:
        """tau2 rounds of a group whose nodes have had `done` epochs, the rate falling from epoch to epoch."""
        if self.epoch_decay == 1:
            return Star((Train(i, self.tau1) for i in members), rounds=self.tau2, at=client(head))
        starts = range(done, done + self.tau1 * self.tau2, self.tau1)
        return Ring(Star((self._local(i, start) for i in members), at=client(head)) for start in starts)

    def _local(self, node: int, done: int) -> Plan:
        epochs = [Train(node, 1, self.epoch_decay**e) for e in range(done, done + self.tau1)]
        return epochs[0] if len(epochs) == 1 else Ring(epochs)

    def parts(self) -> dict[str, str]:
        """Hops between nodes."""
        return {"distances": "hops"}


ALGORITHMS.add(
    "fedavg-i",
    FedAvgIC,
    summary="FedAvg-IC with the IID cost only.",
    paper=PAPER,
    settings={"alpha_comm": 0.0},
    fixed=("alpha_comm",),
)
ALGORITHMS.add(
    "fedavg-c",
    FedAvgIC,
    summary="FedAvg-IC with the communication cost only.",
    paper=PAPER,
    settings={"alpha_iid": 0.0},
    fixed=("alpha_iid",),
)
