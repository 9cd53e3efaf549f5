"""Training in another process: `begin` once with the task, then `train` for every job.

For executors that spread jobs over processes. The functions are found by their names there, and what they take and give
can be pickled, by the program's own processes and nobody else.
"""

from __future__ import annotations

import torch

from covey.execute.effects import Job
from covey.execute.trainers import Memory, OneByOne, Task, Trained

_trainers: list[OneByOne] = []


def begin(task: Task) -> None:
    """Make this process a worker of that task, on one thread."""
    torch.set_num_threads(1)
    _trainers[:] = [OneByOne(task)]


def train(job: Job, memory: Memory) -> Trained:
    """Do one job; `memory` is what its client remembers (`Memory.only`)."""
    (trained,) = _trainers[0].train([job], memory)
    return trained
