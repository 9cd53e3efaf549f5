"""Training on clients, one by one or stacked.

`OneByOne` is the specification: the module itself, ordinary autograd, one client after another; `workers.py` has
several of it at work at once. `Stacked` trains many clients in one go, `vmap` of `grad` over their parameters, and may
be compiled; it equals the specification up to the rounding of floating-point sums (tests hold it to 1e-4 relative).
All begin with the clients that have most steps, so that results are merged in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from covey import seeds
from covey.execute.batches import Batches, Deck
from covey.execute.device import to_host
from covey.execute.effects import Job
from covey.execute.layout import Layout
from covey.execute.norms import with_norms
from covey.execute.trace import Argument, tensors, trace
from covey.local import Augmentation, Optimiser, Params, Rule
from covey.shape import fit

RESULTS = 2**18  # values, about, that are handed out at once: memory that is free again by the time the next are


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a trainer needs to know: the model, the samples, what clients do with them and first do to them."""

    layout: Layout
    x: Tensor
    y: Tensor
    deck: Deck
    rule: Rule
    optimiser: Optimiser
    augmentations: tuple[Augmentation, ...] = ()

    def steps(self, job: Job) -> int:
        """How many steps the client of that job takes."""
        return self.deck.steps(job.client, job.epochs)

    def longest_first(self, jobs: Sequence[Job]) -> list[int]:
        """The places of the jobs, those with most steps first."""
        return sorted(range(len(jobs)), key=lambda j: -self.steps(jobs[j]))

    def deal(self, jobs: Sequence[Job]) -> Batches:
        """The batches of these jobs."""
        columns = zip(*((job.key, job.client, job.visit, job.epochs) for job in jobs), strict=True)
        numbers = (np.array(column, dtype=np.int64) for column in columns)
        return self.deck.deal(*numbers, draws=len(self.augmentations))

    def seen(self, x: Tensor, draws: Tensor) -> Tensor:
        """The samples as they are trained on; a sample's draws are one for every augmentation."""
        for number, part in enumerate(self.augmentations):
            x = part.apply(x, draws[:, number])
        return x

    @property
    def keeps_directions(self) -> bool:
        """Whether the directions of all steps have to be added up, since they do not follow from where steps led."""
        return bool(self.rule.remembers) and self.optimiser.reach(1.0, 1) is None


class Memory:
    """What clients remember, by name and client; zero at first."""

    def __init__(self, names: Sequence[str], size: int) -> None:
        self.own: dict[str, dict[int, Tensor]] = {name: {} for name in names}
        self._zero = torch.zeros(size)

    def of(self, client: int) -> dict[str, Tensor]:
        """What that client remembers."""
        return {name: vectors.get(client, self._zero) for name, vectors in self.own.items()}

    def put(self, client: int, vectors: Mapping[str, Tensor]) -> None:
        """Remember these from now on."""
        for name, vector in vectors.items():
            self.own[name][client] = vector

    def change(self, client: int, trained: Trained) -> dict[str, Tensor]:
        """Remember what a training left behind, and say by how much it differs; one that went wrong leaves nothing."""
        if not trained.finite:
            return {}
        before = self.of(client)
        self.put(client, trained.memory)
        return {name: new - before[name] for name, new in trained.memory.items()}

    def only(self, *clients: int) -> Memory:
        """The part of it that some clients have, to be sent to where they train."""
        part = Memory(list(self.own), len(self._zero))
        part.own = {name: {client: v[client] for client in clients if client in v} for name, v in self.own.items()}
        return part

    def copy(self) -> dict[str, dict[int, Tensor]]:
        """All of it as it is now; the vectors themselves are never changed."""
        return {name: dict(vectors) for name, vectors in self.own.items()}

    def restore(self, kept: Mapping[str, Mapping[int, Tensor]]) -> None:
        """Go back to such a copy; what is none is refused with a ValueError."""
        fit(kept, {name: {int: Tensor} for name in self.own}, "what clients remember")
        if any(vector.shape != self._zero.shape for vectors in kept.values() for vector in vectors.values()):
            raise ValueError(f"what clients remember are not vectors of {len(self._zero)} numbers")
        self.own = {name: dict(kept[name]) for name in self.own}


@dataclass(frozen=True, eq=False)
class Trained:
    """One client's result: its model, whether all of it is a number, its steps, and what the client now remembers.

    `job` is its place among the jobs that were given.
    """

    job: int
    model: Tensor
    finite: bool
    steps: int
    memory: dict[str, Tensor]


class Trainer(Protocol):
    """Trains jobs, giving results as they come."""

    def train(self, jobs: Sequence[Job], memory: Memory) -> Iterator[Trained]:
        """Train every job, those with most steps first; the memory is read, not written."""


class OneByOne:
    """One client after another, with the module itself.

    `channels_last` is for networks of convolutions, which are faster in that order. `draws` off is for networks that
    draw nothing at random, and leaves torch's generator alone.
    """

    def __init__(self, task: Task, *, channels_last: bool = False, draws: bool = True) -> None:
        self.task, self.channels_last, self.draws = task, channels_last, draws

    def train(self, jobs: Sequence[Job], memory: Memory) -> Iterator[Trained]:
        """Train every job; all begin with what their clients remember now."""
        remembered = [memory.of(job.client) for job in jobs]
        for number in self.task.longest_first(jobs):
            yield self.train_one(number, jobs[number], remembered[number])

    def train_one(self, number: int, job: Job, remembered: dict[str, Tensor]) -> Trained:
        """Train one of several jobs, that `number`, of a client that remembers this."""
        task, rule, layout = self.task, self.task.rule, self.task.layout
        batches = task.deal([job])
        start = job.model.to(layout.device)
        flat, received = start.clone(), layout.params(start)
        own, shared = _remembered(layout, remembered), _remembered(layout, job.shared)
        total = torch.zeros_like(flat) if task.keeps_directions else None
        steps = 0
        seed = int(seeds.mix(job.key, job.client, job.visit) >> 1) if self.draws else None
        with layout.training(flat, seed, channels_last=self.channels_last) as (module, params):

            def call(given: Params, *inputs: Any) -> Tensor:
                out: Tensor = module(*inputs) if given is params else layout.call(given, *inputs)
                return out

            state = task.optimiser.init(params)
            for t in range(batches.samples.shape[1]):
                samples = batches.samples[0, t]
                counts = None if batches.valid is None else batches.valid[0, t] > 0
                if counts is not None:
                    samples = samples[counts]
                    if not len(samples):
                        continue
                samples = samples.to(layout.device)
                x = task.x[samples]
                if task.augmentations:
                    draws = batches.draws[0, t] if counts is None else batches.draws[0, t][counts]
                    x = task.seen(x, draws.to(layout.device))
                if self.channels_last and x.dim() == 4:
                    x = x.contiguous(memory_format=torch.channels_last)
                loss = rule.loss(call, params, received, x, task.y[samples], None)
                found = torch.autograd.grad(loss, list(params.values()), allow_unused=True)
                with torch.no_grad():
                    grads = {
                        name: torch.zeros_like(p) if g is None else g
                        for (name, p), g in zip(params.items(), found, strict=True)
                    }
                    grads = rule.direction(grads, params, received, own, shared)
                    task.optimiser.step(params, grads, state, job.rate, None)
                    if total is not None:
                        total[: layout.trained] += torch.cat([g.reshape(-1) for g in grads.values()])
                steps += 1
        flat = to_host(flat)
        new = _new_memory(task, job, flat, remembered, steps, None if total is None else to_host(total))
        return Trained(number, flat, bool(torch.isfinite(flat.sum())), steps, new)


class Stacked:
    """Many clients in one go, at most `chunk` together; ragged clients are padded and masked, sorted by size."""

    def __init__(self, task: Task, chunk: int, *, compiled: bool = False) -> None:
        self.task, self.chunk, self.compiled = task, chunk, compiled
        self.module, self.book = with_norms(task.layout.module)
        self._steps: dict[tuple[object, ...], Callable[..., None]] = {}
        self._rooms: dict[str, Tensor] = {}

    def train(self, jobs: Sequence[Job], memory: Memory) -> Iterator[Trained]:
        """Train every job; all begin with what their clients remember now."""
        remembered = [memory.of(job.client) for job in jobs]
        order = self.task.longest_first(jobs)
        size = self.chunk if self.compiled else -(-len(jobs) // -(-len(jobs) // self.chunk))
        for first in range(0, len(order), size):
            part = order[first : first + size]
            yield from self._train(part, [jobs[j] for j in part], [remembered[j] for j in part])

    def _train(self, numbers: list[int], jobs: list[Job], remembered: list[dict[str, Tensor]]) -> Iterator[Trained]:
        task, rule, layout = self.task, self.task.rule, self.task.layout
        self.module.train()
        count = len(jobs)
        if self.compiled:  # a shorter last stack would be compiled anew: fill it up with copies that nobody reads
            jobs = jobs + [jobs[-1]] * (self.chunk - count)
            remembered = remembered + [remembered[-1]] * (self.chunk - count)
        batches = task.deal(jobs)
        model = jobs[0].model
        alike = all(job.model is model or torch.equal(job.model, model) for job in jobs)
        start = model.expand(len(jobs), -1) if alike else torch.stack([job.model for job in jobs])
        start = start.to(layout.device)
        rooms, self._rooms = self._rooms, {}  # nobody else's until the last result is out
        values = {name: _room(rooms, name, len(jobs), p).copy_(p) for name, p in layout.views(start).items()}
        params = {name: values.pop(name) for name in layout.parameters}
        # contiguous as in the trace; what all have received is there once, a stack of one
        got = layout.params(start[:1] if alike else start) if rule.uses_received else {}
        received = {name: p.contiguous() for name, p in got.items()}
        own_flat = {name: torch.stack([each[name] for each in remembered]) for name in rule.remembers}
        own, shared = _remembered(layout, own_flat), _remembered(layout, jobs[0].shared)
        state = task.optimiser.init(params)
        sums = {name: torch.zeros_like(p) for name, p in params.items()} if task.keeps_directions else {}
        rates = torch.tensor([job.rate for job in jobs], device=layout.device)
        there, shape = batches.to(layout.device), batches.samples.shape
        for t in range(shape[1]):
            samples = there.samples[:, t].reshape(-1)
            room = _room(rooms, "", len(samples), task.x)
            x = torch.index_select(task.x, 0, samples, out=room)
            if task.augmentations:
                x = task.seen(x, there.draws[:, t].flatten(0, 1))
            x = x.view(shape[0], shape[2], *task.x.shape[1:])
            y = task.y.index_select(0, samples).view(shape[0], shape[2])
            mask = None if there.valid is None else there.valid[:, t]
            active = None if there.active is None else there.active[:, t]
            now = rates if active is None else rates * active
            self._step(params, values, state, sums, received, own, shared, x, y, mask, now, active)
        totals = to_host(_rows(sums | {name: torch.zeros_like(v) for name, v in values.items()})) if sums else None
        taken = [shape[1]] * count if batches.active is None else batches.active.sum(dim=1).int().tolist()
        few = max(1, RESULTS // layout.size)
        for first in range(0, count, few):
            part = {name: p[first : min(first + few, count)] for name, p in (params | values).items()}
            result = to_host(_rows(part))
            finite = torch.isfinite(result.sum(dim=1)).tolist()
            for j, row in enumerate(result.unbind(), start=first):
                total = None if totals is None else totals[j]
                new = _new_memory(task, jobs[j], row, remembered[j], taken[j], total)
                yield Trained(numbers[j], row, finite[j - first], taken[j], new)
        self._rooms = rooms

    def _step(self, *arguments: Argument) -> None:
        """One step of every client in the stack, traced once for each shape."""
        *_, received, _, _, x, _, mask, _, active = arguments
        assert isinstance(received, dict)
        assert isinstance(x, Tensor)
        shape = (x.shape, _length(received), mask is None, active is None)
        if shape not in self._steps:
            self._steps[shape] = trace(self._one_step, arguments, compiled=self.compiled)
        self._steps[shape](*tensors(arguments))

    def _one_step(
        self,
        params: Params,
        statistics: Params,
        state: Params,
        sums: Params,
        received: Params,
        own: Params,
        shared: Params,
        x: Tensor,
        y: Tensor,
        mask: Tensor | None,
        rates: Tensor,
        active: Tensor | None,
    ) -> None:
        rule = self.task.rule

        def call(given: Params, *inputs: Any) -> Tensor:
            out: Tensor = functional_call(self.module, given, inputs)
            return out

        def loss(p: Params, s: Params, r: Params, x: Tensor, y: Tensor, m: Tensor | None) -> tuple[Tensor, Params]:
            self.book.open(s, m)
            return rule.loss(call, p, r, x, y, m), self.book.close()

        once = _length(received) == 1
        got = {name: p[0] for name, p in received.items()} if once else received
        dims: Any = (0, 0 if statistics else None, 0 if got and not once else None, 0, 0, None if mask is None else 0)
        grads, noted = vmap(grad(loss, has_aux=True), in_dims=dims)(params, statistics, got, x, y, mask)
        for name, before in statistics.items():
            before.copy_(noted[name] if active is None else torch.where(active.view(-1, 1) > 0, noted[name], before))
        grads = rule.direction(grads, params, received, own, shared)
        self.task.optimiser.step(params, grads, state, rates, active)
        for name, total in sums.items():
            on = 1.0 if active is None else active.view(-1, *(1,) * (total.dim() - 1))
            total.add_(on * grads[name])


def _room(rooms: Params, name: str, rows: int, like: Tensor) -> Tensor:
    """Memory for so many rows, the same for every stack: fresh memory costs more than what is written to it."""
    if name not in rooms or len(rooms[name]) < rows:
        rooms[name] = like.new_empty(rows, *like.shape[1:])
    return rooms[name][:rows]


def _length(stacked: Params) -> int:
    """How many clients' tensors these are; 0 of none."""
    return len(next(iter(stacked.values()))) if stacked else 0


def _remembered(layout: Layout, vectors: Mapping[str, Tensor]) -> Params:
    """Remembered vectors as "name/parameter" tensors, where the module is."""
    there = {name: flat.to(layout.device) for name, flat in vectors.items()}
    return {f"{name}/{key}": p for name, flat in there.items() for key, p in layout.params(flat).items()}


def _rows(stacked: Params) -> Tensor:
    """A stack of named tensors, in the layout's order, as one flat vector per client."""
    return torch.cat([values.flatten(1) for values in stacked.values()], dim=1)


def _new_memory(
    task: Task, job: Job, model: Tensor, own: dict[str, Tensor], steps: int, total: Tensor | None
) -> dict[str, Tensor]:
    """What the client remembers after a training; one that took no step keeps what it had.

    `total` is the sum of all directions where it was kept; else their mean follows from how far the steps led.
    """
    if not task.rule.remembers or not steps:
        return own
    if total is not None:
        direction = total / steps
    else:
        direction = (job.model - model) / (task.optimiser.reach(job.rate, steps) or 1.0)
        direction[task.layout.trained :] = 0.0
    return task.rule.remember(own, dict(job.shared), direction)
