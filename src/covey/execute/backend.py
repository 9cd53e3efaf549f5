"""Where clients train, as a word of the run's settings: `--executor local`, or another that a part registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from covey import words
from covey.execute.effects import Executor
from covey.execute.evaluate import Evaluator, LocalEvaluator
from covey.execute.local import LocalExecutor
from covey.execute.trainers import Task
from covey.fleet import FleetData
from covey.registry import Registry, own_class


@dataclass(frozen=True, eq=False)
class Work:
    """What an executor is to do in a run: the task, the fleet's data, how stacks are trained, how many rounds."""

    task: Task
    data: FleetData
    mode: str = "auto"
    rounds: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Backend:
    """A kind of executor with its settings. One of your own needs `executor`; clients' data is looked at here."""

    def executor(self, work: Work) -> Executor:
        """An executor for one run."""
        raise NotImplementedError

    def evaluator(self, work: Work) -> Evaluator:
        """Who scores models."""
        return LocalEvaluator(work.task.layout, work.data)


_OWN = "a class with executor(work), such as a subclass of covey.execute.backend.Backend"

EXECUTORS: Registry[Callable[..., Backend]] = Registry("executor", own_class(_OWN, "executor", Backend))


@EXECUTORS.register("local")
@dataclass(frozen=True)
class Local(Backend):
    """Everything in this process, whole waves of trainings at once."""

    def executor(self, work: Work) -> Executor:
        """The local executor."""
        return LocalExecutor(work.task, mode=work.mode, rounds=work.rounds)


def make_backend(word: str) -> Backend:
    """A kind of executor from a word such as `local`.

    >>> make_backend("local")
    Local()
    """
    return words.make(EXECUTORS, word, field="executor")
