"""An executor of one's own: clients train in the processes of a pool, one client in each at a time.

covey run fedavg --executor ./examples/processes.py:Processes
"""

import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from covey.execute import worker
from covey.execute.backend import Backend, Work
from covey.execute.effects import Answer, Failure, Job
from covey.execute.trainers import Memory, Task, Trained

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["covey.execute.worker"])  # torch is imported once, not by every worker


class Pool:
    def __init__(self, task: Task, workers: int) -> None:
        self.memory = Memory(task.rule.remembers, task.layout.size)
        self.sizes = task.deck.sizes
        self.jobs: dict[Future[Trained], tuple[int, Job]] = {}
        self.pool = ProcessPoolExecutor(workers, PROCESSES, worker.begin, (task,))

    def start(self, ticket: int, job: Job) -> None:
        self.jobs[self.pool.submit(worker.train, job, self.memory.only(job.client))] = ticket, job

    def finished(self, timeout: float | None = None) -> list[tuple[int, Answer | Failure]]:
        # all are under way at once; answered in the order they were asked, sums have the same order every time
        done = wait([next(iter(self.jobs))], timeout).done
        return [self.answer(future, *self.jobs.pop(future)) for future in done]

    def answer(self, future: Future[Trained], ticket: int, job: Job) -> tuple[int, Answer | Failure]:
        if error := future.exception():
            return ticket, Failure(f"its process said: {error}")
        trained = future.result()
        changes = self.memory.change(job.client, trained)
        return ticket, Answer(trained.model, float(self.sizes[job.client]), trained.steps, changes, trained.finite)

    def state(self) -> dict[str, Any]:
        return {"memory": self.memory.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.memory.restore(state["memory"])

    def news(self) -> list[str]:
        return []

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Processes(Backend):
    workers: int = 2

    def executor(self, work: Work) -> Pool:
        return Pool(work.task, self.workers)
