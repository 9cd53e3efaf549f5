"""What a plan costs: seconds and where they go, bytes and where they pass, who is busy, how much energy.

A round's seconds are split by simulating it again with parts switched off. Computing is what is left when every
transfer takes no time; transfers of the round as a whole add what comes on top when only the groups' are free; the
groups' add the rest. The three sum up to the whole, also where computing hides a transfer.

The root's own transfers are the round's, and so are those of a Star of one round right below a Star of the round, which
only gathers for it (combined aggregation); all that is further inside is a group's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.execute.effects import Send
from covey.execute.walk import Brief, Walked, walk
from covey.meter import Ran
from covey.network.clock import Clock, Free, Interval, no_models
from covey.network.site import Site
from covey.network.topology import Node
from covey.plan import Place, Plan, Star, Train


@dataclass(frozen=True, eq=False)
class Price:
    """The cost of one round, or the mean of several.

    `tiers` are bytes by kind of place they leave and reach, `carried` bytes by directed link, `busy` seconds of
    computing by client, `timeline` who did what when (if it was asked for).
    """

    seconds: float
    compute_seconds: float
    group_seconds: float
    global_seconds: float
    tiers: dict[str, float]
    group_bytes: float
    carried: NDArray[np.float64]
    arcs: Sequence[tuple[Node, Node]]
    busy: NDArray[np.float64]
    joules: float
    where: tuple[Place | None, ...] = (None,)
    timeline: tuple[Interval, ...] = field(default=(), repr=False)

    @property
    def communication_seconds(self) -> float:
        """What transfers add to computing."""
        return self.group_seconds + self.global_seconds

    @property
    def bytes(self) -> float:
        """Bytes of all models sent."""
        return sum(self.tiers.values())

    @property
    def busiest_link(self) -> tuple[Node, Node, float] | None:
        """The directed link that carries the most bytes, and how many; none where nothing is sent."""
        if not len(self.carried) or not self.carried.any():
            return None
        arc = int(np.argmax(self.carried))
        return (*self.arcs[arc], float(self.carried[arc]))

    def figures(self) -> dict[str, Any]:
        """All but the timeline as plain numbers and words."""
        busiest = self.busiest_link
        return {
            "seconds_per_round": self.seconds,
            "compute_seconds": self.compute_seconds,
            "communication_seconds": self.communication_seconds,
            "group_seconds": self.group_seconds,
            "global_seconds": self.global_seconds,
            "bytes_per_round": self.bytes,
            "bytes_per_tier": self.tiers,
            "group_bytes": self.group_bytes,
            "global_bytes": self.bytes - self.group_bytes,
            "busiest_link": busiest
            and {"source": str(busiest[0]), "target": str(busiest[1]), "bytes_per_round": busiest[2]},
            "busy_seconds": {"mean": float(self.busy.mean()), "max": float(self.busy.max())},
            "joules": self.joules,
        }


def price(
    plan: Plan,
    site: Site,
    where: Sequence[Place | None] = (None,),
    *,
    begin: float = 0.0,
    failed: Collection[tuple[int, int]] = (),
    timeline: bool = False,
) -> Price:
    """What one round of that plan costs.

    `where` are the places the round before left the models at, `begin` the time of day, `failed` the trainings that
    came to nothing, as (client, visit).

    >>> from covey.fleet import Fleet
    >>> from covey.network.site import make_site
    >>> from covey.plan import Star, Train
    >>> fleet = Fleet(np.array([[10], [20]]))
    >>> site = make_site(fleet, network="star", link="1MB/s,0s", device="1GFLOPS", flops=1e8, model_bytes=1e6)
    >>> cost = price(Star([Train(0), Train(1)]), site)
    >>> cost.seconds, cost.compute_seconds, cost.global_seconds, cost.bytes
    (4.0, 2.0, 2.0, 4000000.0)
    """
    outside = set(map(id, _of_the_round(plan)))

    def of_group(send: Send) -> bool:
        return id(send.owner) not in outside

    def run(free: Free | None, *, record: bool = False) -> tuple[Clock, Walked]:
        clock = Clock(site, begin=begin, failed=failed, free=free, of_group=of_group, record=record)
        return clock, _keep_time(plan, site, clock, where)

    clock, walked = run(None, record=timeline)
    compute = run(_always)[0].now
    outer = run(of_group)[0].now if clock.group_bytes else clock.now
    return Price(
        seconds=clock.now,
        compute_seconds=compute,
        group_seconds=clock.now - outer,
        global_seconds=outer - compute,
        tiers={f"{a}-{b}": count * site.model_bytes for (a, b), count in sorted(walked.traffic.items())},
        group_bytes=clock.group_bytes,
        carried=clock.flows.carried,
        arcs=site.placement.network.arcs,
        busy=clock.busy,
        joules=clock.joules(),
        where=tuple(walked.where),
        timeline=tuple(clock.intervals),
    )


def mean_price(prices: Sequence[Price]) -> Price:
    """The mean round; it keeps the last round's timeline."""

    def mean(name: str) -> Any:
        return sum(getattr(p, name) for p in prices) / len(prices)

    numbers = ("seconds", "compute_seconds", "group_seconds", "global_seconds", "group_bytes", "joules")
    tiers = {tier: sum(p.tiers.get(tier, 0.0) for p in prices) / len(prices) for p in prices for tier in p.tiers}
    last = prices[-1]
    return Price(
        **{name: mean(name) for name in (*numbers, "carried", "busy")},
        tiers=tiers,
        arcs=last.arcs,
        where=last.where,
        timeline=last.timeline,
    )


class _Asked(NamedTuple):
    """All that a round's price depends on."""

    plan: Plan
    where: tuple[Place | None, ...]
    failed: frozenset[tuple[int, int]]
    begin: float


class NetworkMeter:
    """The simulated seconds and joules of a run, and its bytes times the links they pass.

    A round like the one before costs what that did, unless clients sleep.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self._last: _Asked | None = None
        self._spent: dict[str, float] = {}

    def after(self, ran: Ran) -> dict[str, float]:
        """Simulated seconds, joules and bytes on links with this round's."""
        begin = ran.spent.get("simulated_seconds", 0.0) if self.site.windows is not None else 0.0
        asked = _Asked(_without_rates(ran.plan), tuple(ran.where), frozenset(ran.failed), begin)
        if self._last != asked:
            self._last, self._spent = asked, self._measure(asked)
        return {name: ran.spent.get(name, 0.0) + amount for name, amount in self._spent.items()}

    def _measure(self, asked: _Asked) -> dict[str, float]:
        clock = Clock(self.site, begin=asked.begin, failed=asked.failed)
        _keep_time(asked.plan, self.site, clock, asked.where)
        carried = float(clock.flows.carried.sum())
        return {"simulated_seconds": clock.now, "joules": clock.joules(), "link_bytes": carried}


class Ledger:
    """As `NetworkMeter`, keeping the whole price of every round."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.prices: list[Price] = []
        self.last: Ran | None = None

    def after(self, ran: Ran) -> dict[str, float]:
        """Simulated seconds and joules with this round's."""
        begin = ran.spent.get("simulated_seconds", 0.0)
        cost = price(ran.plan, self.site, ran.where, begin=begin, failed=ran.failed)
        self.prices.append(cost)
        self.last = ran
        spent = {"simulated_seconds": cost.seconds, "joules": cost.joules, "link_bytes": float(cost.carried.sum())}
        return {name: ran.spent.get(name, 0.0) + amount for name, amount in spent.items()}


def _keep_time(plan: Plan, site: Site, clock: Clock, where: Sequence[Place | None]) -> Walked:
    brief = Brief(epochs=site.epochs, merges=no_models)
    return walk(plan, [None] * len(where), site.sizes, clock, where, brief=brief)


def _without_rates(plan: Plan) -> Plan:
    """The plan without learning rates, which cost nothing and may fall from round to round."""
    if isinstance(plan, Train):
        return Train(plan.client, plan.epochs)
    return replace(plan, children=tuple(map(_without_rates, plan.children)))


def _of_the_round(plan: Plan) -> Iterator[Plan]:
    """The nodes whose transfers are the round's, not a group's."""
    yield plan
    if isinstance(plan, Star):
        for child in plan.children:
            if isinstance(child, Star) and child.rounds == 1:
                yield from _of_the_round(child)


def _always(_: Send) -> bool:
    return True
