"""What a run with noise gives away about a client: epsilon, for the delta that its merge names.

Rounds are added up by the Renyi accountant of `dp-accounting` (Mironov 2017; Mironov, Talwar and Zhang 2019 for rounds
that only some clients take part in). A client that takes part in k noisy merges of one round is hit by noise as if
it were one merge with noise / sqrt(k). Neighbouring fleets differ in what one client sends being there or being zero.

Without `amplify` everybody counts as taking part in every round: that holds whoever is drawn, and whoever knows it.
With it, epsilon is that of everybody taking part with the chance of the round with the most clients, independently of
each other and in secret (Poisson sampling). covey's algorithms draw a fixed number of clients or of groups, some of
them unevenly; then the smaller epsilon is an estimate and no guarantee.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

from covey.errors import BadValue
from covey.merge import Merges, meets_clients
from covey.meter import Ran
from covey.plan import Plan, Star, Train, clients


class PrivacyMeter:
    """Says after every round what all rounds so far have given away."""

    def __init__(self, merges: Merges, fleet_clients: int) -> None:
        self.merges, self.clients = merges, fleet_clients
        noisy = [merge for merge in (merges.clients, merges.servers) if noise_of(merge)]
        self.noise = min(map(noise_of, noisy))
        self.delta = max(float(getattr(merge, "delta", 0.0)) for merge in noisy)
        self.amplify = all(getattr(merge, "amplify", False) for merge in noisy)

    def after(self, ran: Ran) -> dict[str, float]:
        """Epsilon and delta, and what they come from: rounds, noisy merges in one, the share of clients in one."""
        merges = Counter[int]()
        self._count(ran.plan, 1, merges)
        steps = max(ran.spent.get("privacy_steps", 0), *merges.values(), 0)
        rounds = ran.spent.get("privacy_rounds", 0) + 1
        rate = max(ran.spent.get("privacy_rate", 0.0), len(merges) / self.clients) if self.amplify else 1.0
        spent = epsilon(self.noise, rounds=int(rounds), steps=int(steps), rate=rate, delta=self.delta)
        return {
            "epsilon": spent,
            "delta": self.delta,
            "privacy_rounds": rounds,
            "privacy_steps": steps,
            "privacy_rate": rate,
        }

    def _count(self, plan: Plan, times: int, merges: Counter[int]) -> None:
        """Adds up for every client how many noisy merges it is in."""
        if isinstance(plan, Train):
            return
        again = times * (plan.rounds if isinstance(plan, Star) else 1)
        if isinstance(plan, Star) and noise_of(self.merges(plan.merge, meets_clients(plan))):
            merges.update(dict.fromkeys(clients(plan), again))
        for child in plan.children:
            self._count(child, again, merges)


def noise_of(merge: object) -> float:
    """The noise of a merge in lengths of an update; 0 where it has none."""
    return float(merge.noise) if hasattr(merge, "delta") and hasattr(merge, "noise") else 0.0


@lru_cache(maxsize=1024)
def epsilon(noise: float, *, rounds: int, steps: int = 1, rate: float = 1.0, delta: float = 1e-5) -> float:
    """Epsilon, for that `delta`, of what a client gives away in `rounds` rounds.

    `noise`: its standard deviation over the length that updates are clipped to; `steps`: noisy merges per round;
    `rate`: the chance that a client takes part in a round.

    >>> round(epsilon(1.0, rounds=1), 2), epsilon(1.1, rounds=100, rate=0.1) < epsilon(1.1, rounds=100)
    (4.73, True)
    """
    try:
        from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
        from dp_accounting.rdp import RdpAccountant
    except ModuleNotFoundError:
        raise BadValue("noise", "no `dp-accounting` here", "used after: pip install 'covey[privacy]'") from None
    if not steps:
        return 0.0
    once = GaussianDpEvent(noise / math.sqrt(steps))
    accountant = RdpAccountant()
    accountant.compose(once if rate >= 1 else PoissonSampledDpEvent(rate, once), rounds)
    return float(accountant.get_epsilon(delta))
