"""What fleets of 1,000 to 1,000,000 clients cost: a run, their groups, the price of a round; seconds and memory.

    python -m benchmarks.scale [--json] [--clients 1000,10000,100000,1000000] [--plot scale.png]

- `run`: `covey.run` of FedAvg on synthetic data (20 samples a client, dirichlet:0.1), 100 clients a round, softmax
  regression, own accuracy of every client after every round: seconds from the start of the process, imports included,
  to the first round, and seconds of a round, the fastest of five.
- `group`: `covey group` of that many clients x 10 labels at 100 edges by cov, random and edge, from .npy to CSV.
- `price`: `covey price fedavg` of one round in which everybody takes part, on a star, up to 100,000 clients.

Everything is a process of its own, and its memory is that process's peak.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGEST_PRICE = 100_000
GROUPINGS = ("cov", "random", "edge")
COHORT, ROUNDS = 100, 6
Row = dict[str, float]


def run(clients: int) -> Row:
    """The figures of a run; `python -m benchmarks.scale` calls this in a process of its own."""
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
    rounds = [after - before for before, after in pairwise(stamps)]
    return {"first round": round(stamps[0] - begun, 2), "a round": round(min(rounds), 4)}


def _started() -> float:
    """When this process began, in seconds after the machine did."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(command: list[str]) -> tuple[str, float, float]:
    """What a process printed, its seconds and its peak of memory in MB."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([sys.executable, *command], stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{err.read()[-3000:]}")
        return out.read(), seconds, used.ru_maxrss / 1e3


def of_fleet(clients: int, folder: Path) -> dict[str, Row]:
    """All figures of fleets of one size, by what was done."""
    said, _, peak = measured(["-m", "benchmarks.scale", "--one", str(clients)])
    found: dict[str, Row] = {"run": {**json.loads(said.splitlines()[-1]), "peak MB": round(peak)}}
    rng = np.random.default_rng(0)
    labels, edges = folder / "labels.npy", folder / "edges.npy"
    np.save(labels, rng.multinomial(20, rng.dirichlet(np.full(10, 0.1), clients)))
    np.save(edges, rng.integers(min(100, clients // 10), size=clients))
    for name in GROUPINGS:
        command = ["-m", "covey", "group", str(labels), "--edges", str(edges), "--method", name, "--json"]
        command += ["--out", str(folder / "groups.csv")]
        _, seconds, peak = measured(command)
        found[f"group by {name}"] = {"seconds": round(seconds, 2), "peak MB": round(peak)}
    if clients <= LARGEST_PRICE:
        words = ["--data", "synthetic", "--clients", str(clients), "--set", "sample=1.0", "--rounds", "1", "--json"]
        _, seconds, peak = measured(["-m", "covey", "price", "fedavg", *words])
        found["price a round"] = {"seconds": round(seconds, 2), "peak MB": round(peak)}
    return found


def draw(found: dict[int, dict[str, Row]], path: Path) -> None:
    """Seconds and memory over the number of clients, all axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    seconds, memory = figure.subplots(1, 2)
    for number, work in enumerate(next(iter(found.values()))):
        sizes = [size for size, rows in found.items() if work in rows]
        for name in found[sizes[0]][work]:
            values, style = [found[size][work][name] for size in sizes], "o--" if name == "a round" else "o-"
            if name == "peak MB":
                memory.loglog(sizes, values, style, color=f"C{number}")
            else:
                label = work if name == "seconds" else f"{work}, {name}"
                seconds.loglog(sizes, values, style, color=f"C{number}", label=label)
    for axes, title in ((seconds, "seconds"), (memory, "peak of memory, MB")):
        axes.set(xlabel="clients", title=title)
        axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside lower center", ncols=6, fontsize="small")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--clients", default=",".join(map(str, SIZES)), help="sizes of fleets, comma-separated")
    parser.add_argument("--plot", type=Path, help="draw the figures into this file")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run(args.one)))
        return
    found = {}
    for clients in map(int, args.clients.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            found[clients] = of_fleet(clients, Path(folder))
    if args.plot:
        draw(found, args.plot)
    if args.json:
        print(json.dumps({"fleets": [{"clients": clients, **rows} for clients, rows in found.items()]}))
        return
    table = Table(title=f"FedAvg, {COHORT} clients a round, synthetic data; groups of clients x 10 labels")
    for column in ("clients", "what", "seconds", "peak MB"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for clients, rows in found.items():
        for work, row in rows.items():
            took = [(name, value) for name, value in row.items() if name != "peak MB"]
            for name, value in took:
                what = work if name == "seconds" else f"{work}, {name}"
                table.add_row(f"{clients:,}", what, f"{value:,}", f"{row['peak MB']:,}")
    Console().print(table)


if __name__ == "__main__":
    main()
