"""How a wave of clients is trained: decided by a rule, not timed, so that the same command gives the same model.

A model that works under `vmap` and whose step is small is trained in stacks: one client's step does not fill a core,
and a stack shares the cost of every operation among its clients. A model whose step is large fills a core by itself and
is trained one client after another. Stacks of convolutions gain from being compiled, which takes a while and pays in
long runs; products of matrices do not gain. The figures behind the constants are in docs/performance.md.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from covey.errors import BadValue
from covey.execute.effects import Job
from covey.execute.flops import count_flops
from covey.execute.trainers import Memory, OneByOne, Stacked, Task, Trainer

MODES = ("auto", "one-by-one", "stacked", "compiled")
FILLS_A_CORE = 1e8  # operations of one client's step from which clients are not stacked
FILLS_THREADS = 2e7  # operations of one client's step from which it is spread over all threads
STACK_VALUES = 2**23  # parameters in one stack, about: beyond that it falls out of the processor's caches
LARGEST_STACK = 128
SPEED = 2e10  # operations a second, about, of stacked convolutions that are not compiled
COMPILE_PAYS = 90.0  # seconds of such training from which compiling pays


@dataclass(frozen=True)
class Way:
    """One way of training: the mode, how many clients are stacked, and whether on all threads or on one."""

    mode: str
    chunk: int = 1
    spread: bool = True


class Chooser:
    """Gives the trainer for a wave of jobs; `rounds` is how many such waves the whole run has, about."""

    def __init__(self, task: Task, mode: str = "auto", rounds: int = 1) -> None:
        if mode not in MODES:
            raise BadValue("mode", mode, f"one of {', '.join(MODES)}")
        self.task, self.mode, self.rounds = task, mode, rounds
        self.news: list[str] = []
        self._trainers: dict[tuple[str, int], Trainer] = {}
        self._obstacle: str | None = None
        self._tried = False

    def choose(self, jobs: Sequence[Job]) -> Way:
        """The way for this wave."""
        alone = Way("one-by-one", spread=self.work >= FILLS_THREADS)
        large = self.mode == "auto" and self.work >= FILLS_A_CORE
        if self.mode == "one-by-one" or large or len(jobs) == 1 or self.obstacle(jobs[0]) is not None:
            return alone
        chunk = _even(len(jobs), max(1, min(LARGEST_STACK, STACK_VALUES // self.task.layout.size)))
        seconds = sum(map(self.task.steps, jobs)) * self.rounds * self.work / SPEED
        pays = self.mode == "auto" and self._convolves and seconds > COMPILE_PAYS
        return Way("compiled" if self.mode == "compiled" or pays else "stacked", chunk)

    def trainer(self, way: Way) -> Trainer:
        """The trainer that trains in that way."""
        which = (way.mode, way.chunk)
        if which not in self._trainers:
            self._trainers[which] = (
                OneByOne(self.task)
                if way.mode == "one-by-one"
                else Stacked(self.task, way.chunk, compiled=way.mode == "compiled")
            )
        return self._trainers[which]

    @functools.cached_property
    def work(self) -> float:
        """Operations of one client's step, forward and backward."""
        module, sample = self.task.layout.module, self.task.x[:1]
        training = module.training
        module.eval()  # a single sample has no statistics
        try:
            flops = count_flops(module, sample)
        except (RuntimeError, NotImplementedError):  # it looks at its numbers, which meta tensors do not have
            flops = count_flops(module, sample, device="cpu")
        finally:
            module.train(training)
        return flops.training * self.task.deck.batch

    @property
    def _convolves(self) -> bool:
        kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
        return any(isinstance(part, kinds) for part in self.task.layout.module.modules())

    def obstacle(self, job: Job) -> str | None:
        """Why the model cannot be stacked, if it cannot: batch statistics, an operation without a batching rule."""
        if not self._tried:
            self._tried = True
            self._obstacle = "it has batch statistics" if self.task.layout.has_buffers else self._try_to_stack(job)
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


@contextmanager
def threads(way: Way) -> Iterator[None]:
    """Train on as many threads as the way says; torch's own number is put back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if way.spread else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _even(jobs: int, chunk: int) -> int:
    """The size of a stack when so many jobs are dealt evenly to stacks of at most `chunk`.

    >>> _even(100, 32), _even(100, 128)
    (25, 100)
    """
    return -(-jobs // -(-jobs // chunk))
