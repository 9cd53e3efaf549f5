"""From one process to a cluster: what the Ray executor costs beside the local one, and how it grows with workers.

    python -m benchmarks.scaleout [--json] [--machines 100] [--cores 32] [--clients 1000000] [--cohort 10000]

Measured here: a wave of 64 clients (20 samples each, one epoch in batches of 10) trained one client after another by
the local executor on one thread, and by 1 and 2 Ray workers; then waves of one short training a worker, which are
overhead and nothing else, with 1 to 8 workers and two sizes of model; the best of several. Bytes are those that the
executor counts. Beside them is what a wave would cost in which every model comes back singly.

Modelled: rounds on a cluster with that many machines and cores, from what was measured here and a network of 10 Gbit/s.
The first rows of the model are checked against what was measured. docs/scale.md says what follows from it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from covey.execute.backend import Work
from covey.execute.crew import LOCAL, connect, disconnect
from covey.execute.effects import Answer, Executor, Job, Share
from covey.execute.evaluate import LocalEvaluator
from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.ray import FAN_IN, RayExecutor
from covey.execute.shards import place
from covey.execute.walk import Brief, walk
from covey.fleet import Fleet, FleetData
from covey.merge import RunningMean
from covey.models import build_model
from covey.plan import Star, Train

MODELS = ("softmax-regression", "2nn")
CLIENTS, SAMPLES, SHAPE, CLASSES = 64, 20, (1, 28, 28), 10
WORKERS = (1, 2, 4, 8)
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s
TURNS = 7


def fleet(clients: int, samples: int) -> Fleet:
    """Clients with so many samples each, as large as those of Fashion-MNIST."""
    rng = np.random.default_rng(0)
    count = clients * samples
    x = rng.normal(size=(count, *SHAPE)).astype(np.float32)
    y = rng.integers(CLASSES, size=count)
    own = tuple(np.split(np.arange(count), clients))
    none = tuple(np.zeros(0, dtype=np.int64) for _ in own)
    data = FleetData("scaleout", x, y, x[:100], y[:100], own, none, CLASSES)
    return Fleet(np.stack([np.bincount(y[part], minlength=CLASSES) for part in own]), data=data)


def work_of(model: str, of: Fleet) -> Work:
    assert of.data is not None
    module = build_model(model, SHAPE, CLASSES, 0)
    return Work(make_task(module, of.data, Training(batch=10)), of.data, "one-by-one")


def wave(executor: Executor, work: Work, clients: Sequence[int], *, singly: bool = False) -> float:
    """Seconds of one wave whose models all meet, from the first job to the mean."""
    model = work.task.layout.initial()
    begun = time.perf_counter()
    for ticket, client in enumerate(clients):
        share = None if singly else Share((0,), float(work.task.deck.sizes[client]))
        executor.start(ticket, Job(client, model, rate=0.1, key=1, share=share))
    mean, left = RunningMean(), len(clients)
    while left:
        for ticket, answer in executor.finished():
            assert isinstance(answer, Answer)
            weight = answer.samples if answer.weight is None else answer.weight
            if weight > 0:
                mean.add(ticket, answer.model, weight)
            left -= 1
    mean.close(())
    return time.perf_counter() - begun


def best(executor: Executor, work: Work, clients: Sequence[int], *, turns: int = TURNS, singly: bool = False) -> float:
    """The fastest of several waves; the first is not counted, in which workers are made."""
    return min([wave(executor, work, clients, singly=singly) for _ in range(turns + 1)][1:])


def training(model: str) -> dict[str, Any]:
    """Waves with something to train: the local executor, and one and two workers."""
    work = work_of(model, fleet(CLIENTS, SAMPLES))
    row: dict[str, Any] = {"model": model, "parameters": work.task.layout.size}
    row["local"] = best(LocalExecutor(work.task, mode="one-by-one"), work, range(CLIENTS), turns=3)
    for workers in (1, 2):
        executor = RayExecutor(work, workers=workers)
        row[f"ray_{workers}"] = best(executor, work, range(CLIENTS), turns=3)
        executor.close()
    row["overhead"] = row["ray_1"] / row["local"] - 1
    return row


def overhead(model: str, workers: int) -> dict[str, Any]:
    """Waves with next to nothing to train, one client a worker; and of 64 clients, averaged or singly."""
    work = work_of(model, fleet(CLIENTS, 1))
    executor = RayExecutor(work, workers=workers)
    one_each = [int(np.flatnonzero(executor.crew.home == number)[0]) for number in range(workers)]
    row: dict[str, Any] = {"model": model, "parameters": work.task.layout.size, "workers": workers}
    row["seconds"] = best(executor, work, one_each)
    executor.traffic.clear()
    wave(executor, work, range(CLIENTS))
    row["bytes"] = sum(executor.traffic.values())
    row["all_seconds"] = best(executor, work, range(CLIENTS))
    executor.traffic.clear()
    wave(executor, work, range(CLIENTS), singly=True)
    row["bytes_singly"] = sum(executor.traffic.values())
    row["all_seconds_singly"] = best(executor, work, range(CLIENTS), singly=True)
    executor.close()
    return row


class Echo:
    """An executor that gives every model back as it came."""

    def __init__(self) -> None:
        self.jobs: list[tuple[int, Job]] = []

    def start(self, ticket: int, job: Job) -> None:
        self.jobs.append((ticket, job))

    def finished(self, timeout: float | None = None) -> list[tuple[int, Answer]]:
        jobs, self.jobs = self.jobs, []
        return [(ticket, Answer(job.model, 1.0, finite=True, weight=0.0 if ticket else 1.0)) for ticket, job in jobs]


def walking() -> float:
    """Seconds that planning and walking take for each training, whoever trains."""
    clients = 10_000
    model = torch.zeros(10)
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        plan = Star(Train(client) for client in range(clients))
        walk(plan, [model], [1] * clients, Echo(), brief=Brief())  # type: ignore[arg-type]
        seconds.append(time.perf_counter() - begun)
    return min(seconds) / clients


def scoring(model: str) -> float:
    """Seconds to evaluate a model on one sample, here on the driver."""
    of = fleet(100, 100)
    assert of.data is not None
    evaluator = LocalEvaluator(work_of(model, of).task.layout, replace(of.data, test_x=of.data.x, test_y=of.data.y))
    vector = evaluator.layout.initial()
    begun = time.perf_counter()
    evaluator.scores([vector], np.zeros(100, dtype=np.int64))
    return (time.perf_counter() - begun) / (100 * 100)


def busiest(clients: int, cohort: int, workers: int) -> float:
    """Trainings of the worker that has most of them in a round: clients stay where they are, so waves are uneven."""
    rng = np.random.default_rng(0)
    home = place(np.full(clients, SAMPLES), workers)
    draws = [np.bincount(home[rng.choice(clients, cohort, replace=False)], minlength=workers).max() for _ in range(5)]
    return float(np.mean(draws))


def predict(
    found: dict[str, Any], *, clients: int, cohort: int, machines: int, workers: int, rate: float
) -> dict[str, float]:
    """Seconds of the parts of one round, and the bytes that the busiest link, that of the driver's machine, carries."""
    size = 4 * found["parameters"]
    most = busiest(clients, cohort, workers)
    levels = max(0, int(np.ceil(np.log(workers) / np.log(FAN_IN))) - 1)
    back = min(workers, FAN_IN)
    out = machines * size
    parts = {
        "train": most * found["training_seconds"],
        "calls": workers * found["call_seconds"],
        "send": (out + back * size) / rate,
        "tree": levels * FAN_IN * size / rate,
        "walk": cohort * found["walk_seconds"],
    }
    return {
        "workers": workers,
        "machines": machines,
        **parts,
        "seconds": sum(parts.values()),
        "even": cohort / workers / most,
        "driver_bytes": out + back * size,
        "driver_bytes_singly": out + cohort * size,
    }


def constants(trained: list[dict[str, Any]], waves: list[dict[str, Any]], walk_seconds: float) -> list[dict[str, Any]]:
    """What the model needs, by model: seconds of a training, of a call, and bytes a second between processes here."""
    found = []
    for row in trained:
        mine = [wave for wave in waves if wave["model"] == row["model"]]
        few, many = mine[0], mine[-1]
        call = (many["seconds"] - few["seconds"]) / (many["workers"] - few["workers"])
        found.append(
            {
                "model": row["model"],
                "parameters": row["parameters"],
                "training_seconds": row["local"] / CLIENTS,
                "call_seconds": max(call, 0.0),
                "walk_seconds": walk_seconds,
                "score_seconds": scoring(row["model"]),
            }
        )
    return found


def measure(args: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    connect(LOCAL, object_store_memory=2**29)
    try:
        trained = [training(model) for model in MODELS]
        waves = [overhead(model, workers) for model in MODELS for workers in WORKERS]
    finally:
        disconnect()
    found = constants(trained, waves, walking())
    checked, modelled = [], []
    for known, row in zip(found, trained, strict=True):
        for workers in (1, 2):
            here = predict(known, clients=CLIENTS, cohort=CLIENTS, machines=1, workers=workers, rate=4e9)
            checked.append({"model": known["model"], **here, "measured": row[f"ray_{workers}"]})
        for workers in sorted({args.machines, 4 * args.machines, args.machines * args.cores}):
            there = {"clients": args.clients, "cohort": args.cohort, "machines": args.machines, "workers": workers}
            modelled.append({"model": known["model"], **predict(known, **there, rate=NETWORK)})
    fleet_costs = {
        "samples_bytes": args.clients * SAMPLES * 4 * int(np.prod(SHAPE)),
        "scoring_seconds": {known["model"]: args.clients * SAMPLES * known["score_seconds"] for known in found},
    }
    return {
        "trained": trained,
        "waves": waves,
        "constants": found,
        "checked": checked,
        "modelled": modelled,
        "fleet": fleet_costs,
    }


def table(title: str, rows: list[dict[str, Any]], columns: dict[str, str]) -> Table:
    made = Table(title=title)
    for name in columns.values():
        made.add_column(name, justify="right")
    for row in rows:
        made.add_row(*(_cell(row[key], name) for key, name in columns.items()))
    return made


def _cell(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if "MB" in name:
        return f"{value / 1e6:,.2f}"
    if "ms" in name:
        return f"{1000 * value:,.2f}"
    if "%" in name:
        return f"{100 * value:.0f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def show(found: dict[str, Any], args: argparse.Namespace) -> None:
    screen = Console()
    columns = {"model": "model", "parameters": "parameters", "local": "local ms", "ray_1": "1 worker ms"}
    columns |= {"ray_2": "2 workers ms", "overhead": "overhead of 1 worker %"}
    screen.print(table(f"A wave of {CLIENTS} clients, {SAMPLES} samples each", found["trained"], columns))
    columns = {"model": "model", "workers": "workers", "seconds": "one client each ms"}
    columns |= {"all_seconds": f"{CLIENTS} clients ms", "all_seconds_singly": "models singly ms"}
    columns |= {"bytes": "MB", "bytes_singly": "MB singly"}
    screen.print(table("Waves with next to nothing to train", found["waves"], columns))
    columns = {"model": "model", "workers": "workers", "seconds": "modelled ms", "measured": "measured ms"}
    screen.print(table("The model beside what was measured", found["checked"], columns))
    columns = {
        "model": "model",
        "workers": "workers",
        "train": "training ms",
        "calls": "calls ms",
        "send": "sending ms",
    }
    columns |= {"tree": "tree ms", "walk": "walk ms", "seconds": "round ms", "even": "workers busy %"}
    columns |= {"driver_bytes": "driver's link MB", "driver_bytes_singly": "MB singly"}
    title = f"Modelled: {args.cohort:,} of {args.clients:,} clients a round, {args.machines} machines, 10 Gbit/s"
    screen.print(table(title, found["modelled"], columns))
    seconds = ", ".join(f"{name} {value:,.0f} s" for name, value in found["fleet"]["scoring_seconds"].items())
    screen.print(
        f"all samples: {found['fleet']['samples_bytes'] / 1e9:,.1f} GB; evaluating them on one core: {seconds}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--machines", type=int, default=100, help="machines of the cluster that is modelled")
    parser.add_argument("--cores", type=int, default=32, help="processors of each")
    parser.add_argument("--clients", type=int, default=1_000_000, help="clients of the fleet that is modelled")
    parser.add_argument("--cohort", type=int, default=10_000, help="clients a round")
    args = parser.parse_args()
    found = measure(args)
    if args.json:
        print(json.dumps(found))
    else:
        show(found, args)


if __name__ == "__main__":
    main()
