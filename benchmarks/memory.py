"""How much memory a large fleet takes, and whether it grows with rounds.

    python -m benchmarks.memory [--clients 10000] [--rounds 200] [--json]

FedAvg with softmax regression, 100 clients a round, on Fashion-MNIST-shaped samples. Prints the resident memory of this
process after the first rounds and after the last.
"""

from __future__ import annotations

import argparse
import json
import tempfile

import numpy as np
import psutil

import covey


def fleet(clients: int, samples: int = 6) -> covey.Fleet:
    """Random images, so that the figure does not depend on what is installed; 60,000 of them for 10,000 clients."""
    rng = np.random.default_rng(0)
    total = clients * samples
    x, y = rng.random((total, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, total)
    parts = tuple(np.split(np.arange(total), clients))
    test_x, test_y = rng.random((10_000, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, 10_000)
    nothing = tuple(np.zeros(0, dtype=np.int64) for _ in parts)
    data = covey.FleetData("random", x, y, test_x, test_y, parts, nothing, 10)
    labels = np.zeros((clients, 10), dtype=np.int64)
    np.add.at(labels, (np.repeat(np.arange(clients), samples), y), 1)
    return covey.Fleet(labels, data=data)


def measure(clients: int, rounds: int) -> dict[str, float]:
    """Resident megabytes early and late in one run."""
    megabytes: list[float] = []

    def look(_: covey.Report) -> None:
        megabytes.append(psutil.Process().memory_info().rss / 1e6)

    with tempfile.TemporaryDirectory() as out:
        covey.run(
            covey.FedAvg(sample=min(1.0, 100 / clients)),
            fleet(clients),
            model="softmax-regression",
            rounds=rounds,
            mode="stacked",
            out=out,
            callbacks=[look],
        )
    early, late = float(np.median(megabytes[2:12])), float(np.median(megabytes[-10:]))
    return {"clients": clients, "rounds": rounds, "early_mb": early, "late_mb": late, "peak_mb": max(megabytes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    figures = measure(args.clients, args.rounds)
    print(json.dumps(figures) if args.json else "  ".join(f"{k} {v:,.0f}" for k, v in figures.items()))


if __name__ == "__main__":
    main()
