"""The clock: an executor that trains nothing and says how long everything takes.

It answers a training with the device's computing time, a transfer with a flow through the network, and a meeting of
models with the time of merging them and of the group operation their owners take part in. So a Star waits for its
slowest child, a Ring adds up, a Mesh exchanges over links it shares, without a word about any of them in here.

A device does one thing at a time: a client that is asked to train twice at once does so one after the other. Sending
and receiving go on beside computing. A client that sleeps pauses its training; its radio stays awake. Energy is the
clients' alone: servers are on the mains.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from covey.execute.effects import Answer, ExecutorState, Failure, Job, Meet, Send
from covey.merge import Gathering
from covey.network.flows import FlowSimulator
from covey.network.site import Site
from covey.plan import Place, client

Free = Callable[[Send], bool]


@dataclass(frozen=True, slots=True)
class Interval:
    """Who did what from when to when: a client trains, a place sends a model `to` another, models meet at a place."""

    who: Place
    what: Literal["train", "send", "meet"]
    begin: float
    end: float
    to: Place | None = None


class Clock:
    """Keeps the time of one round.

    `begin` is the time of day at which it starts (for those who sleep), `failed` the trainings that come to nothing,
    as (client, visit); `free` tells which transfers cost no time, `of_group` whose bytes are counted as the groups'.
    With `record` every interval is kept.

    >>> from covey.execute.walk import Brief, walk
    >>> from covey.fleet import Fleet
    >>> from covey.network.site import make_site
    >>> from covey.plan import Star, Train
    >>> fleet = Fleet(np.array([[10], [20]]))
    >>> site = make_site(fleet, network="star", link="1MB/s,0s", device="1GFLOPS", flops=1e8, model_bytes=1e6)
    >>> clock = Clock(site)
    >>> _ = walk(Star([Train(0), Train(1)]), [None], site.sizes, clock, brief=Brief(merges=no_models))
    >>> clock.now, clock.busy.tolist()  # 1 s down, 20 x 0.1 s of computing, 1 s up
    (4.0, [1.0, 2.0])
    """

    def __init__(
        self,
        site: Site,
        *,
        begin: float = 0.0,
        failed: Collection[tuple[int, int]] = (),
        free: Free | None = None,
        of_group: Free | None = None,
        record: bool = False,
    ) -> None:
        self.site, self.begin, self.failed, self.free, self.of_group = site, begin, failed, free, of_group
        self.flows = FlowSimulator(site.placement.network, router=site.router)
        clients = len(site.devices)
        self.busy, self.sent, self.received = np.zeros(clients), np.zeros(clients), np.zeros(clients)
        self.group_bytes = 0.0
        self.intervals: list[Interval] = []
        self._record = record
        self._until = np.zeros(clients)  # when a client is done with what it was asked to compute
        self._open: dict[int, tuple[int, Failure | None, Interval | None]] = {}

    @property
    def now(self) -> float:
        """Seconds since the round began."""
        return self.flows.now

    def start(self, ticket: int, job: Job) -> None:
        """A training begins."""
        seconds = self.site.train_seconds(job.client, job.epochs)
        begin, end = self._compute(job.client, seconds)
        lost = (job.client, job.visit) in self.failed
        shown = Interval(client(job.client), "train", begin, end) if self._record else None
        number = self.flows.wait(end - self.now)
        self._open[number] = ticket, Failure("lost") if lost else None, shown

    def send(self, ticket: int, send: Send) -> None:
        """A transfer begins."""
        size = self.site.model_bytes
        source, target = self.site.node(send.source), self.site.node(send.target)
        if self.of_group is not None and self.of_group(send):
            self.group_bytes += size
        inside = self.site.is_free(send.source, send.target)
        if source != target and not inside:
            if send.source.kind == "client":
                self.sent[send.source.number] += size
            if send.target.kind == "client":
                self.received[send.target.number] += size
        free = inside or (self.free is not None and self.free(send))
        number = self.flows.wait(0.0) if free else self.flows.start(source, target, size)
        shown = Interval(send.source, "send", self.now, self.now, send.target) if self._record else None
        self._open[number] = ticket, None, shown

    def meet(self, ticket: int, meeting: Meet) -> None:
        """Models are merged: all owners take part in the group operation, then the place adds up."""
        site, end = self.site, self.now
        if site.operation is not None:
            size = len(meeting.clients)
            for i in meeting.clients:
                end = max(end, self._compute(i, site.devices[i].group_seconds(site.operation, size))[1])
        if meeting.at.kind == "client":
            seconds = site.devices[meeting.at.number].merge_seconds(site.parameters, meeting.models)
            end = max(end, self._compute(meeting.at.number, seconds)[1])
        elif site.server is not None:
            end += site.server.merge_seconds(site.parameters, meeting.models)
        shown = Interval(meeting.at, "meet", self.now, end) if self._record and end > self.now else None
        self._open[self.flows.wait(end - self.now)] = ticket, None, shown

    def finished(self, timeout: float | None = None) -> Iterator[tuple[int, Answer | Failure | None]]:
        """What is over next; nobody waits for it, so that there is no timeout."""
        for number in self.flows.advance():
            ticket, answer, shown = self._open.pop(number)
            if shown is not None:
                end = self.now if shown.what == "send" else shown.end
                self.intervals.append(Interval(shown.who, shown.what, shown.begin, end, shown.to))
            yield ticket, answer

    def state(self) -> ExecutorState:
        """Nothing is remembered from round to round."""
        return {}

    def restore(self, state: ExecutorState) -> None:
        """Nothing to go back to."""

    def news(self) -> list[str]:
        """Nothing happens here."""
        return []

    def close(self) -> None:
        """Nothing is held."""

    def joules(self) -> float:
        """The energy of all clients."""
        site = self.site
        amounts = zip(site.devices, self.busy.tolist(), self.sent.tolist(), self.received.tolist(), strict=True)
        return sum(kind.joules(busy_seconds=b, sent=s, received=r) for kind, b, s, r in amounts)

    def _compute(self, who: int, seconds: float) -> tuple[float, float]:
        """When that client begins and ends so much computing, after what it has to do already."""
        begin = max(self.now, float(self._until[who]))
        end = begin + seconds
        if self.site.windows is not None:
            end = self.site.windows.finish(who, self.begin + begin, seconds) - self.begin
        self.busy[who] += seconds
        self._until[who] = end
        return begin, end


class _NoModels:
    """A merge where there are no models."""

    def open(self, gathering: Gathering) -> _NoModels:
        return self

    def add(self, member: int, model: None, weight: float) -> None:
        pass

    def close(self, missing: tuple[int, ...]) -> None:
        return None


def no_models(word: str | None, own: bool = False) -> _NoModels:
    """The merge of a walk that only keeps the time, whatever the plan names."""
    return _NoModels()
