"""Which way of training is fastest here: measured, where `covey.execute.choose` decides by a rule.

The first wave of an experiment is trained in every way there is, an epoch each, and timed. Nothing else in covey times
anything: what comes out is for a person, or for a file of settings that a person keeps.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch

from covey.errors import BadValue
from covey.execute.backend import Backend, Work
from covey.execute.choose import Chooser, Way, threads
from covey.execute.effects import Answer, Job
from covey.execute.trainers import Memory
from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.rehearse import Understudy

STACKS = (8, 16, 32, 64, 128, 256)
REPEATS = 3


class _Heard(Exception):
    """The first wave is known."""


class _Ear(Understudy):
    """An executor that only listens to which jobs come first."""

    def __init__(self, work: Work) -> None:
        super().__init__(work, steps=False)
        self.work, self.jobs = work, list[Job]()

    def finished(self, timeout: float | None = None) -> Iterator[tuple[int, Answer]]:
        """The jobs of the first wave are all that is wanted."""
        self.jobs = [job for _, job in self._waiting]
        raise _Heard


@dataclass(frozen=True)
class _Listening(Backend):
    accelerates = True
    ears: list[_Ear] = field(default_factory=list)

    def executor(self, work: Work) -> _Ear:
        """One that listens."""
        self.ears.append(_Ear(work))
        return self.ears[-1]


@dataclass(frozen=True)
class Timed:
    """One way: microseconds of a client's step, at best, and the seconds of the first wave, tracing and all."""

    way: Way
    microseconds: float
    first: float


@dataclass(frozen=True)
class Tuned:
    """All ways, the fastest first, and the one that the rule takes."""

    ways: list[Timed]
    rule: Way
    jobs: int
    steps: int

    @property
    def best(self) -> Timed:
        """The fastest."""
        return self.ways[0]


def tune(experiment: Experiment, *, compiled: bool = True, say: Callable[[str], None] = lambda text: None) -> Tuned:
    """Train an experiment's first wave in every way.

    compiled: try compiled stacks, too, which take a while to make
    say: is told what is being tried
    """
    work, jobs = _first_wave(experiment)
    jobs = [replace(job, epochs=1) for job in jobs]
    steps = sum(map(work.task.steps, jobs))
    if not steps:
        raise BadValue("clients", experiment.clients, "a fleet whose first clients have samples to train on")
    cores = torch.get_num_threads() if work.task.layout.device.type == "cpu" else 1
    chooser = Chooser(work.task, "auto", experiment.rounds, cores)
    rule = chooser.choose([replace(job, epochs=experiment.epochs) for job in jobs])
    timed = [_time(chooser, way, jobs, steps, say) for way in _single(cores, jobs)]
    if len(jobs) > 1 and chooser.obstacle(jobs[0]) is None:
        sizes = sorted({min(size, len(jobs)) for size in STACKS})
        stacked = [_time(chooser, Way("stacked", size), jobs, steps, say) for size in sizes]
        timed += stacked
        if compiled:
            size = min(stacked, key=lambda one: one.microseconds).way.chunk
            timed.append(_time(chooser, Way("compiled", size), jobs, steps, say))
    return Tuned(sorted(timed, key=lambda one: one.microseconds), rule, len(jobs), steps)


def _first_wave(experiment: Experiment) -> tuple[Work, list[Job]]:
    backend = _Listening()
    loop = assemble(experiment, backend=backend)
    with contextlib.suppress(_Heard):
        loop.go(loop.begin())
    return backend.ears[0].work, backend.ears[0].jobs


def _single(cores: int, jobs: Sequence[Job]) -> list[Way]:
    alone = [Way("one-by-one")]
    return [*alone, Way("one-by-one", workers=cores)] if cores > 1 and len(jobs) > 1 else alone


def _time(chooser: Chooser, way: Way, jobs: list[Job], steps: int, say: Callable[[str], None]) -> Timed:
    say(described(way))
    seconds = []
    with threads(way):
        for _ in range(1 + REPEATS):
            memory = Memory(chooser.task.rule.remembers, chooser.task.layout.size)
            begun = time.perf_counter()
            for _ in chooser.trainer(way).train(jobs, memory):
                pass
            seconds.append(time.perf_counter() - begun)
    return Timed(way, min(seconds[1:]) / steps * 1e6, seconds[0])


def described(way: Way) -> str:
    """The way in words.

    >>> described(Way("stacked", 32)), described(Way("one-by-one", workers=2)), described(Way("one-by-one"))
    ('stacks of 32', 'one by one, 2 at once', 'one by one')
    """
    if way.mode == "one-by-one":
        return "one by one" if way.workers == 1 else f"one by one, {way.workers} at once"
    return f"stacks of {way.chunk}" + (", compiled" if way.mode == "compiled" else "")


def settings_of(way: Way) -> dict[str, str | int]:
    """The settings that make a run train in that way.

    >>> settings_of(Way("stacked", 32)), settings_of(Way("one-by-one", workers=2))
    ({'mode': 'stacked', 'stack': 32}, {'mode': 'one-by-one', 'executor': 'local:workers=2'})
    """
    if way.mode == "one-by-one":
        return {"mode": way.mode, "executor": f"local:workers={way.workers}"}
    return {"mode": way.mode, "stack": way.chunk}
