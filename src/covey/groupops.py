"""What group operations cost here: processor seconds and bytes against group size, and the quadratic through them.

Group-FEL ("Group Formation and Sampling in Group-based Hierarchical Federated Learning", Fig. 2a and 9) measures this
on a Raspberry Pi 4: what secure aggregation and backdoor detection take each member of a group, and what an epoch takes
by the number of samples. Here the operations are covey's own: the secure mean (`covey.secure`) with nobody lost, FLAME
(`covey.merge.flame`) as its server computes it while the members wait, and training one client.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from covey.execute.effects import Job
from covey.execute.local import Training, make_task
from covey.execute.trainers import Memory, OneByOne
from covey.fleet import FleetData
from covey.merge import Flame, Gathering
from covey.models import build_model
from covey.profile import SECURE, Profile, fit
from covey.ragged import Ragged
from covey.secure import simulate

BACKDOOR = "backdoor-detection"
SHAPE, CLASSES = (1, 28, 28), 10
REPEATS = 3


@dataclass(frozen=True)
class Measured:
    """Seconds, and bytes where any are sent, against sizes; `fit` are the coefficients, the highest power first."""

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    fit: tuple[float, ...]
    r2: float
    bytes: tuple[float, ...] = ()
    server_seconds: tuple[float, ...] = ()


Progress = Callable[[str], None]


def measure_secure(sizes: Sequence[int], values: int, progress: Progress = lambda _: None) -> Measured:
    """The secure mean of this many values: the mean over the members, the best of three."""
    rows = []
    for size in sizes:
        progress(f"secure aggregation, {size} clients")
        given = {u: np.full(values, 0.5, dtype=np.float32) for u in range(size)}
        tries = []
        for _ in range(REPEATS):
            session = simulate(given)[1]
            client = [session.seconds[u] for u in given], [session.bytes[u] for u in given]
            tries.append([float(np.mean(client[0])), float(np.mean(client[1])), session.seconds["server"]])
        rows.append(np.min(tries, axis=0))
    seconds, sent, server = (tuple(column) for column in np.transpose(rows).tolist())
    curve, r2 = fit(sizes, seconds, 2)
    return Measured(tuple(sizes), seconds, curve, r2, bytes=sent, server_seconds=server)


def measure_backdoor(sizes: Sequence[int], values: int, progress: Progress = lambda _: None) -> Measured:
    """FLAME over the models of a group."""
    models = torch.randn(max(sizes), values, generator=torch.Generator().manual_seed(0))
    start = torch.zeros(values)

    def merge(size: int) -> None:
        merging = Flame().open(Gathering(tuple((j,) for j in range(size)), start))
        for member in range(size):
            merging.add(member, models[member], 1.0)
        merging.close(())

    return _timed("backdoor detection", sizes, merge, 2, progress)


def measure_training(samples: Sequence[int], model: str, batch: int, progress: Progress = lambda _: None) -> Measured:
    """An epoch of one client over this many made-up images of 28 x 28 pixels."""
    most = max(samples)
    x = np.zeros((most, *SHAPE), dtype=np.float32)
    y = np.zeros(most, dtype=np.int64)
    held, none = Ragged.of([np.arange(n) for n in samples]), Ragged.of([[] for _ in samples])
    data = FleetData("made up", x, y, x[:1], y[:1], held, none, CLASSES)
    module = build_model(model, SHAPE, CLASSES, 0)
    task = make_task(module, data, Training(batch=batch))
    trainer, start = OneByOne(task), task.layout.initial()

    def train(count: int) -> None:
        list(trainer.train([Job(list(samples).index(count), start, rate=0.01)], Memory((), task.layout.size)))

    return _timed("training", samples, train, 1, progress)


def model_values(model: str) -> int:
    """How many parameters the model has on such images."""
    return sum(p.numel() for p in build_model(model, SHAPE, CLASSES, 0).parameters())


def profile(secure: Measured, backdoor: Measured, training: Measured, **notes: object) -> Profile:
    """The measured curves as a profile."""
    return Profile(
        {"sgd": (training.fit[0], training.fit[1])},
        {name: (m.fit[0], m.fit[1], m.fit[2]) for name, m in ((SECURE, secure), (BACKDOOR, backdoor))},
        notes,
    )


def _timed(what: str, sizes: Iterable[int], work: Callable[[int], None], degree: int, progress: Progress) -> Measured:
    """Processor seconds on one thread, the best of three."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    sizes, seconds = tuple(sizes), []
    try:
        work(sizes[0])  # what is loaded at first use is not part of it
        for size in sizes:
            progress(f"{what}, {size}")
            tries = []
            for _ in range(REPEATS):
                begun = time.thread_time()
                work(size)
                tries.append(time.thread_time() - begun)
            seconds.append(min(tries))
    finally:
        torch.set_num_threads(threads)
    curve, r2 = fit(sizes, seconds, degree)
    return Measured(sizes, tuple(seconds), curve, r2)
