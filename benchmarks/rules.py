"""Training by every local rule and optimiser, against the same training one client after another.

    python -m benchmarks.rules [--json] [--models 2nn,ihc-cnn] [--clients 50]

Clients with 60 samples each, batch 10, one local epoch, images like Fashion-MNIST's; the fastest of three waves each,
in turns. covey trains as a run of 1,000 rounds does by default; the loop is the specification, `OneByOne`, on all
threads. What happens once (tracing, compiling) is not counted.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from covey import FleetData
from covey.execute.choose import threads
from covey.execute.effects import Job
from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.trainers import Memory, OneByOne
from covey.local import make_rule
from covey.models import build_model

SAMPLES, BATCH, LR, ROUNDS, TURNS = 60, 10, 0.05, 1000, 3
WAYS = {
    "sgd": ("sgd", {}),
    "momentum": ("sgd", {"momentum": 0.9}),
    "weight decay": ("sgd", {"weight_decay": 1e-4}),
    "adam": ("sgd", {"optimiser": "adam"}),
    "fedprox": ("fedprox:0.1", {}),
    "scaffold": ("scaffold", {}),
    "fedmmd": ("fedmmd", {}),
    "fedfusion": ("fedfusion:multi", {}),
}


def pictures(clients: int) -> FleetData:
    rng, total = np.random.default_rng(0), clients * SAMPLES
    x, y = rng.random((total, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, total)
    parts = tuple(np.split(np.arange(total), clients))
    return FleetData("rules", x, y, x[:1], y[:1], parts, (np.zeros(0, dtype=np.int64),) * clients, 10)


def measure(model: str, way: str, data: FleetData) -> dict[str, object]:
    """Microseconds per client step of the loop and of covey, and how covey went about it."""
    rule, settings = WAYS[way]
    training = Training(lr=LR, batch=BATCH, **settings)
    task = make_task(build_model(model, data.shape, data.classes, 0), data, training, make_rule(rule))
    start = task.layout.initial()
    shared = {name: torch.zeros_like(start) for name in task.rule.remembers}
    jobs = [Job(i, start, rate=LR, shared=shared) for i in range(len(data.train_of))]
    executor = LocalExecutor(task, rounds=ROUNDS)
    chosen = executor.chooser.choose(jobs)
    fast, loop = executor.chooser.trainer(chosen), OneByOne(task)
    memory = Memory(task.rule.remembers, task.layout.size)
    seconds: dict[str, list[float]] = {"loop": [], "covey": []}
    for turn in range(TURNS + 1):  # the first traces or compiles, and does not count
        begun = time.perf_counter()
        with threads(chosen):
            for _ in fast.train(jobs, memory):
                pass
        between = time.perf_counter()
        if turn:
            seconds["covey"].append(between - begun)
            for _ in loop.train(jobs[: max(4, len(jobs) // 5)], memory):
                pass
            seconds["loop"].append((time.perf_counter() - between) * len(jobs) / max(4, len(jobs) // 5))
    steps = sum(map(task.steps, jobs))
    micros = {name: min(found) / steps * 1e6 for name, found in seconds.items()}
    how = f"{chosen.mode}, {chosen.chunk} stacked, {chosen.workers} at once"
    return {
        "times": round(micros["loop"] / micros["covey"], 2),
        "covey_us": round(micros["covey"], 1),
        "loop_us": round(micros["loop"], 1),
        "way": how,
        "news": executor.news(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--models", default="2nn,ihc-cnn,mcmahan-cnn", help="which models, comma-separated")
    parser.add_argument("--rules", default=",".join(WAYS), help="which rules and optimisers, comma-separated")
    parser.add_argument("--clients", type=int, default=50)
    args = parser.parse_args()
    models, rules, data = args.models.split(","), args.rules.split(","), pictures(args.clients)
    found = {model: {rule: measure(model, rule, data) for rule in rules} for model in models}
    if args.json:
        print(json.dumps(found))
        return
    table = Table(
        title=f"times faster than one client after another; {args.clients} clients x {SAMPLES} samples, batch 10"
    )
    for column in ("rule", *models):
        table.add_column(column, justify="left" if column == "rule" else "right")
    for rule in rules:
        table.add_row(rule, *(f"{found[model][rule]['times']}" for model in models))
    Console().print(table)


if __name__ == "__main__":
    main()
