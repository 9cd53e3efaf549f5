"""Workers on the machines of a Ray cluster: where they are, what they hold, and who replaces one that dies."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from covey.errors import BadValue, RunFailed
from covey.execute.backend import Work
from covey.execute.shards import Worker, cut, place, without_samples

LOCAL = "local"
STORE = 2**27  # bytes of a local Ray's object store, beside room for the samples and a wave's models

TRIES = 4  # to start a worker, and of a call whose worker dies

WISHES = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else Ray warns of its own next version
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anybody
    "RAY_worker_niceness": "0",  # else whatever else runs here goes before the workers
}
"""What Ray takes from its environment."""


class RayWorker(Worker):
    """A worker that finds the task and its samples in the object store."""

    def __init__(self, stored: list[Any], mode: str, rounds: int, stack: int | None) -> None:
        task, shard = ray.get(stored)
        super().__init__(task, shard, mode, rounds, stack)


class Crew:
    """The workers of a run; every client lives with one of them, and its samples do not move.

    `home` says with which worker every client lives, `nodes` on which machine every worker began.
    """

    def __init__(self, work: Work, address: str, workers: int | None) -> None:
        self.work = work
        self._started = connect(address, object_store_memory=_room(work))
        self.workers: list[Any] = []
        self._stored: list[list[Any]] = []  # what workers are made of, also those that take another's place
        try:
            self.nodes = _spread(_processors(), workers, address)
        except BadValue:
            self.close()
            raise
        self.home = place(work.task.deck.sizes, len(self.nodes))

    def begin(self) -> None:
        """Make the workers and give them their clients' samples."""
        for name, module in list(sys.modules.items()):
            if name.startswith("covey_part_"):  # code of a user's own files, which no other machine has
                ray.cloudpickle.register_pickle_by_value(module)
        common = ray.put(without_samples(self.work.task))
        for number, node in enumerate(self.nodes):
            shard = cut(self.work.task, np.flatnonzero(self.home == number))
            self._stored.append([common, ray.put(shard)])
            self.workers.append(self._make(number, NodeAffinitySchedulingStrategy(node, soft=False)))
        for number in range(len(self.workers)):
            self._await(number)

    def _await(self, number: int) -> None:
        """Until that worker is ready; one whose machine was lost since it was chosen begins on another."""
        for left in reversed(range(TRIES)):
            try:
                ray.get(self.workers[number].__ray_ready__.remote())
                return
            except RayError as error:
                if not left:
                    raise RunFailed(f"Ray could not start worker {number}: {last_line(error)}") from error
                self.replace(number)

    def replace(self, number: int) -> None:
        """Another worker, on whatever machine there is, takes the place of that one."""
        with contextlib.suppress(RayError):  # it may be dead already
            ray.kill(self.workers[number])
        self.workers[number] = self._make(number, "SPREAD")

    def _make(self, number: int, strategy: Any) -> Any:
        # no processors are claimed, so that there is a place for everybody also when machines are lost
        kind = ray.remote(num_cpus=0, scheduling_strategy=strategy)(RayWorker)
        return kind.remote(self._stored[number], self.work.mode, self.work.rounds, self.work.stack)

    def close(self) -> None:
        """The workers end, and so does the Ray that was started for them."""
        if ray.is_initialized():
            for worker in self.workers:
                ray.kill(worker)
        self.workers, self._stored = [], []
        if self._started:
            disconnect()
            self._started = False


def connect(address: str, **here: Any) -> bool:
    """Start Ray or join a cluster; False where this process is in one already, which then is not ours to end.

    `here` are settings of a Ray that is started here.
    """
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if address not in (LOCAL, "auto", joined):
            raise BadValue("address", address, f"{joined}, the cluster that this process has joined")
        return False
    for name, value in WISHES.items():
        os.environ.setdefault(name, value)
    own = {"include_dashboard": False, **here} if address == LOCAL else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves files to be closed by whoever clears up
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False, logging_level="ERROR", **own)
        except (ConnectionError, ValueError, RuntimeError) as error:
            allowed = "local, or auto or host:port of a Ray cluster that this machine is part of"
            raise BadValue("address", address, f"{allowed} ({last_line(error)})") from error
    return True


def disconnect() -> None:
    """End what `connect` began."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of the files that Ray left open
        ray.shutdown()
        gc.collect()


def fetch(reference: Any) -> Any:
    """What a call gave; what its code raised is raised here, and `RayError` is raised where it was lost."""
    try:
        return ray.get(reference)
    except RayTaskError as error:
        raise error.cause from error


def last_line(error: Exception) -> str:
    """The end of what Ray has to say, where the reason is."""
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)


def _processors() -> list[tuple[str, int]]:
    """The machines of the cluster and how many processors Ray has there."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    return sorted((str(node["NodeID"]), int(node["Resources"].get("CPU", 0))) for node in alive)


def _spread(nodes: Sequence[tuple[str, int]], workers: int | None, address: str) -> list[str]:
    """The machine of every worker, one machine's after another's: one a processor, or so many, evenly.

    >>> _spread([("a", 2), ("b", 1)], None, "auto"), _spread([("a", 2), ("b", 1)], 2, "auto")
    (['a', 'a', 'b'], ['a', 'b'])
    """
    slots = [node for _, node in sorted((turn, node) for node, count in nodes for turn in range(count))]
    if not slots:
        raise BadValue("address", address, "a cluster with a processor to train on")
    return sorted(itertools.islice(itertools.cycle(slots), workers or len(slots)))


def _room(work: Work) -> int:
    """Bytes of the object store that a run on this machine needs; what does not fit, Ray puts on disk."""
    samples = work.task.x.nbytes + work.task.y.nbytes
    return STORE + samples + 64 * work.task.layout.size * 4
