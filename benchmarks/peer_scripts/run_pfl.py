"""pfl's federated averaging on its simulated backend: users drawn at random, no evaluation after the first round.

`--way` is a number of threads, `all` for torch's own choice, or `processes` for one process with one thread a core.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from work import Watch, Work, answer, given

RANK = "PFL_WORKER_RANK"


def more_processes() -> list[subprocess.Popen[bytes]]:
    """This process becomes the first of one a core, the others are started."""
    count = len(os.sched_getaffinity(0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ["PFL_WORKER_ADDRESSES"] = ",".join([f"127.0.0.1:{port}"] * count)
    started = [
        subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, RANK: str(rank)}, stdout=subprocess.DEVNULL)
        for rank in range(1, count)
    ]
    os.environ[RANK] = "0"
    return started


def train(work: Work) -> None:
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.metrics import Metrics
    from pfl.model.pytorch import PyTorchModel

    watch = Watch()

    class Rounds(TrainingProcessCallback):
        def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
            watch.round_over()
            return False, Metrics()

    asyncio.set_event_loop(asyncio.new_event_loop())  # pfl asks for the current one
    np.random.seed(0)  # noqa: NPY002 - pfl draws from numpy's global generator
    x, y = work.tensors()
    module = work.build()
    module.loss = lambda x, y: F.cross_entropy(module(x), y)
    module.metrics = lambda x, y: {"loss": F.cross_entropy(module(x), y).item()}
    before = work.loss(module)
    model = PyTorchModel(
        module,
        local_optimizer_create=torch.optim.SGD,
        central_optimizer=torch.optim.SGD(module.parameters(), lr=1.0),  # the mean itself is the next model
    )

    def user(client: int) -> Dataset:
        order = work.rows(client).start + torch.randperm(work.samples)
        return Dataset((x[order], y[order]))

    data = FederatedDataset(user, get_user_sampler("random", list(range(work.clients))))
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=work.all_rounds,
            evaluation_frequency=work.all_rounds + 1,
            train_cohort_size=work.cohort,
            val_cohort_size=0,
        ),
        SimulatedBackend(training_data=data, val_data=data),
        model,
        NNTrainHyperParams(local_batch_size=work.batch, local_num_epochs=1, local_learning_rate=work.lr),
        callbacks=[Rounds()],
        send_metrics_to_platform=False,
    )
    answer(watch, before, work.loss(module), threads=torch.get_num_threads())


def main() -> None:
    work = given()
    os.environ["PFL_PYTORCH_DEVICE"] = "cpu"
    others = more_processes() if work.way == "processes" and RANK not in os.environ else []
    if work.way != "all":
        torch.set_num_threads(1 if work.way == "processes" else int(work.way))
    with contextlib.ExitStack() as ending:
        for other in others:
            ending.callback(other.wait)
        train(work)


if __name__ == "__main__":
    main()
