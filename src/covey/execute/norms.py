"""Batch normalisation in a stack of clients: each client has its own statistics, and padding counts in none of them.

Torch's own changes its running statistics in place, which `grad` does not allow, and knows of no padding. Here every
pass takes the statistics of the samples that count and notes what the running ones become; the step writes them down.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from covey.local import Params


class Book:
    """What the passes of one step share: which samples count, and the running statistics, by name, as they change."""

    def __init__(self) -> None:
        self.mask: Tensor | None = None
        self.statistics: Params = {}

    def open(self, statistics: Params, mask: Tensor | None) -> None:
        """Begin a step."""
        self.mask, self.statistics = mask, dict(statistics)

    def close(self) -> Params:
        """End it; the running statistics are those after its passes."""
        found, self.mask, self.statistics = self.statistics, None, {}
        return found


class Norm(nn.Module):
    """One batch normalisation of a network, as `vmap` of `grad` can run it in training."""

    def __init__(self, norm: _BatchNorm, name: str, book: Book) -> None:
        super().__init__()
        self.weight, self.bias = norm.weight, norm.bias
        self.eps, self.momentum, self.name, self.book = norm.eps, norm.momentum or 0.0, name, book

    def forward(self, x: Tensor) -> Tensor:
        """Every channel less its mean, divided by its deviation, over the samples that count."""
        mask = torch.ones_like(x.flatten(1)[:, 0]) if self.book.mask is None else self.book.mask
        share = mask / mask.sum().clamp(min=1)
        mean = share @ _of_samples(x)
        centred = x - self._wide(mean, x)
        variance = share @ _of_samples(centred.square())
        count = (mask.sum() * x[0, 0].numel()).clamp(min=2)
        self._note("running_mean", mean.detach())
        self._note("running_var", variance.detach() * count / (count - 1))
        out = centred * self._wide(torch.rsqrt(variance + self.eps), x)
        if self.weight is not None:
            out = out * self._wide(self.weight, x) + self._wide(self.bias, x)
        return out

    def _note(self, what: str, found: Tensor) -> None:
        name = f"{self.name}.{what}".removeprefix(".")
        if name in self.book.statistics:
            self.book.statistics[name] = self.book.statistics[name].lerp(found, self.momentum)

    @staticmethod
    def _wide(channels: Tensor, x: Tensor) -> Tensor:
        return channels.view(1, -1, *(1,) * (x.dim() - 2))


def _of_samples(x: Tensor) -> Tensor:
    """The mean of every sample's channels."""
    return x.flatten(2).mean(2) if x.dim() > 2 else x


def with_norms(module: nn.Module) -> tuple[nn.Module, Book]:
    """The module as a stack can run it: itself, or a copy with other batch normalisations, and the book they write."""
    book = Book()
    if not any(isinstance(part, _BatchNorm) for part in module.modules()):
        return module, book
    module = copy.deepcopy(module)
    if isinstance(module, _BatchNorm):
        return Norm(module, "", book), book
    for name, part in list(module.named_modules()):
        if isinstance(part, _BatchNorm):
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, Norm(part, name, book))
    return module, book


def obstacle(module: nn.Module) -> str | None:
    """Why the statistics in it cannot be stacked, if they cannot.

    >>> obstacle(nn.BatchNorm1d(2)), obstacle(nn.BatchNorm1d(2, momentum=None))
    (None, 'it averages batch statistics over all batches')
    """
    norms = {name: part for name, part in module.named_modules() if isinstance(part, _BatchNorm)}
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point() and name.rpartition(".")[0] not in norms:
            return f"it has a buffer that may change as it trains, {name}"
    if any(part.momentum is None and part.track_running_stats for part in norms.values()):
        return "it averages batch statistics over all batches"
    if any(type(part).forward is not _BatchNorm.forward for part in norms.values()):
        return "it has a batch normalisation of its own"
    return None
