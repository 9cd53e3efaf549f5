"""How long covey takes before it does something, in turns with `python -c 'import torch'`.

    python -m benchmarks.startup [--turns 5] [--json]

Whole processes, best of several turns: `help` is `covey --help`, `group` is `covey group` on a CSV of 1,000 clients,
`run` is one round of FedAvg on the built-in digits with everything else as it is by default. The first turn fills the
cache in which covey keeps the fastest way to train, as the first run on a machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CLIENTS, LABELS = 1000, 10
COVEY = [sys.executable, "-m", "covey"]
COMMANDS = {
    "help": [*COVEY, "--help"],
    "group": [*COVEY, "group", "fleet.csv", "--json"],
    "run": [*COVEY, "run", "fedavg", "--rounds", "1", "--json"],
    "import_torch": [sys.executable, "-c", "import torch"],
}


def write_fleet(path: Path) -> None:
    """Clients with few labels each."""
    counts = np.random.default_rng(0).poisson(np.random.default_rng(1).dirichlet([0.3] * LABELS, CLIENTS) * 60)
    lines = [",".join(["client", *(f"label-{label}" for label in range(LABELS))])]
    lines += [",".join([f"c{i}", *map(str, row)]) for i, row in enumerate(counts + np.eye(LABELS, dtype=int)[0])]
    path.write_text("\n".join(lines) + "\n")


def measure(turns: int) -> dict[str, float]:
    """Seconds of the fastest turn."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        write_fleet(Path(folder) / "fleet.csv")
        surroundings = os.environ | {"COVEY_CACHE": str(Path(folder) / "cache")}
        for _ in range(turns + 1):
            for name, command in COMMANDS.items():
                began = time.perf_counter()
                subprocess.run(command, cwd=folder, env=surroundings, check=True, stdout=subprocess.DEVNULL)
                seconds[name].append(time.perf_counter() - began)
    return {name: round(min(times[1:]), 3) for name, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    figures = measure(args.turns)
    print(json.dumps(figures) if args.json else "\n".join(f"{name:14}{time:6.2f} s" for name, time in figures.items()))


if __name__ == "__main__":
    main()
