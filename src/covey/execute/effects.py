"""What a walk asks of an executor, and what an executor is.

`Job` and `Answer` are all that crosses between a run and whoever trains its clients: complete in themselves and made of
numbers, texts and vectors, so that they can be sent to a process, a cluster or a device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from covey.merge import Model
from covey.plan import Place, Plan

Ticket: TypeAlias = int
ExecutorState: TypeAlias = dict[str, Any]
"""Numbers, texts, arrays, tensors, and lists or dictionaries of them: what a checkpoint can hold."""


@dataclass(frozen=True, slots=True)
class Share:
    """A trained model that will only be averaged with others: in which meeting of the round, with which weight."""

    meeting: tuple[int, ...]
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Train `model` on `client`.

    `visit` counts the client's trainings in this round, left to right in the plan; `attempt` counts the tries of the
    round. `rate` is the learning rate itself. `key` seeds the batches: they depend on it, the client, the visit and the
    epoch. `shared` is what the local rule's server side remembers, by name. `cohort` are the clients of the innermost
    Star, with whom this one's model will meet. Jobs with a `share` in one meeting may be answered by the mean of their
    models, see `Answer`; an executor need not.
    """

    client: int
    model: Model
    round: int = 1
    attempt: int = 0
    visit: int = 0
    epochs: int = 1
    rate: float = 1.0
    key: int = 0
    shared: Mapping[str, Model] = field(default_factory=dict)
    cohort: tuple[int, ...] = ()
    share: Share | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A trained model: on how many samples, in how many steps, and by how much what its client remembers has changed.

    `finite` says whether all of the model is a number; None where the executor has not looked. Where `weight` is given,
    the model is the mean of those of several jobs of one meeting, which are answered together: the first of them brings
    their whole weight, the others 0.
    """

    model: Model
    samples: float
    steps: int = 0
    changes: Mapping[str, Model] = field(default_factory=dict)
    finite: bool | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """What an executor answers instead of a trained model."""

    reason: str


@dataclass(frozen=True, slots=True)
class Send:
    """Move one model; `owner` is the node of the plan on whose behalf it is moved."""

    source: Place
    target: Place
    owner: Plan | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Meet:
    """This many models become one at a place; `clients` are those whose own model was among them."""

    at: Place
    models: int
    clients: tuple[int, ...] = ()


class Executor(Protocol):
    """Does the jobs of a walk: in this process, on a cluster, on devices, or by the clock.

    It may answer late, in any order, twice or not at all; a walk takes the first answer to what it still waits for.
    """

    def start(self, ticket: Ticket, job: Job) -> None:
        """Take on one job; its answer comes out of `finished` with the same ticket."""

    def finished(self, timeout: float | None = None) -> Iterable[tuple[Ticket, Answer | Failure | None]]:
        """Answers to at least one thing under way, or none after `timeout` seconds of waiting.

        More may be started while these are read. None answers what has no answer: a transfer, a meeting.
        """

    def state(self) -> ExecutorState:
        """What the next round depends on: what clients remember, where it is kept here. A checkpoint holds it."""

    def restore(self, state: ExecutorState) -> None:
        """Go back to such a state: on resuming, and when a round is tried again."""

    def news(self) -> list[str]:
        """What has happened since it was last asked that the run's log should hold, a sentence each."""

    def close(self) -> None:
        """Let go of processes and connections; nothing is started after this."""


@runtime_checkable
class KeepsTime(Protocol):
    """An executor for which sending models and their meeting take time; for others both are over at once."""

    def send(self, ticket: Ticket, send: Send) -> None:
        """Take on one transfer, as `Executor.start` takes on a job."""

    def meet(self, ticket: Ticket, meeting: Meet) -> None:
        """Take on one meeting, as `Executor.start` takes on a job."""
