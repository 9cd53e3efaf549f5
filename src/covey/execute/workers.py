"""Several clients at once, a thread each: for models of which one client's step fills a core.

Every worker has a copy of the module and trains one client at a time as `OneByOne` does, on one of torch's threads, so
that a result is the same to the bit whoever trained it and however many there are. Torch gives the interpreter free
while it computes; processes would have to be sent every model. Results come in the order in which jobs were begun, and
only a few are ahead of the one that is waited for, so that memory does not grow with the wave.
"""

from __future__ import annotations

import copy
import queue
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import torch
from torch import Tensor

from covey.execute.effects import Job
from covey.execute.layout import Layout
from covey.execute.trainers import Memory, OneByOne, Task, Trained

AHEAD = 2  # jobs a worker has taken on before the oldest is done


class SideBySide:
    """So many workers, one client each at a time."""

    def __init__(self, task: Task, workers: int, *, channels_last: bool = False) -> None:
        self.task, self.workers = task, workers
        self._free: queue.SimpleQueue[OneByOne] = queue.SimpleQueue()
        for _ in range(workers):
            own = Layout(copy.deepcopy(task.layout.module))  # training moves a module's parameters
            self._free.put(OneByOne(replace(task, layout=own), channels_last=channels_last, draws=False))

    def train(self, jobs: Sequence[Job], memory: Memory) -> Iterator[Trained]:
        """Train every job; all begin with what their clients remember now."""
        remembered = [memory.of(job.client) for job in jobs]
        order = deque(self.task.longest_first(jobs))
        threads = torch.get_num_threads()  # of one worker
        with ThreadPoolExecutor(self.workers, "covey", torch.set_num_threads, (threads,)) as pool:
            begun: deque[Future[Trained]] = deque()
            try:
                while order or begun:
                    while order and len(begun) < AHEAD * self.workers:
                        number = order.popleft()
                        begun.append(pool.submit(self._train, number, jobs[number], remembered[number]))
                    yield begun.popleft().result()
            finally:
                for job in begun:  # nobody asks any more
                    job.cancel()

    def _train(self, number: int, job: Job, remembered: dict[str, Tensor]) -> Trained:
        trainer = self._free.get()
        try:
            return trainer.train_one(number, job, remembered)
        finally:
            self._free.put(trainer)
