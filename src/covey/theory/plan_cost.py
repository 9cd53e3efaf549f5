"""Group-FEL's cost of any plan, counted off the plan itself.

"Group Formation and Sampling in Group-based Hierarchical Federated Learning", Eq. 5, whatever the architecture: every
training costs its client H_i(n_i) an epoch, and wherever models of k clients meet in a Star, each of those clients
takes part in a group operation and pays O_g(k). For groups under a cloud that is Eq. 5 to the letter; FedAvg is one
group of all that take part; in a ring only the last client's model meets others.
"""

from __future__ import annotations

from collections.abc import Sequence

from covey.meter import Ran
from covey.plan import Plan, Star, Train, ends_at
from covey.prices import Prices


def plan_cost(plan: Plan, sizes: Sequence[int], *, epochs: int, prices: Prices) -> float:
    """What one round of that plan costs all clients together, in the seconds of these prices.

    `sizes[i]`: samples of client i; `epochs`: local epochs where the plan names none.

    Prices g^2 and n, two clients with 3 and 5 samples: 4 + 2 x 3 and 4 + 2 x 5.

    >>> plan_cost(Star([Train(0), Train(1)]), [3, 5], epochs=2, prices=Prices((1, 0, 0), (1, 0)))
    24.0
    """
    if isinstance(plan, Train):
        return (plan.epochs or epochs) * prices.train_seconds(sizes[plan.client])
    inside = sum(plan_cost(child, sizes, epochs=epochs, prices=prices) for child in plan.children)
    if not isinstance(plan, Star):
        return inside
    meeting = sum(ends_at(child).kind == "client" for child in plan.children)
    return plan.rounds * (inside + meeting * prices.group_seconds(meeting))


class CostMeter:
    """The cost of a run, round by round; `sizes` and `epochs` as in `plan_cost`."""

    def __init__(self, prices: Prices, sizes: Sequence[int], epochs: int) -> None:
        self.prices, self.sizes, self.epochs = prices, sizes, epochs

    def after(self, ran: Ran) -> dict[str, float]:
        """The cost with this round's."""
        now = plan_cost(ran.plan, self.sizes, epochs=self.epochs, prices=self.prices)
        return {"cost": ran.spent.get("cost", 0.0) + now}
