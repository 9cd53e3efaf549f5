"""Clients that drop out: an executor in front of another that loses some of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from covey import seeds
from covey.execute.effects import Answer, Executor, Failure, Job, Ticket
from covey.execute.front import InFront


class Dropout(InFront):
    """Hands jobs on to another executor, except those for which `fails` has a reason."""

    def __init__(self, executor: Executor, fails: Callable[[Job], str | None]) -> None:
        super().__init__(executor)
        self.fails = fails
        self._lost: list[tuple[Ticket, Failure]] = []
        self._open: set[Ticket] = set()

    def start(self, ticket: Ticket, job: Job) -> None:
        """Take on one training, or lose it."""
        reason = self.fails(job)
        if reason is None:
            self._open.add(ticket)
            super().start(ticket, job)
        else:
            self._lost.append((ticket, Failure(reason)))

    def finished(self, timeout: float | None = None) -> Iterable[tuple[Ticket, Answer | Failure | None]]:
        """What was lost, then what the other executor answers."""
        lost, self._lost = self._lost, []
        yield from lost
        if self._open:
            for ticket, answer in self.executor.finished(timeout):
                self._open.discard(ticket)
                yield ticket, answer


def by_chance(seed: int, share: float) -> Callable[[Job], str | None]:
    """Every training fails with that chance, drawn by the seed, the round, the try, the client and the visit."""

    def fails(job: Job) -> str | None:
        draw = seeds.key(seed, job.round, "dropout", job.attempt, job.client, job.visit) / 2**63
        return "the client dropped out" if draw < share else None

    return fails
