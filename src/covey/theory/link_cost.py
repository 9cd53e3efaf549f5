"""IHC-FL's cost of communication, counted off any plan.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data", objective
(1a): p_ij for every member j of head i, once, and p_ij both ways for every two linked heads. A member's model on its
way to the head is what is counted; the model it is given back is not. The same rule prices any other plan: what meets
in a Star is paid for on its way there, what a Ring hands on once, what a Mesh exchanges both ways.

A server stands at the client from which all others are cheapest to reach, so that FedAvg costs what one cluster around
the best head costs.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from covey.errors import BadValue
from covey.meter import Ran
from covey.plan import Forest, Mesh, Place, Plan, Ring, Star, Train, ends_at, starts_at


def link_cost(plan: Plan, costs: ArrayLike) -> float:
    """What one round of that plan costs; `costs[i, j]` is p_ij, the cost of sending a model from client i to client j.

    Three clients, 1 apart but for 0 and 2, which are 4 apart: a star at client 1, the cheapest, costs 1 + 1 (client 1
    sends itself nothing); a ring from 0 to 2 costs 4.

    >>> from covey.plan import client
    >>> costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    >>> link_cost(Star([Train(0), Train(1), Train(2)]), costs), link_cost(Ring([Train(0), Train(2)]), costs)
    (2.0, 4.0)
    >>> link_cost(Mesh([Star([Train(0), Train(1)], at=client(0)), Train(2)], links=[(0, 1)]), costs)  # 1 + 4 + 4
    9.0
    """
    return LinkMeter(costs).cost(plan)


class LinkMeter:
    """The cost of a run's links, round by round; `costs` as in `link_cost`."""

    def __init__(self, costs: ArrayLike) -> None:
        self.costs = np.asarray(costs, dtype=np.float64)
        shape = self.costs.shape
        if len(shape) != 2 or shape[0] != shape[1] or not (self.costs >= 0).all():
            raise BadValue("costs", shape, "a square table of numbers from 0 up")
        self.server = int(self.costs.sum(axis=0).argmin())

    def after(self, ran: Ran) -> dict[str, float]:
        """The cost with this round's."""
        return {"link_cost": ran.spent.get("link_cost", 0.0) + self.cost(ran.plan)}

    def cost(self, plan: Plan, *, root: bool = True) -> float:
        """What one round costs; the models of a Mesh or Forest at the root stay where they are."""
        if isinstance(plan, Train):
            return 0.0
        total = sum(self.cost(child, root=False) for child in plan.children)
        if isinstance(plan, Ring):
            for before, after in pairwise(plan.children):
                source, target = ends_at(before), starts_at(after)
                if plan.via is not None and source != target:
                    total += self._sent(source, plan.via)
                    source = plan.via
                total += self._sent(source, target)
        if isinstance(plan, Mesh):
            ends = [ends_at(child) for child in plan.children]
            total += sum(self._sent(ends[a], ends[b]) + self._sent(ends[b], ends[a]) for a, b in plan.links)
        if isinstance(plan, Star) or (isinstance(plan, Mesh | Forest) and not root):
            total += sum(self._sent(ends_at(child), plan.at) for child in plan.children)
        return total * plan.rounds if isinstance(plan, Star) else total

    def _sent(self, source: Place, target: Place) -> float:
        i, j = (place.number if place.kind == "client" else self.server for place in (source, target))
        return 0.0 if i == j else float(self.costs[i, j])
