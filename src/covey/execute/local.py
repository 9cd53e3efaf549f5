"""The local executor: everything in this process, whole waves of trainings at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from covey import seeds
from covey.errors import BadValue
from covey.execute import evaluate
from covey.execute.batches import Deck
from covey.execute.choose import Chooser
from covey.execute.layout import Layout
from covey.execute.trainers import Memory, Task, Trained
from covey.execute.walk import Failure, Job
from covey.fleet import FleetData
from covey.local import Adam, Optimiser, Rule, Sgd
from covey.merge import MERGES, Mean, Merger


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

    def rate(self, round: int) -> float:
        """The learning rate in that round; rounds count from 1."""
        return self.lr * self.decay ** ((round - 1) // self.decay_every)

    def make_optimiser(self) -> Optimiser:
        """The optimiser every training starts afresh."""
        if self.optimiser == "adam":
            return Adam(weight_decay=self.weight_decay)
        return Sgd(momentum=self.momentum, weight_decay=self.weight_decay)


@dataclass(frozen=True)
class Scores:
    """Mean accuracy and loss on the global test set, and mean accuracy over clients on their own test splits."""

    accuracy: float
    loss: float
    own_accuracy: float


class LocalExecutor:
    """Trains the clients of a fleet in this process.

    `fail(job, round, attempt)` may give a reason for a training to fail: so are dropouts simulated and failures tested.
    """

    def __init__(
        self,
        module: nn.Module,
        data: FleetData,
        training: Training,
        *,
        rule: Rule | None = None,
        merge: str = "mean",
        seed: int = 0,
        mode: str = "auto",
        fail: Callable[[Job, int, int], str | None] | None = None,
    ) -> None:
        self.rule = rule or Rule()
        self.data, self.training, self.merge, self.seed, self.fail = data, training, merge, seed, fail
        x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
        self.layout = Layout(self.rule.adapt(module, x[:1]))
        deck = Deck(data, training.batch)
        self.task = Task(self.layout, x, y, deck, self.rule, training.make_optimiser(), training.epochs)
        self._check_batches()
        self.chooser = Chooser(self.task, mode)
        zero = torch.zeros(self.layout.size)
        self.memory = Memory(dict.fromkeys(self.rule.remembers, zero), {n: {} for n in self.rule.remembers})
        self.round, self.attempt, self.horizon, self._key, self._rate = 0, 0, 1, 0, 0.0
        self._jobs: list[tuple[int, Job]] = []
        self._changes: list[dict[str, Tensor]] = []
        self._before = self.memory.own

    def _check_batches(self) -> None:
        """Refuse batches of one sample where the model has statistics over batches that need two."""
        deck, lonely = self.task.deck, 1 % self.task.deck.batch
        alone = np.flatnonzero((deck.sizes % deck.batch == lonely) & (deck.sizes > 0))
        if not self.layout.has_buffers or not len(alone):
            return
        try:
            with torch.no_grad(), self.layout.training(self.layout.initial(), 0) as (module, _):
                module(self.task.x[:1])
        except ValueError:
            held = f"client {alone[0]} has {deck.sizes[alone[0]]} samples"
            allowed = f"a size that leaves nobody a batch of one sample, on which batch norm cannot train; {held}"
            raise BadValue("batch", self.training.batch, allowed) from None

    def begin(self, round: int, attempt: int = 0, *, horizon: int = 1) -> None:
        """Get ready for a round, tried for the first time or again; `horizon` is how many rounds the run has."""
        self.round, self.attempt, self.horizon = round, attempt, horizon
        self._key, self._rate = seeds.key(self.seed, round, "batches"), self.training.rate(round)
        self._changes = []
        if attempt:  # what clients remembered in a failed try never happened
            self.memory.own = self._before
        self._before = {name: dict(own) for name, own in self.memory.own.items()}

    def end(self) -> None:
        """Close the round: the server takes in what the clients' memories have become."""
        if self._changes:
            names = self.rule.remembers
            mean = {n: torch.stack([c[n] for c in self._changes]).mean(dim=0) for n in names}
            share = len(self._changes) / len(self.data.train_of)
            self.memory.shared = self.rule.gather(self.memory.shared, mean, share)

    def start(self, ticket: int, job: Job) -> None:
        """Take on one training."""
        self._jobs.append((ticket, job))

    def finished(self) -> Iterator[tuple[int, Tensor | Failure | None]]:
        """All waiting trainings run as one wave; results come as they are made and can be merged one by one."""
        wave, self._jobs = self._jobs, []
        tickets: dict[int, int] = {}
        jobs: list[Job] = []
        for ticket, job in wave:
            reason = self.fail(job, self.round, self.attempt) if self.fail else None
            if reason is None:
                tickets[id(job)] = ticket
                jobs.append(job)
            else:
                yield ticket, Failure(reason)
        if jobs:
            trainer = self.chooser.trainer(jobs, self.horizon)
            for trained in trainer.train(jobs, self._key, self._rate, self.memory):
                yield tickets[id(trained.job)], self._accept(trained)

    def _accept(self, trained: Trained) -> Tensor | Failure:
        if not trained.finite:
            return Failure("the trained model is not finite")
        client = trained.job.client
        if trained.memory:
            self._changes.append({n: new - self.memory.of(n, client) for n, new in trained.memory.items()})
            for name, new in trained.memory.items():
                self.memory.own[name][client] = new
        return trained.model

    def merger(self, name: str) -> Merger:
        """A merger of that name; a plan's plain mean becomes the merge this run was given."""
        return MERGES[self.merge if name == "mean" else name]()

    def evaluate(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """Scores of the models: globally their mean over clients, and every client with the model `home` gives it."""
        merged = Mean()
        for model, share in zip(models, np.bincount(home, self.task.deck.sizes, len(models)), strict=True):
            merged.add(model, float(share))
        test_x, test_y = torch.from_numpy(self.data.test_x), torch.from_numpy(self.data.test_y)
        right, loss = evaluate.scores(self.layout, merged.result(), test_x, test_y)
        own = self.own_accuracies(models, home)
        own_mean = float(np.nanmean(own)) if np.isfinite(own).any() else float("nan")
        return Scores(float(right.mean()), float(loss.mean()), own_mean)

    def own_accuracies(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> NDArray[np.float64]:
        """Every client's accuracy on its own test split with its own model; NaN where the split is empty."""
        accuracies = np.full(len(home), np.nan)
        for slot, model in enumerate(models):
            mine = [i for i in np.flatnonzero(home == slot) if len(self.data.test_of[i])]
            if mine:
                samples = torch.from_numpy(np.concatenate([self.data.test_of[i] for i in mine]))
                right, _ = evaluate.scores(self.layout, model, self.task.x, self.task.y, samples)
                accuracies[mine] = evaluate.per_client(right, [len(self.data.test_of[i]) for i in mine])
        return accuracies

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The mean training loss of every model on every one of these clients: clients x models."""
        samples = torch.from_numpy(np.concatenate([self.data.train_of[i] for i in clients]))
        sizes = [len(self.data.train_of[i]) for i in clients]
        columns = [evaluate.scores(self.layout, model, self.task.x, self.task.y, samples)[1] for model in models]
        return np.stack([evaluate.per_client(column, sizes) for column in columns], axis=1)

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """Every client's full-data gradient at that model: clients x parameters."""
        rows = [
            evaluate.gradient(self.layout, model, self.task.x, self.task.y, torch.from_numpy(self.data.train_of[i]))
            for i in clients
        ]
        return torch.stack(rows).numpy()
