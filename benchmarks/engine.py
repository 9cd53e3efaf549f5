"""How fast covey trains, against a plain PyTorch loop over clients in the same run.

    python -m benchmarks.engine [--json] [--models softmax-regression,2nn]

100 clients with 60 samples each, batch 10, one local epoch a round, samples shaped like Fashion-MNIST. `speedup` is the
training alone (an executor answering the round's wave); `end_to_end` is `covey.run` with everything it does (plan,
walk, merge, metrics, store). Both are ratios to the plain loop, measured in turns, best of several; compiling is not
counted and reported apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from rich.console import Console
from rich.table import Table
from torch import nn

import covey
from covey.execute.local import LocalExecutor, Training
from covey.execute.walk import walk
from covey.models import build_model
from covey.plan import Star, Train

CLIENTS, SAMPLES, BATCH, LR = 100, 60, 10, 0.05
MODELS = {"softmax-regression": "compiled", "2nn": "stacked", "ihc-cnn": "compiled", "mcmahan-cnn": "stacked"}
TURNS = {"softmax-regression": 15, "2nn": 8, "ihc-cnn": 5, "mcmahan-cnn": 1}


def fleet(test: int = 1000) -> covey.Fleet:
    """A fleet of random images, as many of each class as of any other."""
    rng = np.random.default_rng(0)
    total = CLIENTS * SAMPLES
    x, y = rng.random((total, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, total)
    parts = tuple(np.split(np.arange(total), CLIENTS))
    nothing = tuple(np.zeros(0, dtype=np.int64) for _ in parts)
    test_x, test_y = rng.random((test, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, test)
    data = covey.FleetData("random", x, y, test_x, test_y, parts, nothing, 10)
    return covey.Fleet(np.stack([np.bincount(y[own], minlength=10) for own in parts]), data=data)


def plain_round(module: nn.Module, start: dict[str, torch.Tensor], data: covey.FleetData) -> None:
    """FedAvg as one would write it first: load, train and add up one client after another."""
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    total = {name: torch.zeros_like(value) for name, value in start.items()}
    for own in data.train_of:
        module.load_state_dict(start)
        optimiser = torch.optim.SGD(module.parameters(), lr=LR)
        order = torch.from_numpy(own)[torch.randperm(len(own))]
        for batch in order.split(BATCH):
            optimiser.zero_grad()
            F.cross_entropy(module(x[batch]), y[batch]).backward()
            optimiser.step()
        for name, value in module.state_dict().items():
            total[name] += value / len(data.train_of)


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(name: str) -> dict[str, object]:
    """The ratios of one model."""
    people = fleet()
    data = people.data
    assert data is not None
    module = build_model(name, (1, 28, 28), 10, 0)
    start = {key: value.clone() for key, value in module.state_dict().items()}
    executor = LocalExecutor(module, data, Training(lr=LR, batch=BATCH), mode=MODELS[name])
    model = executor.layout.initial()
    plan = Star(Train(i) for i in range(CLIENTS))

    def trained() -> None:
        executor.begin(1)
        walk(plan, [model], people.sizes.tolist(), executor)

    compiling = seconds(trained)
    choice = next(iter(executor.chooser.choices.values()))
    threads = torch.get_num_threads()
    plain, fast = [], []
    for _ in range(TURNS[name]):
        torch.set_num_threads(threads)
        plain.append(seconds(lambda: plain_round(module, start, data)))
        fast += [seconds(trained) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        stamps: list[float] = []
        covey.run(
            "fedavg",
            people,
            model=module,
            rounds=3 * TURNS[name] + 2,
            lr=LR,
            batch=BATCH,
            mode=MODELS[name],
            out=folder,
            callbacks=[lambda report: stamps.append(time.perf_counter())],
        )
    whole = min(np.diff(stamps))
    steps = CLIENTS * SAMPLES // BATCH
    return {
        "speedup": round(min(plain) / min(fast), 2),
        "end_to_end": round(min(plain) / whole, 2),
        "mode": f"{choice.mode}, {choice.chunk} stacked, {choice.threads} threads",
        "plain_us_per_step": round(min(plain) / steps * 1e6, 1),
        "covey_us_per_step": round(min(fast) / steps * 1e6, 1),
        "first_call_seconds": round(compiling, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--models", default=",".join(MODELS), help="which models, comma-separated")
    args = parser.parse_args()
    figures = {name: measure(name) for name in args.models.split(",")}
    if args.json:
        print(json.dumps(figures))
        return
    table = Table(title="training 100 clients x 60 samples, batch 10: times faster than a plain PyTorch loop")
    columns = list(next(iter(figures.values())))
    for column in ("model", *columns):
        table.add_column(column.replace("_", " "))
    for name, row in figures.items():
        table.add_row(name, *(str(row[column]) for column in columns))
    Console().print(table)


if __name__ == "__main__":
    main()
