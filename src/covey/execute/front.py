"""An executor in front of another: what dropouts and attacks have in common."""

from __future__ import annotations

from collections.abc import Iterable

from covey.execute.effects import Answer, Executor, ExecutorState, Failure, Job, Ticket


class InFront:
    """Hands everything on to another executor; a subclass changes what it has to."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def start(self, ticket: Ticket, job: Job) -> None:
        """Take on one training."""
        self.executor.start(ticket, job)

    def finished(self, timeout: float | None = None) -> Iterable[tuple[Ticket, Answer | Failure | None]]:
        """What the other executor answers."""
        return self.executor.finished(timeout)

    def state(self) -> ExecutorState:
        """The other executor's."""
        return self.executor.state()

    def restore(self, state: ExecutorState) -> None:
        """The other executor's."""
        self.executor.restore(state)

    def news(self) -> list[str]:
        """The other executor's."""
        return self.executor.news()

    def close(self) -> None:
        """The other executor's."""
        self.executor.close()
