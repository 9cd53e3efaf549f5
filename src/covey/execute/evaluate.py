"""How good a model is: on the global test set, on every client's own test split, and its gradients on clients.

`Evaluator` is what a run asks; `LocalEvaluator` looks at the data in this process, others may ask the clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from covey.execute.device import one_thread, to_host
from covey.execute.layout import Layout
from covey.fleet import FleetData
from covey.merge import RunningMean
from covey.ragged import Indices

BATCH = 1000
IMAGES = 200  # in a batch where there are convolutions, so that what lies between layers stays in the caches


@dataclass(frozen=True)
class Scores:
    """Mean accuracy and loss on the global test set, and mean accuracy over clients on their own test splits.

    Where it is asked for, also mean accuracy and loss on what all clients train on, each with its own model.
    """

    accuracy: float = float("nan")
    loss: float = float("nan")
    own_accuracy: float = float("nan")
    train_accuracy: float = float("nan")
    train_loss: float = float("nan")


class Evaluator(Protocol):
    """Scores models, and asks clients for their losses and gradients."""

    def scores(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """Scores of the models: globally their mean over clients, and every client with the model `home` gives it."""

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The mean training loss of every model on every one of these clients: clients x models."""

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """Every client's full-data gradient at that model: clients x parameters."""


class LocalEvaluator:
    """Evaluates in this process, on the server's test set and on the clients' data."""

    def __init__(self, layout: Layout, data: FleetData) -> None:
        self.layout, self.data = layout, data
        self.x, self.y = tensors_of(layout, data.x, data.y)
        self.test_x, self.test_y = tensors_of(layout, data.test_x, data.test_y)

    def scores(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """Scores of the models: globally their mean over clients, and every client with the model `home` gives it."""
        sizes = self.data.train_of.sizes
        merged = RunningMean()
        for slot, share in enumerate(np.bincount(home, sizes, len(models))):
            merged.add(slot, models[slot], float(share))
        right, loss = scores(self.layout, merged.close(()), self.test_x, self.test_y)
        own = self.own_accuracies(models, home)
        own_mean = float(np.nanmean(own)) if np.isfinite(own).any() else float("nan")
        return Scores(float(right.mean()), float(loss.mean()), own_mean)

    def own_accuracies(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> NDArray[np.float64]:
        """Every client's accuracy on its own test split with its own model; NaN where the split is empty.

        A sample that several clients hold is looked at once, so that a large fleet costs no more than its pool.
        """
        tests, accuracies = self.data.test_of, np.full(len(home), np.nan)
        for slot, model in enumerate(models):
            mine = np.flatnonzero((home == slot) & (tests.sizes > 0))
            if len(mine):
                own = tests.take(mine)
                held = np.zeros(len(self.y), dtype=bool)
                held[own.flat] = True
                right, _ = scores(self.layout, model, self.x, self.y, torch.from_numpy(np.flatnonzero(held)))
                place = np.cumsum(held) - 1  # of a sample among those that are held
                accuracies[mine] = per_client(right[torch.from_numpy(place[own.flat])], own.sizes)
        return accuracies

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The mean training loss of every model on every one of these clients: clients x models."""
        own = self.data.train_of.take(clients)
        samples = torch.from_numpy(own.flat)
        columns = [scores(self.layout, model, self.x, self.y, samples)[1] for model in models]
        return np.stack([per_client(column, own.sizes) for column in columns], axis=1)

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """Every client's full-data gradient at that model: clients x parameters.

        Groups are made of them, so they are the same to the bit on any number of threads.
        """
        parts = [torch.from_numpy(self.data.train_of[i]) for i in clients]
        with one_thread():
            return torch.stack([gradient(self.layout, model, self.x, self.y, part) for part in parts]).numpy()


class OnTraining:
    """Asks another evaluator, and scores the models on the clients' training samples as well."""

    def __init__(self, evaluator: Evaluator, layout: Layout, data: FleetData) -> None:
        self.evaluator, self.layout, self.parts = evaluator, layout, data.train_of
        self.x, self.y = tensors_of(layout, data.x, data.y)

    def scores(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """The other evaluator's, and means over all training samples."""
        right = lost = total = 0.0
        for slot in np.unique(home).tolist():
            samples = torch.from_numpy(self.parts.take(np.flatnonzero(home == slot)).flat)
            hits, losses = scores(self.layout, models[slot], self.x, self.y, samples)
            right, lost = right + float(hits.sum()), lost + float(losses.sum())
            total += len(samples)
        found = self.evaluator.scores(models, home)
        return replace(found, train_accuracy=right / total, train_loss=lost / total)

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The other evaluator's."""
        return self.evaluator.losses(models, clients)

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """The other evaluator's."""
        return self.evaluator.gradients(model, clients)


def tensors_of(layout: Layout, *arrays: NDArray[Any]) -> tuple[Tensor, ...]:
    """Samples as tensors, where the module is."""
    return tuple(torch.from_numpy(array).to(layout.device) for array in arrays)


def scores(layout: Layout, model: Tensor, x: Tensor, y: Tensor, samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """For every sample: is it right (0 or 1), and its loss; `x` and `y` are where the module is."""
    samples = None if samples is None else samples.to(layout.device)
    model = model.to(layout.device)
    if x.dim() == 4 and layout.convolves:
        try:
            return _scores(layout, model, x, y, samples, IMAGES, channels_last=True)
        except RuntimeError:  # it looks at its tensors in a way that depends on their order (view)
            return _scores(layout, model, x, y, samples, IMAGES)
    return _scores(layout, model, x, y, samples, BATCH)


def _scores(
    layout: Layout,
    model: Tensor,
    x: Tensor,
    y: Tensor,
    samples: Tensor | None,
    batch: int,
    *,
    channels_last: bool = False,
) -> tuple[Tensor, Tensor]:
    right, losses = [], []
    count = len(y) if samples is None else len(samples)
    with torch.no_grad(), layout.loaded(model, channels_last=channels_last) as module:
        module.eval()
        for first in range(0, max(count, 1), batch):
            part = slice(first, first + batch) if samples is None else samples[first : first + batch]
            inputs, target = x[part], y[part]
            out = module(inputs.contiguous(memory_format=torch.channels_last) if channels_last else inputs)
            right.append((out.argmax(dim=1) == target).float())
            losses.append(F.cross_entropy(out, target, reduction="none"))
    return to_host(torch.cat(right)), to_host(torch.cat(losses))


def per_client(right: Tensor, sizes: Sequence[int] | Indices) -> NDArray[np.float64]:
    """Means of consecutive parts of these sizes; a client with no sample gets NaN."""
    ends = np.cumsum(sizes)
    total = np.concatenate([[0.0], np.cumsum(right.double().numpy())])
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = (total[ends] - total[ends - np.asarray(sizes)]) / np.asarray(sizes)
    return means


def gradient(layout: Layout, model: Tensor, x: Tensor, y: Tensor, samples: Tensor) -> Tensor:
    """The gradient of the mean loss over these samples, flat."""
    samples = samples.to(layout.device)
    total = torch.zeros(layout.trained, device=layout.device)
    with layout.training(model.to(layout.device, copy=True), 0) as (
        module,
        named,
    ):  # a clone, since batch statistics move
        params = list(named.values())
        for first in range(0, len(samples), BATCH):
            part = samples[first : first + BATCH]
            loss = F.cross_entropy(module(x[part]), y[part], reduction="sum") / len(samples)
            total += torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params)])
    return to_host(total)
