"""What transfers cost in time: an event-driven simulator of flows that share the links of a network.

A transfer of b bytes over a path with latencies l1, l2, … that starts at t uses its links from t + l1 + l2 + … on, at
the max-min fair rate among all transfers under way then, and is over when its b bytes are through. Rates change only
when a transfer comes or goes, so time jumps from one such moment to the next: no packets, no time steps. It is the
model of SimGrid's CM02 (Casanova, Marchal, "A network model for simulation of grid application", INRIA RR-4596, 2002)
without its preference for paths of low latency.

What is left out: packets, TCP's slow start and window, loss, queues, headers, switching time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from covey.errors import BadValue
from covey.network.routing import Path, Router, Ties
from covey.network.sharing import FairShares, Floats, Ints
from covey.network.topology import Network, Node

Then = Callable[[float], None]

_DONE = 1e-10  # the part of a transfer that may be missing when it counts as over
_SAME = 1e-12  # moments that are this close, relatively, are one


@dataclass
class _Job:
    path: Path
    size: float
    then: Then | None


class FlowSimulator:
    """Transfers and waits on a network; `advance` goes from one completion to the next.

    >>> from covey.network.topology import Link, star
    >>> simulator = FlowSimulator(star(2, link=Link(10e6, 0.001)))
    >>> upload = simulator.start("host-0", "cloud", 5e6)
    >>> training = simulator.wait(0.25)
    >>> simulator.advance(), simulator.now
    ([1], 0.25)
    >>> simulator.advance(), round(simulator.now, 6)
    ([0], 0.501)
    """

    def __init__(
        self,
        network: Network,
        *,
        ties: Ties = "spread",
        seed: int = 0,
        record: bool = False,
        router: Router | None = None,
    ) -> None:
        self.network = network
        self.router = router or Router(network, ties=ties, seed=seed)  # one that is given has its paths already
        self.now = 0.0
        self.finished: dict[int, float] = {}
        self._carried = np.zeros(len(network.arcs))
        self._jobs: dict[int, _Job] = {}
        self._agenda: list[tuple[float, int]] = []  # when a job starts to use its links, or a wait is over
        self._shares = FairShares(network.capacity)
        self._stale = False
        self._left: Floats = np.zeros(16)  # bytes still to come, by slot of FairShares; likewise the next two
        self._size: Floats = np.zeros(16)
        self._id: Ints = np.zeros(16, dtype=np.int64)
        self._next_id = 0
        self._record = record
        self._history: list[tuple[float, Ints, Floats]] = []
        self._seen = np.zeros(len(network.arcs))

    def start(
        self,
        source: Node,
        target: Node,
        size: float,
        *,
        at: float | None = None,
        flow: int = 0,
        then: Then | None = None,
    ) -> int:
        """Send `size` bytes, now or `at` a later moment; `then` is called with the time when all have arrived.

        Transfers with another `flow` number may take another of several equal paths. Nothing is sent, and no time
        passes, where source and target are one.
        """
        if not (math.isfinite(size) and size >= 0):
            raise BadValue("size", size, "a number of bytes from 0 up")
        path = self.router.path(source, target, flow)
        return self._add(_Job(path, float(size), then), self._moment(at) + self.router.latency(path))

    def wait(self, seconds: float, *, at: float | None = None, then: Then | None = None) -> int:
        """Let `seconds` pass from now or from `at`: a client that trains."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise BadValue("seconds", seconds, "a time from 0 up")
        return self._add(_Job((), 0.0, then), self._moment(at) + seconds)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._jobs

    def next_event(self) -> float:
        """When something happens next: a transfer is over or takes up its links, a wait is over; infinity if never."""
        return min(self._agenda[0][0] if self._agenda else math.inf, self.now + self._until_done())

    def advance(self, until: float = math.inf) -> list[int]:
        """Go to the next completion and return what is complete, or go `until` and return nothing.

        New transfers may be started then at `now`. Where nothing is under way and `until` is infinite, time stays.
        """
        while True:
            entry = self._agenda[0][0] if self._agenda else math.inf
            step = self._until_done()
            moment = min(entry, self.now + step)
            if moment > until or math.isinf(moment):
                if math.isfinite(until):
                    self._pass(max(until - self.now, 0.0), until)
                return []
            self._pass(step if self.now + step <= entry else entry - self.now, moment)
            complete = self._leave() + self._enter()
            if complete:
                for job in complete:
                    self._finish(job)
                return complete

    def run_until_idle(self) -> float:
        """Go on until nothing is under way; returns the time of the last completion."""
        while self.advance():
            pass
        return self.now

    @property
    def carried(self) -> Floats:
        """Bytes that every arc has carried so far."""
        total = self._carried.copy()
        for slot in range(self._shares.count):
            total[list(self._jobs[int(self._id[slot])].path)] += self._size[slot] - self._left[slot]
        return total

    def busiest(self) -> tuple[Node, Node, float]:
        """The arc that has carried the most bytes, and how many."""
        carried = self.carried
        arc = int(np.argmax(carried))
        return (*self.network.arcs[arc], float(carried[arc]))

    def load(self, arc: int) -> list[tuple[float, float]]:
        """(time, bytes per second from then on) at every change of one arc's load; needs `record=True`."""
        if not self._record:
            raise BadValue("record", False, "True for a simulator that is asked for loads over time")
        return [(time, float(rate[at][0])) for time, arcs, rate in self._history if (at := arcs == arc).any()]

    def _moment(self, at: float | None) -> float:
        if at is None:
            return self.now
        if not (math.isfinite(at) and at >= self.now):
            raise BadValue("at", at, f"a time from now ({self.now:g} s) on")
        return at

    def _add(self, job: _Job, moment: float) -> int:
        number, self._next_id = self._next_id, self._next_id + 1
        self._jobs[number] = job
        heapq.heappush(self._agenda, (moment, number))
        return number

    def _until_done(self) -> float:
        """Seconds until the next transfer under way is over, if none comes before."""
        if self._stale:
            self._shares.refill()
            self._stale = False
            if self._record:
                self._note()
        count = self._shares.count
        return float((self._left[:count] / self._shares.rates).min()) if count else math.inf

    def _pass(self, seconds: float, moment: float) -> None:
        self._left[: self._shares.count] -= self._shares.rates * seconds
        self.now = moment

    def _leave(self) -> list[int]:
        """Take transfers that are over off their links."""
        count = self._shares.count
        over = (self._left[:count] <= _DONE * self._size[:count]).nonzero()[0]
        if not len(over):
            return []
        gone: list[int] = self._id[over].tolist()
        holes, last = self._shares.remove(over)
        for column in (self._left, self._size, self._id):
            column[holes] = column[last]
        self._stale = True
        return gone

    def _enter(self) -> list[int]:
        """Put transfers whose latency is over on their links; returns those that are complete at once, and waits."""
        complete = []
        while self._agenda and self._agenda[0][0] <= self.now * (1 + _SAME):
            number = heapq.heappop(self._agenda)[1]
            job = self._jobs[number]
            if not job.path or job.size == 0:
                complete.append(number)
                continue
            slot = self._shares.count
            if slot == len(self._left):
                self._left, self._size = np.pad(self._left, (0, slot)), np.pad(self._size, (0, slot))
                self._id = np.pad(self._id, (0, slot))
            self._shares.add(job.path)
            self._left[slot] = self._size[slot] = job.size
            self._id[slot] = number
            self._stale = True
        return complete

    def _finish(self, number: int) -> None:
        job = self._jobs.pop(number)
        self.finished[number] = self.now
        self._carried[list(job.path)] += job.size
        if job.then is not None:
            job.then(self.now)

    def _note(self) -> None:
        load = self._shares.load[:-1]
        changed = (np.abs(load - self._seen) > 1e-9 * self.network.capacity).nonzero()[0]
        self._seen[changed] = load[changed]
        self._history.append((self.now, changed, self._seen[changed]))
