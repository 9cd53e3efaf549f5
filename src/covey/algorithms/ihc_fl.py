"""IHC-FL: clusters around heads that exchange models over a network of their own; no server after the first stage.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data", 2023.
Stage 1 (round 1): everybody trains the initial model; delta_ij = 1 - cos of the updates of i and j decides, with the
costs p_ij of sending a model (the fleet's `distances`), who are heads, who follows whom and which heads are linked
(section III). Stage 2: a cluster averages at its head, by samples, and the heads mix with their neighbours, uniformly.

Departures: updates are compared, not models, which share their initialisation and are all alike; a cluster starts
stage 2 from the mean of its members' stage-1 models; where topology construction is infeasible gamma is raised to the
smallest feasible value. A head that does not answer hands its place to the member that is cheapest to reach for the
others; the paper claims no single point of failure and leaves this open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.updates import mean_model, rows
from covey.errors import BadValue, RunFailed
from covey.fleet import Fleet
from covey.grouping import group
from covey.grouping.kmeans_ring import kmeans_ring
from covey.grouping.updates import cosines
from covey.plan import Forest, Mesh, Plan, Star, Train, client, without

HEADS = 4  # of k-means unless given: the best number of the paper's Fig. 2


@ALGORITHMS.register("ihc-fl", paper="IHC-FL")
@settings
class IHCFL(Algorithm):
    """Clusters of similar clients that average at a head; heads mix with neighbouring heads."""

    sketch: ClassVar[str] = "Mesh(Star(Train))"

    keeps_updates: ClassVar[bool] = True

    stage1: Annotated[int | None, Field(ge=1, description="epochs of stage 1; the run's setting unless given")] = None
    degree: Annotated[int, Field(ge=2, description="links of a head (D)")] = 2
    epsilon: Annotated[
        float | None, Field(ge=0, description="farthest a client is from its head; the paper's rule unless given")
    ] = None
    ratio: Annotated[float, Field(gt=0, description="gamma over epsilon")] = 1.8
    between: Annotated[
        Literal["clusters", "heads"],
        Field(description="what gamma bounds: distances of averaged clusters, or of heads"),
    ] = "clusters"
    method: Annotated[
        Literal["search", "exact", "paper", "k-means"],
        Field(description="how clusters are found: search, exact, paper, or k-means with a ring (Fig. 2)"),
    ] = "search"
    heads: Annotated[
        int | None, Field(ge=1, description="number of clusters; the cheapest unless given, 4 with k-means")
    ] = None
    kill: Annotated[
        tuple[Annotated[int, Field(ge=2)], ...],
        Field(description="rounds from 2 up before which the head of the largest cluster dies for good"),
    ] = ()

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """Everybody alone; then a mesh of stars at the heads, without the dead."""
        if round == 1:
            return Forest(Train(i, self.stage1) for i in range(fleet.clients))
        stars = [Star((Train(i) for i in members), at=client(members[0])) for members in state["clusters"]]
        plan = without(Mesh(stars, state["links"]), state["dead"])
        if plan is None:
            raise RunFailed(f"round {round}: all {fleet.clients} clients have died (kill); nobody is left to train")
        return plan

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Form clusters after stage 1; replace heads that are gone."""
        if outcome.round == 0:
            if self.heads is not None and self.heads > outcome.fleet.clients:
                raise BadValue("heads", self.heads, f"at most the {outcome.fleet.clients} clients")
            return {"clusters": [], "links": [], "dead": []}
        if outcome.round == 1:
            state = self._form(outcome, rng)
        lost = {i for i, _ in outcome.lost}
        # members stand in the order in which they are to lead; who did not answer goes back, the dead go last
        clusters = [sorted(members, key=lambda i: i in lost) for members in state["clusters"]]
        dead = list(state["dead"])
        for _ in range(self.kill.count(outcome.round + 1)):
            alive = [[i for i in members if i not in dead] for members in clusters]
            dead += max(alive, key=len)[:1]
        clusters = [sorted(members, key=lambda i: i in dead) for members in clusters]
        for k, place in enumerate(outcome.where):  # what the dead had lives on with the others
            if place is not None and place.kind == "client" and place.number in dead:
                outcome.where[k] = client(clusters[k][0])
        return {**state, "clusters": clusters, "dead": dead}

    def _form(self, outcome: Outcome, rng: np.random.Generator) -> State:
        """Cluster formation and topology construction from the updates of stage 1."""
        fleet = outcome.fleet
        updates = rows(outcome, range(fleet.clients))
        deltas = 1 - cosines(updates)
        nearest = np.where(np.eye(len(deltas), dtype=bool), np.inf, deltas).min(axis=1)
        epsilon = float(nearest.max()) if self.epsilon is None else self.epsilon
        costs = 1 + deltas if fleet.distances is None else fleet.distances
        if self.method == "k-means":
            found = kmeans_ring(updates, self.heads or HEADS, rng)
        else:
            found = group(
                "ihc",
                fleet.labels,
                groups=self.heads,
                updates=updates,
                distances=costs,
                sizes=fleet.sizes,
                degree=self.degree,
                epsilon=self.epsilon,
                gamma=self.ratio * epsilon if np.isfinite(epsilon) else None,
                between=self.between,
                method=self.method,
                rng=rng,
            )
        clusters = [_line(head, members, costs) for members, head in zip(found, found.heads or (), strict=True)]
        outcome.models = [mean_model(outcome, members) for members in clusters]
        outcome.home = found.of(fleet.clients)
        outcome.where = [client(members[0]) for members in clusters]
        everybody, leaders = fleet.clients, len(clusters)
        outcome.traffic += Counter({("cloud", "client"): everybody + leaders, ("client", "cloud"): everybody})
        return {"clusters": clusters, "links": [list(link) for link in found.links or ()], "dead": []}

    def parts(self) -> dict[str, str]:
        """The paper's costs of sending a model between clients."""
        return {"distances": "similar"}


def _line(head: int, members: Sequence[int], costs: NDArray[np.float64]) -> list[int]:
    """The members in the order in which they are to lead: the head, then who is cheapest to reach for the others."""
    reach = costs[np.ix_(members, members)].sum(axis=0)
    return sorted(members, key=lambda i: (i != head, reach[members.index(i)]))
