"""The local executor: everything in this process, whole waves of trainings at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from covey.errors import BadValue
from covey.execute.batches import Deck
from covey.execute.choose import Chooser, threads
from covey.execute.effects import Answer, ExecutorState, Job
from covey.execute.evaluate import tensors_of
from covey.execute.layout import Layout
from covey.execute.trainers import Memory, Task
from covey.fleet import FleetData
from covey.local import Adam, Optimiser, Rule, Sgd, make_augmentations
from covey.shape import fit

HERE = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Training:
    """How clients train: `batch` 0 is full batches; the rate is multiplied by `decay` every `decay_every` rounds."""

    lr: float = 0.05
    batch: int = 10
    epochs: int = 1
    momentum: float = 0.0
    weight_decay: float = 0.0
    optimiser: str = "sgd"
    decay: float = 1.0
    decay_every: int = 1
    augment: str = "none"

    def rate(self, round: int) -> float:
        """The learning rate in that round; rounds count from 1."""
        return self.lr * self.decay ** ((round - 1) // self.decay_every)

    def make_optimiser(self) -> Optimiser:
        """The optimiser every training starts afresh."""
        if self.optimiser == "adam":
            return Adam(weight_decay=self.weight_decay)
        return Sgd(momentum=self.momentum, weight_decay=self.weight_decay)


def make_task(
    module: nn.Module,
    data: FleetData,
    training: Training,
    rule: Rule | None = None,
    device: torch.device = HERE,
) -> Task:
    """What trainers are to do: this model, by this rule, on the data of these clients, on that device."""
    rule = rule or Rule()
    layout = Layout(rule.adapt(module.cpu(), torch.from_numpy(data.x[:1])).to(device))
    x, y = tensors_of(layout, data.x, data.y)
    augmentations = make_augmentations(training.augment)
    task = Task(layout, x, y, Deck(data, training.batch), rule, training.make_optimiser(), augmentations)
    _check_batches(task, training.batch)
    _check_views(task, training.augment)
    return task


def _check_batches(task: Task, batch: int) -> None:
    """Refuse batches of one sample where the model has statistics over batches that need two."""
    deck, lonely = task.deck, 1 % task.deck.batch
    alone = np.flatnonzero((deck.sizes % deck.batch == lonely) & (deck.sizes > 0))
    if not task.layout.has_buffers or not len(alone):
        return
    try:
        start = task.layout.initial().to(task.layout.device)
        with torch.no_grad(), task.layout.training(start, 0) as (module, _):
            module(task.x[:1])
    except ValueError:
        held = f"client {alone[0]} has {deck.sizes[alone[0]]} samples"
        allowed = f"a size that leaves nobody a batch of one sample, on which batch norm cannot train; {held}"
        raise BadValue("batch", batch, allowed) from None


def _check_views(task: Task, word: str) -> None:
    """Refuse augmentations that these samples do not take, or that make something else of them."""
    x = task.x[:1]
    seen = task.seen(x, torch.zeros(len(x), len(task.augmentations), dtype=torch.int64, device=x.device))
    if not isinstance(seen, torch.Tensor) or (seen.shape, seen.dtype) != (x.shape, x.dtype):
        raise BadValue("augment", word, "parts that give samples of the shape and type they were given")


class LocalExecutor:
    """Trains the clients of a fleet in this process.

    `rounds` is about how many rounds the whole run has. `workers` is how many clients are trained at once where they
    are not stacked; 0 is as many as torch has threads. `stack` is how many are stacked; without it the rule says.
    """

    def __init__(
        self, task: Task, *, mode: str = "auto", rounds: int = 1, workers: int = 0, stack: int | None = None
    ) -> None:
        self.task = task
        here = task.layout.device == HERE  # an accelerator is one worker
        self.chooser = Chooser(task, mode, rounds, (workers or torch.get_num_threads()) if here else 1, stack)
        self.memory = Memory(task.rule.remembers, task.layout.size)
        self._waiting: list[tuple[int, Job]] = []

    def start(self, ticket: int, job: Job) -> None:
        """Take on one training."""
        self._waiting.append((ticket, job))

    def finished(self, timeout: float | None = None) -> Iterator[tuple[int, Answer]]:
        """All waiting trainings run as one wave; results come as they are made and can be merged one by one."""
        wave, self._waiting = self._waiting, []
        if not wave:
            return
        tickets, jobs = zip(*wave, strict=True)
        way = self.chooser.choose(jobs)
        with threads(way):
            for trained in self.chooser.trainer(way).train(jobs, self.memory):
                client = jobs[trained.job].client
                changes = self.memory.change(client, trained)
                samples = float(self.task.deck.sizes[client])
                yield tickets[trained.job], Answer(trained.model, samples, trained.steps, changes, trained.finite)

    def state(self) -> ExecutorState:
        """What clients remember."""
        return {"memory": self.memory.copy()}

    def restore(self, state: ExecutorState) -> None:
        """Go back to such a state; one that is none, as a forged checkpoint may hold, is refused with a ValueError."""
        fit(state, {"memory": dict}, "the executor's state")
        self.memory.restore(state["memory"])

    def news(self) -> list[str]:
        """What does not stack says so once."""
        news, self.chooser.news = self.chooser.news, []
        return news

    def close(self) -> None:
        """Nothing is held."""
