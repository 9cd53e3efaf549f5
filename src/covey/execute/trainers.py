"""Training on clients, one by one or stacked.

`OneByOne` is the specification: the module itself, ordinary autograd, one client after another. `Stacked` trains many
clients in one go, `vmap` of `grad` over their parameters, and may be compiled; it equals the specification up to the
rounding of floating-point sums (tests hold it to 1e-4 relative).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from covey import seeds
from covey.execute.batches import Batches, Deck
from covey.execute.layout import Layout
from covey.execute.trace import Argument, tensors, trace
from covey.execute.walk import Job
from covey.local import Optimiser, Params, Rule


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a trainer needs to know: the model, the samples, what clients do with them."""

    layout: Layout
    x: Tensor
    y: Tensor
    deck: Deck
    rule: Rule
    optimiser: Optimiser
    epochs: int

    def steps(self, job: Job) -> int:
        """How many steps the client of that job takes."""
        return self.deck.steps(job.client, job.epochs or self.epochs)

    def deal(self, key: int, jobs: Sequence[Job]) -> Batches:
        """The batches of these jobs, in this round."""
        clients = np.array([job.client for job in jobs], dtype=np.int64)
        visits = np.array([job.visit for job in jobs], dtype=np.int64)
        epochs = np.array([job.epochs or self.epochs for job in jobs], dtype=np.int64)
        return self.deck.deal(key, clients, visits, epochs)


@dataclass(eq=False)
class Memory:
    """What a local rule remembers: the server's vectors, and every client's that has trained."""

    shared: dict[str, Tensor]
    own: dict[str, dict[int, Tensor]]

    def of(self, name: str, client: int) -> Tensor:
        """What that client remembers under that name, zero at first."""
        return self.own[name].get(client, torch.zeros_like(self.shared[name]))


@dataclass(frozen=True, eq=False)
class Trained:
    """One client's result: its model, whether all of it is a number, and what the client now remembers."""

    job: Job
    model: Tensor
    finite: bool
    memory: dict[str, Tensor]


class Trainer(Protocol):
    """Trains jobs, giving results as they come."""

    def train(self, jobs: Sequence[Job], key: int, rate: float, memory: Memory) -> Iterator[Trained]:
        """Train every job at this learning rate, batches drawn by this key."""


class OneByOne:
    """One client after another, with the module itself."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def train(self, jobs: Sequence[Job], key: int, rate: float, memory: Memory) -> Iterator[Trained]:
        """Train every job, in the order given."""
        for job in jobs:
            yield self._train(job, key, rate * job.rate, memory)

    def _train(self, job: Job, key: int, rate: float, memory: Memory) -> Trained:
        task, rule, layout = self.task, self.task.rule, self.task.layout
        batches = task.deal(key, [job])
        flat = job.model.clone()
        received = layout.params(job.model)
        own_flat = {name: memory.of(name, job.client) for name in rule.remembers}
        own, shared = _remembered(layout, own_flat), _remembered(layout, memory.shared)
        steps = 0
        with layout.training(flat, int(seeds.mix(key, job.client, job.visit) >> 1)) as (module, params):

            def call(given: Params, *inputs: Any) -> Tensor:
                out: Tensor = module(*inputs) if given is params else layout.call(given, *inputs)
                return out

            state = task.optimiser.init(layout.params(flat))
            for t in range(batches.samples.shape[1]):
                samples = batches.samples[0, t]
                if batches.valid is not None:
                    samples = samples[batches.valid[0, t] > 0]
                    if not len(samples):
                        continue
                loss = rule.loss(call, params, received, task.x[samples], task.y[samples], None)
                found = torch.autograd.grad(loss, list(params.values()), allow_unused=True)
                with torch.no_grad():
                    grads = {
                        name: torch.zeros_like(p) if g is None else g
                        for (name, p), g in zip(params.items(), found, strict=True)
                    }
                    grads = rule.direction(grads, params, received, own, shared)
                    task.optimiser.step(params, grads, state, rate, None)
                steps += 1
        new = rule.remember(flat, job.model, own_flat, memory.shared, rate * steps) if rule.remembers else {}
        return Trained(job, flat, bool(torch.isfinite(flat.sum())), new)


class Stacked:
    """Many clients in one go, at most `chunk` together; ragged clients are padded and masked, sorted by size."""

    def __init__(self, task: Task, chunk: int, *, compiled: bool = False) -> None:
        self.task, self.chunk, self.compiled = task, chunk, compiled
        self._steps: dict[tuple[object, ...], Callable[..., None]] = {}

    def train(self, jobs: Sequence[Job], key: int, rate: float, memory: Memory) -> Iterator[Trained]:
        """Train every job, those with most steps first."""
        order = sorted(range(len(jobs)), key=lambda j: -self.task.steps(jobs[j]))
        size = self.chunk if self.compiled else -(-len(jobs) // -(-len(jobs) // self.chunk))
        for first in range(0, len(order), size):
            yield from self._train([jobs[j] for j in order[first : first + size]], key, rate, memory)

    def _train(self, jobs: list[Job], key: int, rate: float, memory: Memory) -> Iterator[Trained]:
        task, rule, layout = self.task, self.task.rule, self.task.layout
        layout.module.train()
        count = len(jobs)
        if self.compiled:  # a shorter last stack would be compiled anew: fill it up with copies that nobody reads
            jobs = jobs + [jobs[-1]] * (self.chunk - count)
        batches = task.deal(key, jobs)
        first = jobs[0].model
        alike = all(job.model is first for job in jobs)
        start = first.expand(len(jobs), -1) if alike else torch.stack([job.model for job in jobs])
        params = {name: p.clone(memory_format=torch.contiguous_format) for name, p in layout.params(start).items()}
        received = layout.params(start) if rule.uses_received else {}
        own_flat = {name: torch.stack([memory.of(name, job.client) for job in jobs]) for name in rule.remembers}
        own, shared = _remembered(layout, own_flat), _remembered(layout, memory.shared)
        state = task.optimiser.init(params)
        rates = torch.tensor([rate * job.rate for job in jobs])
        shape = batches.samples.shape
        for t in range(shape[1]):
            samples = batches.samples[:, t].reshape(-1)
            x = task.x.index_select(0, samples).view(shape[0], shape[2], *task.x.shape[1:])
            y = task.y.index_select(0, samples).view(shape[0], shape[2])
            mask = None if batches.valid is None else batches.valid[:, t]
            active = None if batches.active is None else batches.active[:, t]
            now = rates if active is None else rates * active
            self._step(params, state, received, own, shared, x, y, mask, now, active)
        result = torch.cat([params[name].view(shape[0], -1) for name in layout.parameters], dim=1)
        taken = torch.full((shape[0],), float(shape[1])) if batches.active is None else batches.active.sum(dim=1)
        rows = result.unbind()
        finite = torch.isfinite(result.sum(dim=1)).tolist()
        for j in range(count):
            new = {}
            if rule.remembers:
                mine = {name: vectors[j] for name, vectors in own_flat.items()}
                new = rule.remember(rows[j], start[j], mine, memory.shared, float(rates[j] * taken[j]))
            yield Trained(jobs[j], rows[j], finite[j], new)

    def _step(self, *arguments: Argument) -> None:
        """One step of every client in the stack, traced once for each shape."""
        *_, x, _, mask, _, active = arguments
        shape = (x.shape if isinstance(x, Tensor) else None, mask is None, active is None)
        if shape not in self._steps:
            self._steps[shape] = trace(self._one_step, arguments, compiled=self.compiled)
        self._steps[shape](*tensors(arguments))

    def _one_step(
        self,
        params: Params,
        state: Params,
        received: Params,
        own: Params,
        shared: Params,
        x: Tensor,
        y: Tensor,
        mask: Tensor | None,
        rates: Tensor,
        active: Tensor | None,
    ) -> None:
        rule, call = self.task.rule, self.task.layout.call

        def loss(p: Params, r: Params, x: Tensor, y: Tensor, m: Tensor | None) -> Tensor:
            return rule.loss(call, p, r, x, y, m)

        dims: Any = (0, 0 if received else None, 0, 0, None if mask is None else 0)
        grads = vmap(grad(loss), in_dims=dims)(params, received, x, y, mask)
        grads = rule.direction(grads, params, received, own, shared)
        self.task.optimiser.step(params, grads, state, rates, active)


def _remembered(layout: Layout, vectors: dict[str, Tensor]) -> Params:
    """Remembered vectors as "name/parameter" tensors."""
    return {f"{name}/{key}": p for name, flat in vectors.items() for key, p in layout.params(flat).items()}
