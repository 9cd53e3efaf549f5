"""How fast covey trains, against a plain PyTorch loop over clients on the same work.

    python -m benchmarks.engine [--json] [--models softmax-regression,2nn]

100 clients with 60 samples each, batch 10, one local epoch a round, Fashion-MNIST or samples of its shape. `speedup` is
the training alone (an executor answering the round's wave); `end_to_end` is `covey.run` with everything it does (plan,
walk, merge, metrics, store). Both are ratios to the plain loop of `benchmarks.peers`, which is a process of its own and
takes one thread or all of them, whichever is faster; measured in turns, best of several; compiling is not counted and
reported apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import covey
from benchmarks import peers
from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.walk import Brief, walk
from covey.models import build_model
from covey.plan import Star, Train

CLIENTS, SAMPLES, BATCH, LR = 100, 60, 10, 0.05
MODELS = {"softmax-regression": "compiled", "2nn": "stacked", "ihc-cnn": "compiled", "mcmahan-cnn": "stacked"}
TURNS = {"softmax-regression": 5, "2nn": 4, "ihc-cnn": 3, "mcmahan-cnn": 1}


def fleet(folder: Path) -> covey.Fleet:
    """The fleet on the samples in that folder, client after client."""
    x, y, test_x, test_y = (np.load(folder / f"{part}.npy") for part in ("x", "y", "probe_x", "probe_y"))
    parts = tuple(np.split(np.arange(len(y)), CLIENTS))
    nothing = tuple(np.zeros(0, dtype=np.int64) for _ in parts)
    data = covey.FleetData("engine", x, y, test_x, test_y, parts, nothing, 10)
    return covey.Fleet(np.stack([np.bincount(y[own], minlength=10) for own in parts]), data=data)


def plain_round(name: str, data: Path) -> float:
    """Seconds of the fastest round of a plain loop over clients, on one thread or on all of them."""
    (loop,) = peers.CONTENDERS["loop"]
    work = {**peers.WORK, "clients": CLIENTS, "cohort": CLIENTS, "rounds": 3}
    model = {"ihc-cnn": "lenet"}.get(name, name)
    return min(second for way in loop.ways for second in peers.ask(loop, way, model, data, work)["seconds"])


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(name: str) -> dict[str, object]:
    """The ratios of one model."""
    folder, _ = peers.prepare(name, {"clients": CLIENTS, "samples": SAMPLES})
    people = fleet(folder)
    data = people.data
    assert data is not None
    module = build_model(name, (1, 28, 28), 10, 0)
    executor = LocalExecutor(make_task(module, data, Training(lr=LR, batch=BATCH)), mode=MODELS[name])
    model = executor.task.layout.initial()
    plan = Star(Train(i) for i in range(CLIENTS))
    ways = []

    def trained() -> None:
        walk(plan, [model], people.sizes.tolist(), executor, brief=Brief(rate=LR))

    choose = executor.chooser.choose
    executor.chooser.choose = lambda jobs: ways.append(choose(jobs)) or ways[-1]
    compiling = seconds(trained)
    plain, fast = [], []
    for _ in range(TURNS[name]):
        plain.append(plain_round(name, folder))
        fast += [seconds(trained) for _ in range(3)]
    with tempfile.TemporaryDirectory() as out:
        stamps: list[float] = []
        covey.run(
            "fedavg",
            people,
            model=module,
            rounds=3 * TURNS[name] + 2,
            lr=LR,
            batch=BATCH,
            mode=MODELS[name],
            out=out,
            callbacks=[lambda report: stamps.append(time.perf_counter())],
        )
    whole = min(np.diff(stamps))
    steps = CLIENTS * SAMPLES // BATCH
    return {
        "speedup": round(min(plain) / min(fast), 2),
        "end_to_end": round(min(plain) / whole, 2),
        "mode": f"{ways[0].mode}, {ways[0].chunk} stacked, {ways[0].workers} at once",
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
