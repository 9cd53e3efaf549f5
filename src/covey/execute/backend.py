"""Where clients train, as a word of the run's settings: `--executor local`, or another that a part registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from covey import words
from covey.errors import BadValue
from covey.execute.effects import Executor
from covey.execute.evaluate import Evaluator, LocalEvaluator
from covey.execute.local import LocalExecutor
from covey.execute.trainers import Task
from covey.fleet import FleetData
from covey.merge import Merges
from covey.registry import Registry, own_class


@dataclass(frozen=True, eq=False)
class Work:
    """What an executor is to do in a run: the task, the fleet's data, how clients are trained, how many rounds."""

    task: Task
    data: FleetData
    mode: str = "auto"
    rounds: int = 1
    seed: int = 0
    stack: int | None = None


@dataclass(frozen=True)
class Backend:
    """A kind of executor with its settings. One of your own needs `executor`; clients' data is looked at here.

    `accelerates`: it takes tasks whose network and samples are on an accelerator.
    """

    accelerates: ClassVar[bool] = False

    def executor(self, work: Work) -> Executor:
        """An executor for one run."""
        raise NotImplementedError

    def evaluator(self, work: Work) -> Evaluator:
        """Who scores models."""
        return LocalEvaluator(work.task.layout, work.data)

    def merges(self, merges: Merges) -> Merges:
        """The run's merges as they are done here: a secure sum may be computed among the devices themselves."""
        return merges


_OWN = "a class with executor(work), such as a subclass of covey.execute.backend.Backend"

EXECUTORS: Registry[Callable[..., Backend]] = Registry("executor", own_class(_OWN, "executor", Backend))


@EXECUTORS.register("local")
@dataclass(frozen=True)
class Local(Backend):
    """Everything in this process, whole waves of trainings at once.

    workers: how many clients train at once where the model is too large to be stacked; 0 is one a core
    """

    accelerates: ClassVar[bool] = True
    workers: int = 0

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise BadValue("workers of local", self.workers, "a whole number from 0 up")

    def executor(self, work: Work) -> Executor:
        """The local executor."""
        return LocalExecutor(work.task, mode=work.mode, rounds=work.rounds, workers=self.workers, stack=work.stack)


@EXECUTORS.register("ray")
@dataclass(frozen=True)
class Ray(Backend):
    """Waves spread over the workers of a Ray cluster, or of a Ray started here for the run."""

    address: str = "local"
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.address.startswith("ray://"):
            allowed = "local, or auto or host:port of a Ray cluster that this machine is part of"
            raise BadValue("address", self.address, allowed)
        if self.workers is not None and self.workers < 1:
            raise BadValue("workers", self.workers, "a whole number from 1 up; without it, one a processor")

    def executor(self, work: Work) -> Executor:
        """The Ray executor."""
        try:
            from covey.execute.ray import RayExecutor
        except ModuleNotFoundError:
            raise BadValue("executor", "ray", "another, or this after: pip install 'covey[ray]'") from None
        return RayExecutor(work, address=self.address, workers=self.workers)


def make_backend(word: str, address: str | None = None) -> Backend:
    """A kind of executor from a word such as `local`; the address goes to those that have one.

    >>> make_backend("local:workers=2"), make_backend("ray:workers=4", address="auto")
    (Local(workers=2), Ray(address='auto', workers=4))
    """
    backend = words.make(EXECUTORS, word, field="executor")
    if address is None:
        return backend
    if "address" not in {field.name for field in fields(backend)}:
        raise BadValue("address", address, f"none with executor {word}, which works where it is")
    return replace(backend, address=address)  # type: ignore[call-arg]
