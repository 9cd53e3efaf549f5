"""What secure aggregation costs a client and a server, beside Flower's own SecAgg+ in the same run.

    python -m benchmarks.secure [--sizes 5,10,20] [--values 200000] [--json]

Processor seconds, the best of three sums; every client shares its secrets with all others, two thirds have to answer,
nobody is lost. Flower runs in an environment of its own, which the first run makes in the cache folder (300 MB; a few
minutes); its server is `SecAggPlusWorkflow`, its clients `secaggplus_mod`. Here covey's messages are turned into bytes
and back; Flower's are handed over as objects.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pooch

from covey.secure import simulate

FLOWER = "1.41.0"
REPEATS = 3
GOAL = 0.5  # seconds of a client in a group of 20 with 200,000 values


def ours(clients: int, values: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    given = {u: rng.normal(size=values).astype(np.float32) for u in range(clients)}
    mean = np.mean(list(given.values()), axis=0)
    rounds = []
    for _ in range(REPEATS):
        total, session = simulate(given)
        each = float(np.mean([session.seconds[u] for u in given]))
        error = float(np.abs(total.mean - mean).max())
        rounds.append({"client": each, "server": session.seconds["server"], "error": error})
    return {name: min(found[name] for found in rounds) for name in rounds[0]}


def flower(clients: int, values: int) -> dict[str, float]:
    asked = json.dumps({"clients": clients, "values": values, "repeats": REPEATS})
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [environment(), str(Path(__file__).with_name("secure_flower.py"))],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
        env={**clean, "FLWR_TELEMETRY_ENABLED": "0"},
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment() -> str:
    """The Python of an environment with Flower in it; made where there is none."""
    folder = Path(pooch.os_cache("covey")) / f"flower-{FLOWER}"
    python = folder / "bin" / "python"
    if not (folder / "ready").is_file():
        print(f"installing Flower {FLOWER} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"flwr=={FLOWER}"], check=True)
        (folder / "ready").touch()
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="5,10,20")
    parser.add_argument("--values", type=int, default=200_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    for size in map(int, asked.sizes.split(",")):
        both = {"covey": ours(size, asked.values), f"flower {FLOWER}": flower(size, asked.values)}
        rows += [{"size": size, "values": asked.values, "by": name, **found} for name, found in both.items()]
    if asked.json:
        print(json.dumps(rows))
        return
    print(f"| group | by | client, ms | server, ms | largest error |   {asked.values:,} values\n|---|---|---|---|---|")
    for row in rows:
        times = f"{1000 * row['client']:.1f} | {1000 * row['server']:.1f}"
        print(f"| {row['size']} | {row['by']} | {times} | {row['error']:.1e} |")
    measured = [row for row in rows if row["size"] == 20 and row["by"] == "covey"]
    if measured and asked.values == 200_000:
        print(f"\na client of 20 in under {GOAL} s: {'yes' if measured[0]['client'] < GOAL else 'NO'}")


if __name__ == "__main__":
    main()
