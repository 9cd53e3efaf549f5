"""A fleet's clients spread over workers: who lives where, what a worker holds, what it does with its part of a wave.

For executors that spread waves over processes or machines. A worker keeps nothing but its clients' samples: what
clients remember comes with every call and goes back with its answer, so that a call can be made again, on a worker that
took the place of one that died, and gives the same.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from covey.execute.batches import Deck
from covey.execute.choose import Chooser
from covey.execute.effects import Job
from covey.execute.trainers import Memory, Task
from covey.merge import RunningMean
from covey.ragged import Indices

Vector: TypeAlias = NDArray[np.float32]
Vectors: TypeAlias = Mapping[str, Vector]
Means: TypeAlias = dict[tuple[int, ...], tuple[Vector, float]]
"""By meeting: the mean of some of its models, and what they weigh together."""


def place(sizes: Sequence[int] | Indices, workers: int) -> Indices:
    """Which worker every client lives with: the largest clients first, each where there are fewest samples so far.

    >>> place([5, 1, 4, 2], 2).tolist()  # 5 + 1 and 4 + 2
    [0, 0, 1, 1]
    """
    loads = [(0, worker) for worker in range(workers)]
    home = np.zeros(len(sizes), dtype=np.int64)
    for client in np.argsort(-np.asarray(sizes), kind="stable").tolist():
        load, home[client] = loads[0]
        heapq.heapreplace(loads, (load + max(int(sizes[client]), 1), int(home[client])))
    return home


@dataclass(frozen=True, eq=False)
class Shard:
    """The samples of some clients, and how they are dealt."""

    x: NDArray[Any]
    y: NDArray[np.int64]
    deck: Deck


def cut(task: Task, clients: Indices) -> Shard:
    """The shard of these clients; each of their samples is in it once."""
    deck, held = task.deck.only(clients)
    return Shard(task.x.numpy()[held], task.y.numpy()[held], deck)


def without_samples(task: Task) -> Task:
    """What all workers are told alike."""
    return replace(task, x=task.x[:0], y=task.y[:0], deck=None)  # type: ignore[arg-type]  # every worker has its own


@dataclass(frozen=True, eq=False)
class Done:
    """What came of one job; the model is None where it went into a mean."""

    finite: bool
    steps: int
    model: Vector | None
    memory: dict[str, Vector]


@dataclass(frozen=True, eq=False)
class Said:
    """What a worker says of its part of a wave."""

    done: list[Done]
    news: list[str] = field(default_factory=list)


class Worker:
    """Trains the clients of a shard, on one thread."""

    def __init__(self, task: Task, shard: Shard, mode: str, rounds: int, stack: int | None = None) -> None:
        torch.set_num_threads(1)
        with warnings.catch_warnings():  # samples are read where they are, in memory that nobody may write to
            warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
            x, y = torch.from_numpy(shard.x), torch.from_numpy(shard.y)
        self.task = replace(task, x=x, y=y, deck=shard.deck)
        self.chooser = Chooser(self.task, mode, rounds, stack=stack)

    def train(
        self, jobs: Sequence[Job], remembered: Mapping[str, Mapping[int, Vector]], shared: Vectors, *models: Vector
    ) -> tuple[Said, Means]:
        """Train a part of a wave; a job's model is its place among `models`. Models that only meet are averaged."""
        starts = [torch.tensor(model) for model in models]
        common = {name: torch.tensor(vector) for name, vector in shared.items()}
        jobs = [replace(job, model=starts[job.model], shared=common) for job in jobs]
        memory = Memory(self.task.rule.remembers, self.task.layout.size)
        memory.restore({name: {i: torch.tensor(v) for i, v in of.items()} for name, of in remembered.items()})
        sums = _Sums()
        done: dict[int, Done] = {}
        for trained in self.chooser.trainer(self.chooser.choose(jobs)).train(jobs, memory):
            job = jobs[trained.job]
            memory.change(job.client, trained)  # for its next training in this wave, if there is one
            if job.share is not None and trained.finite:
                sums.add(job.share.meeting, trained.model, job.share.weight)
            own = trained.model.numpy() if job.share is None else None
            kept = {name: vector.numpy() for name, vector in trained.memory.items()}
            done[trained.job] = Done(trained.finite, trained.steps, own, kept)
        news, self.chooser.news = self.chooser.news, []
        return Said([done[j] for j in range(len(jobs))], news), sums.means()

    def average(self, *parts: Means) -> Means:
        """The means of several workers made one a meeting, in the order given."""
        return averaged(*parts)


def averaged(*parts: Means) -> Means:
    """Means of the same meetings made one each, in the order given.

    >>> one = {(0,): (np.float32([1.0]), 1.0)}
    >>> averaged(one, {(0,): (np.float32([4.0]), 3.0)})[0,]  # (1 + 3 x 4) / 4
    (array([3.25], dtype=float32), 4.0)
    """
    sums = _Sums()
    for part in parts:
        for meeting, (mean, weight) in part.items():
            sums.add(meeting, torch.tensor(mean), weight)
    return sums.means()


class _Sums:
    """Means under way, one a meeting."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, ...], RunningMean] = {}
        self._weights: dict[tuple[int, ...], float] = {}

    def add(self, meeting: tuple[int, ...], model: torch.Tensor, weight: float) -> None:
        self._open.setdefault(meeting, RunningMean()).add(0, model, weight)
        self._weights[meeting] = self._weights.get(meeting, 0.0) + weight

    def means(self) -> Means:
        return {meeting: (mean.close(()).numpy(), self._weights[meeting]) for meeting, mean in self._open.items()}
