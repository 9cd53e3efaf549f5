"""One algorithm, three executors, the same accuracy: the five systems in this process, on Ray and on Flower's devices.

    python -m benchmarks.executors [--json] [--rounds 5] [--clients 6] [--systems fedgsp,ihc-fl] [--without flower]

Each system runs by its name with the same settings on the local executor, on two Ray workers, and on as many Flower
SuperNodes as there are clients, with a SuperLink on this machine (`covey flower demo`). Beside the accuracies is the
largest difference of any parameter from the local executor's model.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

import covey
from covey.cli.main import COMMANDS
from covey.execute.crew import LOCAL, connect, disconnect

SYSTEMS = ("fedavg-ic", "tornado", "ihc-fl", "group-fel", "fedgsp")
TRAINING: dict[str, Any] = {"lr": 0.2, "epochs": 2}
OWN: dict[str, dict[str, Any]] = {"fedgsp": {"beta": 2, "kappa": 1}}  # groups that a handful of clients can fill
FLEET: dict[str, Any] = {"data": "digits", "partition": "dirichlet:0.3", "edges": 1, "mode": "one-by-one"}


def _settings(system: str) -> dict[str, Any]:
    return TRAINING | OWN.get(system, {})


def local(system: str, rounds: int, clients: int) -> covey.Run:
    return covey.run(system, rounds=rounds, clients=clients, **FLEET, **_settings(system))


def on_ray(system: str, rounds: int, clients: int) -> covey.Run:
    return covey.run(system, rounds=rounds, clients=clients, executor="ray:workers=2", **FLEET, **_settings(system))


def on_flower(system: str, rounds: int, clients: int) -> covey.Run:
    """The devices of the demo hold the clients of the same fleet."""
    words = [word for name, value in _settings(system).items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "covey", "flower", "demo", "--warm", "--json", "--algorithm", system, *words]
    with tempfile.TemporaryDirectory() as out:
        command += ["--nodes", str(clients), "--rounds", str(rounds), "--out", out]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{system} on Flower failed: {done.stderr.strip()[-2000:]}")
        return covey.load(json.loads(done.stdout.splitlines()[-1])["run"], out)


EXECUTORS: dict[str, Callable[[str, int, int], covey.Run]] = {"local": local, "ray": on_ray, "flower": on_flower}


def measure(systems: list[str], executors: list[str], rounds: int, clients: int) -> list[dict[str, Any]]:
    """A row a system: its accuracy on every executor, and how far its models are from the local executor's."""
    rows = []
    for system in systems:
        runs = {name: EXECUTORS[name](system, rounds, clients) for name in executors}
        row: dict[str, Any] = {"system": system} | {name: run.accuracy for name, run in runs.items()}
        for name, run in runs.items():
            if name != "local":
                pairs = zip(run.models, runs["local"].models, strict=True)
                row[f"{name} apart"] = max(float((mine - theirs).abs().max()) for mine, theirs in pairs)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="which, comma-separated")
    parser.add_argument("--without", choices=["ray", "flower"], help="an executor to leave out")
    args = parser.parse_args()
    executors = [name for name in EXECUTORS if name != args.without]
    if "flower" in executors and "flower" not in COMMANDS:
        print("this covey has no `covey flower`: Flower is left out", file=sys.stderr)
        executors.remove("flower")
    if "ray" in executors:
        connect(LOCAL)  # one for all runs
    try:
        rows = measure(args.systems.split(","), executors, args.rounds, args.clients)
    finally:
        if "ray" in executors:
            disconnect()
    if args.json:
        same = all(abs(row[name] - row["local"]) < 1e-6 for row in rows for name in executors)
        print(json.dumps({"systems": rows, "same_accuracy": same}))
        return
    table = Table(title=f"Accuracy after {args.rounds} rounds with {args.clients} clients, digits, softmax regression")
    for column in rows[0]:
        table.add_column(column, justify="left" if column == "system" else "right")
    for row in rows:
        table.add_row(*(_cell(name, value) for name, value in row.items()))
    Console().print(table)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.1e}" if "apart" in name else f"{value:.4f}"


if __name__ == "__main__":
    main()
