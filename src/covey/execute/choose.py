"""How a wave of clients is trained: decided by a rule, not timed, so that the same command gives the same model.

A model that works under `vmap` and whose step is small is trained in stacks: one client's step does not fill a core,
and a stack shares the cost of every operation among its clients. A model whose step is large fills a core by itself,
and a short run would be over before torch's `vmap` is imported and the step traced: as many clients as there are cores
are trained side by side then, one thread each, so that the result does not depend on the number of cores. Stacks of
convolutions gain from being compiled, which takes a while and pays in long runs; products of matrices and batch
normalisation do not gain. The figures behind the constants are in docs/performance.md.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from covey.errors import BadValue
from covey.execute import norms
from covey.execute.device import one_thread
from covey.execute.effects import Job
from covey.execute.flops import count_flops
from covey.execute.trainers import Memory, OneByOne, Stacked, Task, Trainer
from covey.execute.workers import SideBySide

MODES = ("auto", "one-by-one", "stacked", "compiled")
FILLS_A_CORE = 1e8  # operations of one client's step from which clients are not stacked
CONVOLUTIONS_FILL_IT = 2.5e7  # the same where the step convolves: stacks of convolutions are slower for their size
COMPILED_FILL_IT = 7e7  # the same where such stacks are compiled
KEEPS_A_WORKER_BUSY = 1e6  # operations of one client's step from which clients are trained side by side
STACK_VALUES = 2**23  # parameters in one stack, about: beyond that it falls out of the processor's caches
LARGEST_STACK = 128
STACKING_PAYS = 3000  # steps of the whole run from which stacking saves more time than the seconds it needs to begin
SPEED = 2e10  # operations a second, about, of stacked convolutions that are not compiled
COMPILE_PAYS = 90.0  # seconds of such training from which compiling pays


@dataclass(frozen=True)
class Way:
    """One way of training: the mode, how many clients are stacked, and how many are trained side by side."""

    mode: str
    chunk: int = 1
    workers: int = 1


class Chooser:
    """Gives the trainer for a wave of jobs.

    `rounds` is how many such waves the whole run has, about. At most `workers` clients are trained side by side, and at
    most `stack` in one stack, where the mode is to stack them; without it the rule says how many.
    """

    def __init__(
        self, task: Task, mode: str = "auto", rounds: int = 1, workers: int = 1, stack: int | None = None
    ) -> None:
        if mode not in MODES:
            raise BadValue("mode", mode, f"one of {', '.join(MODES)}")
        if stack is not None and mode not in ("stacked", "compiled"):
            raise BadValue("stack", stack, f"none with mode {mode}; set mode to stacked or compiled")
        self.task, self.mode, self.rounds, self.workers = task, mode, rounds, workers
        self.stack = stack or max(1, min(LARGEST_STACK, STACK_VALUES // task.layout.size))
        self.news: list[str] = []
        self._trainers: dict[Way, Trainer] = {}
        self._obstacle: str | None = None
        self._tried = False

    def choose(self, jobs: Sequence[Job]) -> Way:
        """The way for this wave."""
        steps = sum(map(self.task.steps, jobs)) * self.rounds
        short = self.mode == "auto" and steps < STACKING_PAYS
        if short or self.mode == "one-by-one" or len(jobs) == 1:
            return Way("one-by-one", workers=self._side_by_side(jobs))
        pays = self._convolves and not self._norms and steps * self.work / SPEED > COMPILE_PAYS
        fills = (COMPILED_FILL_IT if pays else CONVOLUTIONS_FILL_IT) if self._convolves else FILLS_A_CORE
        large = self.mode == "auto" and self.work >= fills
        if large or self.obstacle(jobs[0]) is not None:
            return Way("one-by-one", workers=self._side_by_side(jobs))
        mode = self.mode if self.mode != "auto" else "compiled" if pays else "stacked"
        return Way(mode, _even(len(jobs), self.stack))

    def trainer(self, way: Way) -> Trainer:
        """The trainer that trains in that way."""
        if way not in self._trainers:
            self._trainers[way] = self._make_trainer(way)
        return self._trainers[way]

    def _make_trainer(self, way: Way) -> Trainer:
        if way.mode != "one-by-one":
            return Stacked(self.task, way.chunk, compiled=way.mode == "compiled")
        if way.workers > 1:
            return SideBySide(self.task, way.workers, channels_last=self._channels_last)
        return OneByOne(self.task, channels_last=self._channels_last)

    def _side_by_side(self, jobs: Sequence[Job]) -> int:
        """How many of these jobs are trained at once."""
        if self.workers == 1 or len(jobs) == 1 or self.work < KEEPS_A_WORKER_BUSY or self._draws:
            return 1
        return self.workers

    @functools.cached_property
    def _draws(self) -> bool:
        """Whether the model draws at random as it trains (dropout): torch's generator is one for all threads."""
        before = torch.default_generator.get_state()
        with torch.random.fork_rng(devices=[]):
            self._try_batch(channels_last=False)
            drew = not torch.equal(torch.default_generator.get_state(), before)
        if drew:
            self.news.append("clients are trained one at a time, for the model draws at random (dropout)")
        return drew

    @functools.cached_property
    def _channels_last(self) -> bool:
        """Whether images are trained on in the order height, width, channels: faster where there are convolutions."""
        if self.task.x.dim() != 4 or not self.task.layout.convolves:
            return False
        try:
            with torch.random.fork_rng(devices=[]):
                self._try_batch(channels_last=True)
        except RuntimeError:  # it looks at its tensors in a way that depends on their order (view)
            self.news.append("the model does not take images in the order channels last, which would be faster")
            return False
        return True

    def _try_batch(self, *, channels_last: bool) -> None:
        """One pass over a batch, of which nothing remains."""
        task = self.task
        count = min(max(2, task.deck.batch), len(task.x))
        x = task.x[:count].contiguous(memory_format=torch.channels_last) if channels_last else task.x[:count]
        start = task.layout.initial().to(task.layout.device)
        with task.layout.training(start.clone(), None, channels_last=channels_last) as (module, params):
            loss = task.rule.loss(
                lambda _, *given: module(*given), params, task.layout.params(start), x, task.y[:count], None
            )
            torch.autograd.grad(loss, list(params.values()), allow_unused=True)

    @functools.cached_property
    def work(self) -> float:
        """Operations of one client's step, forward and backward."""
        module, sample = self.task.layout.module, self.task.x[:1]
        try:
            flops = count_flops(module, sample)
        except (RuntimeError, NotImplementedError):  # it looks at its numbers, which meta tensors do not have
            flops = count_flops(module, sample, device="cpu")
        return flops.training * self.task.deck.batch

    @property
    def _convolves(self) -> bool:
        return self._has(nn.Conv1d, nn.Conv2d, nn.Conv3d)

    @property
    def _norms(self) -> bool:
        return self._has(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)

    def _has(self, *kinds: type[nn.Module]) -> bool:
        return any(isinstance(part, kinds) for part in self.task.layout.module.modules())

    def obstacle(self, job: Job) -> str | None:
        """Why the model cannot be stacked, if it cannot: buffers that change, an operation without a batching rule."""
        if not self._tried:
            self._tried = True
            self._obstacle = norms.obstacle(self.task.layout.module) or self._try_to_stack(job)
            if self._obstacle is not None:
                self.news.append(f"clients are trained one by one, for the model cannot be stacked: {self._obstacle}")
        return self._obstacle

    def _try_to_stack(self, job: Job) -> str | None:
        twice = [Job(job.client, job.model, rate=0.0, shared=job.shared)] * 2
        memory = Memory(self.task.rule.remembers, self.task.layout.size)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # vmap's, where it falls back to a slow loop (LSTM)
                for _ in Stacked(self.task, 2).train(twice, memory):
                    pass
        except (RuntimeError, NotImplementedError, UserWarning) as error:
            return str(error).partition(" (Triggered internally")[0].strip().splitlines()[0]
        return None


def threads(way: Way) -> AbstractContextManager[None]:
    """Train in that way: stacks on all threads, single clients on one each. Torch's number is put back afterwards."""
    return one_thread() if way.mode == "one-by-one" else nullcontext()


def _even(jobs: int, chunk: int) -> int:
    """The size of a stack when this many jobs are dealt evenly to stacks of at most `chunk`.

    >>> _even(100, 32), _even(100, 128)
    (25, 100)
    """
    return -(-jobs // -(-jobs // chunk))
