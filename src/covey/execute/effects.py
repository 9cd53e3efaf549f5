"""What a walk asks of an executor, and what an executor is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from covey.merge import Merger, Model
from covey.plan import Place


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Train `model` on `client`; `visit` counts the client's trainings in this round, left to right in the plan."""

    client: int
    model: Model
    epochs: int | None
    rate: float
    visit: int


@dataclass(frozen=True, slots=True)
class Send:
    """Move one model; `group` says that a group does so among itself, not the round as a whole.

    The root's own sends are the round's, and so are those of a Star of one round right below a Star of the round, which
    only gathers for it (combined aggregation); all that is further inside is a group's.
    """

    source: Place
    target: Place
    group: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Meet:
    """So many models become one at a place; `clients` are those whose own model was among them."""

    at: Place
    models: int
    clients: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """What an executor answers instead of a trained model."""

    reason: str


class Executor(Protocol):
    """Does the jobs of a walk: in this process, on a cluster, on devices, or by the clock."""

    def start(self, ticket: int, job: Job) -> None:
        """Take on one job; its answer comes out of `finished` with the same ticket."""

    def finished(self) -> Iterable[tuple[int, Model | Failure | None]]:
        """Answers to at least one thing under way; more may be started while these are read."""

    def merger(self, name: str) -> Merger:
        """A new merger of that name."""


@runtime_checkable
class KeepsTime(Protocol):
    """An executor for which sending models and their meeting take time; for others both are over at once."""

    def send(self, ticket: int, send: Send) -> None:
        """Take on one transfer, as `Executor.start` takes on a job."""

    def meet(self, ticket: int, meeting: Meet) -> None:
        """Take on one meeting, as `Executor.start` takes on a job."""
