"""CFL: clusters of clients split in two where their updates pull in different directions.

Sattler, Müller, Samek, "Clustered Federated Learning: Model-Agnostic Distributed Multitask Optimization Under Privacy
Constraints", IEEE TNNLS 2020, Algorithms 1 and 3. dW_i is a client's update; a cluster splits when its mean update is
small (below eps1) while some client's is large (above eps2), by complete linkage on -cos(dW_i, dW_j). The paper's
gate sqrt((1 - alpha_cross^max) / 2) > gamma_max is `gamma`.

Departures: means are weighted by samples, so that a CFL that never splits is FedAvg. A cluster of which somebody did
not answer waits for another round to split.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.algorithms.updates import mean_model, rows
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Forest, Star, Train


@ALGORITHMS.register("cfl", paper="Sattler et al. 2020")
@settings
class CFL(Algorithm):
    """A star per cluster; a cluster whose clients disagree splits in two."""

    sketch: ClassVar[str] = "Forest(Star(Train))"

    keeps_updates: ClassVar[bool] = True

    eps1: Annotated[float, Field(ge=0, description="split only when the mean update is shorter")] = 0.4
    eps2: Annotated[float, Field(ge=0, description="split only when some client's update is longer")] = 1.6
    after: Annotated[int, Field(ge=0, description="split only after this many rounds")] = 20
    gamma: Annotated[float | None, Field(ge=0, le=1, description="the paper's gate gamma_max; off unless given")] = None

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Everybody in one cluster."""
        return {"clusters": [list(range(fleet.clients))]}

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Forest:
        """FedAvg in every cluster."""
        return Forest(Star(Train(i) for i in members) for members in state["clusters"])

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Split where the clients disagree; both halves take their own mean update."""
        clusters = [list(members) for members in state["clusters"]]
        if outcome.round <= self.after:
            return {"clusters": clusters}
        for k, members in enumerate(list(clusters)):
            if len(members) <= 2 or any(i not in outcome.updates for i in members):
                continue
            halves = self._split(members, outcome, rng)
            if halves:
                clusters[k] = halves[0]
                clusters.append(halves[1])
                outcome.models[k], other = (mean_model(outcome, half, k) for half in halves)
                outcome.models.append(other)
                outcome.home[halves[1]] = len(clusters) - 1
        return {"clusters": clusters}

    def _split(self, members: list[int], outcome: Outcome, rng: np.random.Generator) -> list[list[int]]:
        """The two halves of a cluster whose clients disagree, else nothing."""
        updates, fleet = rows(outcome, members), outcome.fleet
        mean = np.average(updates, axis=0, weights=fleet.sizes[members])
        longest = np.linalg.norm(updates, axis=1).max()
        if np.linalg.norm(mean) >= self.eps1 or longest <= self.eps2:
            return []
        found = group("cfl", fleet.labels[members], updates=updates, gamma=self.gamma, rng=rng)
        return [list(half) for half in found.renamed(np.array(members))] if len(found) == 2 else []
