"""Write a made-up fleet as a CSV: 5,000 phones at 20 cells, each with a few of ten labels.

python examples/fleet_of_5000.py fleet.csv
"""

import csv
import sys

import numpy as np

CLIENTS, CELLS, LABELS = 5000, 20, 10


def main(path: str) -> None:
    rng = np.random.default_rng(0)
    mixes = rng.dirichlet([0.3] * LABELS, CLIENTS)
    sizes = rng.integers(20, 60, CLIENTS)
    with open(path, "w", newline="") as file:  # noqa: PTH123 - a script of few lines
        writer = csv.writer(file)
        writer.writerow(["client", "edge", *(f"label{c}" for c in range(LABELS))])
        for i in range(CLIENTS):
            writer.writerow(
                [f"phone-{i:04d}", f"cell-{i * CELLS // CLIENTS:02d}", *rng.multinomial(sizes[i], mixes[i])]
            )


if __name__ == "__main__":
    main(sys.argv[1])
