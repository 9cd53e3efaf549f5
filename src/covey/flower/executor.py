"""The Flower executor: jobs go to devices as messages, models come back; rings and groups are relayed by the server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from flwr.app import ArrayRecord
from torch import Tensor

from covey.execute.backend import Backend, Work
from covey.execute.effects import Answer, Executor, ExecutorState, Failure, Job, Meet, Send, Ticket
from covey.execute.evaluate import Evaluator
from covey.execute.trainers import Memory
from covey.fleet import Fleet
from covey.flower.crew import Crew
from covey.flower.evaluator import FlowerEvaluator
from covey.flower.party import ROUND
from covey.flower.post import Post, Reply
from covey.flower.records import TRAIN, BadRecord, Terms, job_records, one_vector, read_config, read_vectors, vectors
from covey.flower.secure import Carried, Session, Sessions
from covey.merge import Merges
from covey.merge.secure import Secure
from covey.shape import fit


class FlowerExecutor:
    """Does jobs on devices. What their local rule remembers, devices keep; the server knows it from the changes."""

    def __init__(self, post: Post, crew: Crew, terms: Terms, work: Work, fleet: Fleet, sessions: Sessions) -> None:
        self.post, self.crew, self.terms, self.fleet, self.sessions = post, crew, terms, fleet, sessions
        self.size = work.task.layout.size
        self.memory = Memory(work.task.rule.remembers, self.size)
        self._held: dict[int, tuple[int, dict[str, Tensor]]] = {}  # which memory a client's node has
        self._done: list[tuple[Ticket, Answer | Failure | None]] = []
        self._packed: tuple[Tensor, ArrayRecord] | None = None

    def start(self, ticket: Ticket, job: Job) -> None:
        """Send the job to its device, at once, or when the keys of its secure aggregation are exchanged."""
        self.crew.round = job.round
        session = self.sessions.of(job.cohort)
        if session is None:
            self._send(ticket, job)
        else:
            session.when_ready(lambda: self._send(ticket, job, session))

    def finished(self, timeout: float | None = None) -> Iterable[tuple[Ticket, Answer | Failure | None]]:
        """What has been answered, once there is anything."""

        def any_done() -> bool:
            self.crew.look()
            return bool(self._done)

        self.post.work(any_done, timeout)
        done, self._done = self._done, []
        return done

    def send(self, ticket: Ticket, send: Send) -> None:
        """Models go with the jobs; moving one is over at once."""
        self._done.append((ticket, None))

    def meet(self, ticket: Ticket, meeting: Meet) -> None:
        """Models that meet in the clear meet at once; masked ones when those who masked them have helped to unmask."""
        session = self.sessions.meeting(meeting.clients)
        if session is None:
            self._done.append((ticket, None))
        else:
            session.unmask(lambda: self._done.append((ticket, None)))

    def state(self) -> ExecutorState:
        """What clients remember, and who they are."""
        names = {str(number): name for number, name in enumerate(self.crew.names)}
        return {"memory": self.memory.copy(), "names": names, "labels": np.asarray(self.fleet.labels)}

    def restore(self, state: ExecutorState) -> None:
        """Go back to such a state; clients are sent what they are to remember."""
        fit(state, {"memory": dict, "names": dict, "labels": np.ndarray}, "the executor's state")
        self.memory.restore(state["memory"])

    def news(self) -> list[str]:
        """Who was lost, who came and went."""
        return self.crew.news()

    def close(self) -> None:
        """Pull no more."""
        self.post.close()

    def _send(self, ticket: Ticket, job: Job, session: Session | None = None) -> None:
        node = self.crew.node(job.client)
        masking = None if session is None else session.round(job.client)
        if node is None or isinstance(masking, Failure):
            self._lose(ticket, job, masking.reason if isinstance(masking, Failure) else "it is not connected")
            return
        memory = {name: vector for name, vector in self.memory.of(job.client).items() if self.memory.own[name]}
        knows = self._held.pop(job.client, None)
        same = knows is not None and knows[0] == node and _same(knows[1], memory)
        records = job_records(job, self._pack(job.model), self.terms, None if same else memory)
        if masking is not None:
            records[ROUND] = masking
        self.post.send(node, TRAIN, records, lambda reply: self._answered(ticket, job, node, session, reply))

    def _pack(self, model: Tensor) -> ArrayRecord:
        """A model as a record; the model that a whole group starts from is packed once."""
        if self._packed is None or self._packed[0] is not model:
            self._packed = model, vectors({"0": model})
        return self._packed[1]

    def _answered(self, ticket: Ticket, job: Job, node: int, session: Session | None, reply: Reply) -> None:
        try:
            answer = self._read(job, session, reply)
        except BadRecord as error:
            answer = Failure(str(error))
        if isinstance(answer, Failure):
            self._lose(ticket, job, answer.reason)
            return
        if not answer.finite:
            self.crew.lost(job.client, "the model it sent is not finite")
        elif answer.changes:
            before = self.memory.of(job.client)
            self.memory.put(job.client, {name: before[name] + change for name, change in answer.changes.items()})
            self._held[job.client] = node, self.memory.of(job.client)
        self._done.append((ticket, answer))

    def _read(self, job: Job, session: Session | None, reply: Reply) -> Answer | Failure:
        if isinstance(reply, Failure):
            return reply
        samples = float(self.fleet.sizes[job.client])
        if session is not None:  # the server gets no model; what it hands on is the one that all started from
            session.receive(job.client, read_config(reply, ROUND))
            return Answer(job.model, samples, self._steps(job), finite=True)
        model = one_vector(reply, "model", self.size)
        finite = bool(torch.isfinite(model).all())
        changes = read_vectors(reply, "changes", self.size) if finite else {}
        if finite and changes.keys() != set(self.memory.own):
            raise BadRecord("it did not say how what it remembers has changed")
        return Answer(model, samples, self._steps(job), changes, finite)

    def _steps(self, job: Job) -> int:
        size = int(self.fleet.sizes[job.client])
        return -(-size // (self.terms.batch or size or 1)) * job.epochs

    def _lose(self, ticket: Ticket, job: Job, reason: str) -> None:
        self.crew.lost(job.client, reason)
        self._done.append((ticket, Failure(reason)))


@dataclass(frozen=True, eq=False)
class Devices(Backend):
    """Where clients train: on the devices of a crew. `tests`: whether devices keep test samples of their own."""

    post: Post
    crew: Crew
    terms: Terms
    fleet: Fleet
    tests: bool
    sessions: Sessions

    def executor(self, work: Work) -> Executor:
        """The executor of one run."""
        return FlowerExecutor(self.post, self.crew, self.terms, work, self.fleet, self.sessions)

    def evaluator(self, work: Work) -> Evaluator:
        """Devices score models on their own test samples; the server does on its own, where it has any."""
        return FlowerEvaluator(self.post, self.crew, self.terms, work, self.fleet, tests=self.tests)

    def merges(self, merges: Merges) -> Merges:
        """The run's merges; a secure sum is computed among the devices, by messages."""
        for name in ("clients", "servers"):
            merge = getattr(merges, name)
            if isinstance(merge, Secure):
                setattr(merges, name, Carried.over(merge, self.sessions))
        return merges


def _same(held: dict[str, Tensor], wanted: dict[str, Tensor]) -> bool:
    """Whether these are the same vectors, not only equal ones: vectors are never changed once they are remembered."""
    return all(held.get(name) is vector for name, vector in wanted.items())
