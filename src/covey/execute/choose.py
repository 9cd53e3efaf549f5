"""Which way of training is fastest here: measured, not guessed, and remembered.

A choice is remembered per model, batch, rule and size of wave, in the user's cache folder, so that the same command
trains in the same way, and thus to the same model, the next time; a run also keeps its choices in its checkpoints.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import inspect
import json
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
import torch

from covey.errors import BadValue
from covey.execute.effects import Job
from covey.execute.trainers import Memory, OneByOne, Stacked, Task, Trainer

THREADS = torch.get_num_threads()
MODES = ("auto", "one-by-one", "stacked", "compiled")
STACK_VALUES = 2**26  # at most so many parameters in one stack: 256 MB
CHUNKS = (8, 32, 128)
COMPILE_PAYS = 90.0  # seconds of stacked training from which compiling is tried


@dataclass(frozen=True)
class Choice:
    """One way of training: the mode, how many clients are stacked, and on how many threads."""

    mode: str
    chunk: int = 1
    threads: int = 1


class Chooser:
    """Gives the trainer for a wave of jobs, measuring where nothing is remembered."""

    def __init__(self, task: Task, mode: str = "auto") -> None:
        if mode not in MODES:
            raise BadValue("mode", mode, f"one of {', '.join(MODES)}")
        self.task, self.mode = task, mode
        self.choices: dict[str, Choice] = {}
        self._trainers: dict[tuple[str, int], Trainer] = {}
        self._name = _fingerprint(task)
        self._stacks: bool | None = None

    def trainer(self, jobs: Sequence[Job], horizon: int) -> Trainer:
        """The trainer for this wave; `horizon` is about how many such waves the whole run has."""
        choice = self.choose(jobs, horizon)
        torch.set_num_threads(choice.threads)
        return self._make(choice)

    def choose(self, jobs: Sequence[Job], horizon: int) -> Choice:
        """The choice for this wave, remembered or measured."""
        wave = 1 << (len(jobs) - 1).bit_length()
        steps = sum(map(self.task.steps, jobs)) * horizon
        long = steps * self._floor() > COMPILE_PAYS
        key = f"{self._name} {self.mode} wave {wave}{' long' if long else ''}"
        if key not in self.choices:
            self.choices[key] = _recall(key) or _remember(key, self._measure(jobs, steps))
        return self.choices[key]

    def stacks(self, job: Job) -> bool:
        """Whether the model works under vmap: no batch statistics, no operation without a batching rule."""
        if self._stacks is None:
            self._stacks = False
            if not self.task.layout.has_buffers:
                with contextlib.suppress(RuntimeError, NotImplementedError, UserWarning), warnings.catch_warnings():
                    warnings.simplefilter("error", UserWarning)  # vmap's, where it falls back to a slow loop (LSTM)
                    self._seconds(Choice("stacked", 2), [job, job])
                    self._stacks = True
        return self._stacks

    def export(self) -> dict[str, list[str | int]]:
        """The choices made so far, for a checkpoint."""
        return {key: [choice.mode, choice.chunk, choice.threads] for key, choice in self.choices.items()}

    def adopt(self, choices: dict[str, list[str | int]]) -> None:
        """Take the choices of a checkpoint as they are."""
        self.choices = {key: _choice(values) for key, values in choices.items()}

    def _make(self, choice: Choice) -> Trainer:
        which = (choice.mode, choice.chunk)
        if which not in self._trainers:
            self._trainers[which] = (
                OneByOne(self.task)
                if choice.mode == "one-by-one"
                else Stacked(self.task, choice.chunk, compiled=choice.mode == "compiled")
            )
        return self._trainers[which]

    def _most(self) -> int:
        return max(1, STACK_VALUES // self.task.layout.size)

    def _floor(self) -> float:
        """Seconds a client's step takes at the very least: a rough bound that decides if compiling can ever pay."""
        return 5e-6 + self.task.layout.size * 1e-9

    def _measure(self, jobs: Sequence[Job], steps: int) -> Choice:
        """The fastest way: one by one, in stacks of several sizes, and compiled where the whole work is long enough."""
        stacks = len(jobs) > 1 and self.mode != "one-by-one" and self.stacks(jobs[0])
        sizes = sorted({min(_even(len(jobs), chunk), self._most()) for chunk in CHUNKS}) if stacks else []
        candidates = [Choice("stacked", size, t) for size in sizes for t in {1, THREADS} if self.mode != "compiled"]
        if not stacks or self.mode == "auto":
            candidates += [Choice("one-by-one", 1, threads) for threads in {1, THREADS}]
        times = {choice: self._seconds(choice, jobs) for choice in candidates}
        if self.mode == "compiled" or (self.mode == "auto" and min(times.values()) * steps > COMPILE_PAYS):
            times |= {c: self._seconds(c, jobs) for c in (Choice("compiled", size, THREADS) for size in sizes)}
        return min(times, key=lambda choice: times[choice])

    def _seconds(self, choice: Choice, jobs: Sequence[Job]) -> float:
        """Seconds per client and step; the training is thrown away."""
        task, chunk = self.task, max(choice.chunk, 1)
        wave = [jobs[j % len(jobs)] for j in range(chunk)]
        wave = [Job(job.client, job.model, rate=0.0, shared=job.shared) for job in wave]
        memory = Memory(task.rule.remembers, task.layout.size)
        trainer = self._make(choice)
        torch.set_num_threads(choice.threads)
        fastest = float("inf")
        for _ in range(2):
            begun = time.perf_counter()
            for _ in trainer.train(wave, memory):
                pass
            fastest = min(fastest, time.perf_counter() - begun)
        return fastest / max(1, sum(map(task.steps, wave)))


def _even(jobs: int, chunk: int) -> int:
    """The size of a stack when so many jobs are dealt evenly to stacks of at most `chunk`.

    >>> _even(100, 32), _even(100, 128)
    (25, 100)
    """
    return -(-jobs // -(-jobs // chunk))


def _fingerprint(task: Task) -> str:
    module = task.layout.module
    shape = (task.layout.shapes, repr(module), _source(module), tuple(task.x.shape[1:]), task.deck.batch)
    setting = (repr(task.rule), repr(task.optimiser), torch.__version__, THREADS)
    return hashlib.sha256(repr((shape, setting)).encode()).hexdigest()[:16]


def _source(module: torch.nn.Module) -> list[str]:
    """The code of a user's own modules: two that look alike may differ in whether they can be stacked."""
    kinds = {type(part) for part in module.modules()}
    with contextlib.suppress(OSError, TypeError):  # code typed at a prompt has no file
        return sorted(inspect.getsource(kind) for kind in kinds if not kind.__module__.startswith("torch."))
    return []


def _choice(values: Sequence[str | int]) -> Choice:
    mode, chunk, threads = values
    return Choice(str(mode), int(chunk), int(threads))


def _cache() -> Path:
    return Path(os.environ.get("COVEY_CACHE") or pooch.os_cache("covey")) / "choices.json"


def _known() -> dict[str, Any]:
    """What the cache holds; nothing where it is missing or damaged."""
    try:
        known = json.loads(_cache().read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _recall(key: str) -> Choice | None:
    try:
        return _choice(_known()[key])
    except (KeyError, TypeError, ValueError):
        return None


def _remember(key: str, choice: Choice) -> Choice:
    """Write the choice down; who came first wins. A cache that cannot be written is done without."""
    path = _cache()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (first := _recall(key)) is not None:
                return first
            part = path.with_suffix(".part")
            part.write_text(json.dumps(_known() | {key: [choice.mode, choice.chunk, choice.threads]}, indent=1))
            part.replace(path)
    return choice
