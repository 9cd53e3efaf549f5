"""The Ray executor: waves spread over workers on all cores and machines of a cluster.

Every client lives with one worker, which holds its samples for the whole run. A wave is one call a worker; a model goes
into the object store once, however many train it. Models that only meet are averaged where they were trained, and where
there are many workers, their means are averaged by workers too, in an order that does not depend on who was first. What
clients remember stays here, beside the checkpoints. So a call whose worker died is made again, and gives the same.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import ray
import torch
from ray.exceptions import RayError
from torch import Tensor

from covey.errors import RunFailed
from covey.execute.backend import Work
from covey.execute.crew import LOCAL, TRIES, Crew, fetch
from covey.execute.effects import Answer, ExecutorState, Job, Ticket
from covey.execute.shards import Done, Means, Said
from covey.execute.trainers import Memory, Trained
from covey.shape import fit

FAN_IN = 16  # means that are averaged in one place; with more workers, workers average them first

Found: TypeAlias = dict[tuple[int, ...], tuple[Tensor, float]]


@dataclass(eq=False)
class Call:
    """A worker's part of a wave: what it was given, who has it, and what it said."""

    worker: int
    jobs: list[tuple[Ticket, Job]]
    given: tuple[Any, ...]
    tries: int = 0
    actor: Any = None
    said: Any = None
    means: Any = None
    heard: Said | None = None


class RayExecutor:
    """Trains the clients of a fleet on the workers of a Ray cluster, or of a Ray that it starts on this machine.

    address: `local` starts Ray here, for this run; `auto`, or host:port, is a cluster that this machine is part of
    workers: how many; without it, one a processor

    `traffic` counts bytes: models that went `out` to machines, `back` to this process, and `between` workers.
    """

    def __init__(self, work: Work, *, address: str = LOCAL, workers: int | None = None) -> None:
        self.task = work.task
        self.memory = Memory(self.task.rule.remembers, self.task.layout.size)
        self.crew = Crew(work, address, workers)
        self.traffic: Counter[str] = Counter()
        self._bytes = self.task.layout.size * 4
        self._waiting: list[tuple[Ticket, Job]] = []
        self._calls: list[Call] = []
        self._news: list[str] = []

    def start(self, ticket: Ticket, job: Job) -> None:
        """Take on one training."""
        self._waiting.append((ticket, job))

    def finished(self, timeout: float | None = None) -> Iterator[tuple[Ticket, Answer]]:
        """All waiting trainings go out as one wave, which is answered when the last of it is there, in its order.

        After `timeout` seconds, what is there is answered, and the rest remains under way.
        """
        self._send()
        end = None if timeout is None else time.monotonic() + timeout
        answers: list[tuple[Ticket, Answer]] = []
        while there := self._listen(end):
            for calls, means in self._gather(there):
                if means is None:
                    for call in calls:
                        self._give(call)
                else:
                    self._calls = [call for call in self._calls if call not in calls]
                    answers += self._answers(calls, means)
        yield from sorted(answers, key=lambda answer: answer[0])

    def state(self) -> ExecutorState:
        """What clients remember."""
        return {"memory": self.memory.copy()}

    def restore(self, state: ExecutorState) -> None:
        """Go back to such a state; what is still under way is forgotten."""
        fit(state, {"memory": dict}, "the executor's state")
        self.memory.restore(state["memory"])
        self._waiting, self._calls = [], []

    def news(self) -> list[str]:
        """Workers that were replaced, and what a worker has to say itself."""
        news, self._news = self._news, []
        return news

    def close(self) -> None:
        """The workers end, and so does the Ray that was started for them."""
        self._waiting, self._calls = [], []
        self.crew.close()

    # --- a wave goes out

    def _send(self) -> None:
        wave, self._waiting = self._waiting, []
        if wave and not self.crew.workers:
            self.crew.begin()
        parts: dict[int, list[tuple[Ticket, Job]]] = defaultdict(list)
        for ticket, job in wave:
            parts[int(self.crew.home[job.client])].append((ticket, job))
        stored: dict[int, Any] = {}  # by identity: what many train is put into the object store once
        sent: set[tuple[int, str]] = set()
        for worker, part in sorted(parts.items()):
            vectors = {id(job.model): job.model for _, job in part}
            for key, vector in vectors.items():
                if key not in stored:
                    stored[key] = ray.put(vector.numpy())
                sent.add((key, self.crew.nodes[worker]))
            shared = part[0][1].shared
            if id(shared) not in stored:
                stored[id(shared)] = ray.put({name: vector.numpy() for name, vector in shared.items()})
            places = {key: number for number, key in enumerate(vectors)}
            jobs = [replace(job, model=places[id(job.model)], shared={}, cohort=()) for _, job in part]
            own = self.memory.only(*(job.client for job in jobs)).own
            memory = {name: {i: vector.numpy() for i, vector in of.items()} for name, of in own.items()}
            call = Call(worker, part, (jobs, memory, stored[id(shared)], *(stored[key] for key in vectors)))
            self._calls.append(call)
            self._give(call)
        self.traffic["out"] += len(sent) * self._bytes

    def _give(self, call: Call) -> None:
        """Make a call, or make it once more."""
        if call.tries == TRIES:
            who = f"worker {call.worker}, which trained {len(call.jobs)} clients,"
            raise RunFailed(f"{who} died {TRIES} times in a row; is there memory enough where it is?")
        call.tries += 1
        call.actor, call.heard = self.crew.workers[call.worker], None
        call.said, call.means = call.actor.train.options(num_returns=2).remote(*call.given)

    # --- and comes back

    def _listen(self, end: float | None) -> list[Call]:
        """The calls that workers have answered: all, or those that are by `end`. What was lost is made again."""
        while open_ := [call for call in self._calls if call.heard is None]:
            left = None if end is None else max(end - time.monotonic(), 0.0)
            ready = set(ray.wait([call.said for call in open_], num_returns=len(open_), timeout=left)[0])
            for call in open_:
                if call.said in ready:
                    self._hear(call)
            if end is not None and time.monotonic() >= end:
                break
        return [call for call in self._calls if call.heard is not None]

    def _hear(self, call: Call) -> None:
        try:
            call.heard = fetch(call.said)
        except RayError:
            if call.actor is self.crew.workers[call.worker]:  # else it has been replaced already
                self.crew.replace(call.worker)
                self._news.append(f"worker {call.worker} was lost and replaced; what it had under way was done again")
            self._give(call)
        else:
            if call.worker == 0:  # all have the same model to speak of
                self._news += call.heard.news

    def _gather(self, calls: list[Call]) -> Iterator[tuple[list[Call], Means | None]]:
        """The means of these calls, and which calls went into each; None where they were lost on the way.

        A few are fetched as they are. Where there are many, workers make them fewer, level by level.
        """
        groups = [([call], call.means) for call in calls if any(job.share is not None for _, job in call.jobs)]
        yield from (([call], {}) for call in calls if all(job.share is None for _, job in call.jobs))
        while len(groups) > FAN_IN:
            fewer = []
            for first in range(0, len(groups), FAN_IN):
                part = groups[first : first + FAN_IN]
                nearest = self.crew.workers[part[0][0][0].worker]
                made = nearest.average.remote(*(means for _, means in part))
                fewer.append(([call for group, _ in part for call in group], made))
                self.traffic["between"] += (len(part) - 1) * self._bytes
            groups = fewer
        for group, made in groups:
            try:
                means: Means | None = fetch(made)
            except RayError:
                means = None
            self.traffic["back"] += len(means or ()) * self._bytes
            yield group, means

    def _answers(self, calls: list[Call], means: Means) -> Iterator[tuple[Ticket, Answer]]:
        found = {meeting: (torch.tensor(mean), weight) for meeting, (mean, weight) in means.items()}
        rows = []
        for call in calls:
            assert call.heard is not None
            rows += [(*row, done) for row, done in zip(call.jobs, call.heard.done, strict=True)]
        for ticket, job, done in sorted(rows, key=lambda row: row[0]):
            yield ticket, self._answer(job, done, found)

    def _answer(self, job: Job, done: Done, means: Found) -> Answer:
        """A model as it came, or the mean it went into; the first of a mean takes its weight, the others find 0."""
        samples, weight = float(self.task.deck.sizes[job.client]), None
        if done.model is not None:
            model = torch.tensor(done.model)
            self.traffic["back"] += self._bytes
        elif job.share is not None and done.finite:
            model, weight = means[job.share.meeting]
            means[job.share.meeting] = model, 0.0
        else:
            model = job.model  # what came of it is not finite, and nobody looks at it
        memory = {name: torch.tensor(vector) for name, vector in done.memory.items()}
        changes = self.memory.change(job.client, Trained(0, model, done.finite, done.steps, memory))
        return Answer(model, samples, done.steps, changes, done.finite, weight)
