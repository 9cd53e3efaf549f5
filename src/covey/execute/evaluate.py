"""How good a model is: on the global test set, on every client's own test split, and its gradients on clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from covey.execute.layout import Layout

BATCH = 1000


def scores(layout: Layout, model: Tensor, x: Tensor, y: Tensor, samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """For every sample: is it right (0 or 1), and its loss."""
    right, losses = [], []
    count = len(y) if samples is None else len(samples)
    with torch.no_grad(), layout.loaded(model) as module:
        module.eval()
        for first in range(0, max(count, 1), BATCH):
            part = slice(first, first + BATCH) if samples is None else samples[first : first + BATCH]
            out, target = module(x[part]), y[part]
            right.append((out.argmax(dim=1) == target).float())
            losses.append(F.cross_entropy(out, target, reduction="none"))
    return torch.cat(right), torch.cat(losses)


def per_client(right: Tensor, sizes: Sequence[int]) -> NDArray[np.float64]:
    """Means of consecutive parts of these sizes; a client with no sample gets NaN."""
    ends = np.cumsum(sizes)
    total = np.concatenate([[0.0], np.cumsum(right.double().numpy())])
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = (total[ends] - total[ends - np.asarray(sizes)]) / np.asarray(sizes)
    return means


def gradient(layout: Layout, model: Tensor, x: Tensor, y: Tensor, samples: Tensor) -> Tensor:
    """The gradient of the mean loss over these samples, flat."""
    total = torch.zeros(layout.trained)
    with layout.training(model.clone(), 0) as (module, named):  # a clone, since batch statistics move
        params = list(named.values())
        for first in range(0, len(samples), BATCH):
            part = samples[first : first + BATCH]
            loss = F.cross_entropy(module(x[part]), y[part], reduction="sum") / len(samples)
            total += torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params)])
    return total
