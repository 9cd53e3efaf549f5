"""What a fleet of 1,000 to 1,000,000 clients costs: seconds to the first round, seconds a round, and memory.

    python -m benchmarks.scale [--json] [--clients 1000,10000,100000,1000000] [--plot scale.png]

`covey.run` of FedAvg on synthetic data (20 samples a client, dirichlet:0.3), 100 clients a round, softmax regression,
own accuracy of every client after every round. Every size is a process of its own. The seconds to the first round count
from the start of the process, imports included; those of a round are the fastest of five.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table

SIZES = (1_000, 10_000, 100_000, 1_000_000)
COHORT, ROUNDS = 100, 6
TITLES = {"first_round_seconds": "seconds to first round", "round_seconds": "seconds a round", "peak_mb": "peak MB"}


def measure(clients: int) -> dict[str, float]:
    """The figures of one size; `python -m benchmarks.scale` runs this in a process of its own."""
    begun = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + _started()
    import covey

    stamps: list[float] = []
    with tempfile.TemporaryDirectory() as out:
        covey.run(
            "fedavg",
            data="synthetic",
            clients=clients,
            sample=COHORT / clients,
            model="softmax-regression",
            rounds=ROUNDS,
            out=out,
            callbacks=[lambda _: stamps.append(time.time())],
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    rounds = [after - before for before, after in pairwise(stamps)]
    return {
        "clients": clients,
        "first_round_seconds": round(stamps[0] - begun, 2),
        "round_seconds": round(min(rounds), 4),
        "peak_mb": round(peak),
    }


def _started() -> float:
    """When this process began, in seconds after the machine did."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """The three figures over the number of clients, all axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.5), layout="constrained")
    for axes, (name, title) in zip(figure.subplots(1, 3), TITLES.items(), strict=True):
        axes.loglog([row["clients"] for row in rows], [row[name] for row in rows], marker="o")
        axes.set(xlabel="clients", title=title)
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--clients", default=",".join(map(str, SIZES)), help="sizes of fleets, comma-separated")
    parser.add_argument("--plot", type=Path, help="draw the figures into this file")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one)))
        return
    rows = []
    for clients in map(int, args.clients.split(",")):
        command = [sys.executable, "-m", "benchmarks.scale", "--one", str(clients)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{clients} clients failed:\n{done.stderr[-3000:]}")
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    if args.plot:
        draw(rows, args.plot)
    if args.json:
        print(json.dumps({"fleets": rows}))
        return
    table = Table(title=f"FedAvg, {COHORT} clients a round, softmax regression, synthetic data")
    for column in ("clients", *TITLES.values()):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(f"{row['clients']:,}", *(f"{row[name]:,}" for name in TITLES))
    Console().print(table)


if __name__ == "__main__":
    main()
