"""Group-FEL's Table 1: sizes and CoVs of the groups that CoV-Grouping forms, beside the paper's.

    python -m benchmarks.group_fel_table_1 [--seeds 10] [--edges 3]

300 clients at three edges (or at `--edges`) with 20 to 200 samples each (normally many) and label mixes from
Dir(alpha), drawn from CIFAR-10's 5,000 training samples a class; MinGS 5. No pictures are needed: groups depend on
labels alone.
"""

from __future__ import annotations

import argparse

import numpy as np

from covey.data import parse_partition
from covey.fleet import Fleet
from covey.grouping import group, measure

PAPER = {  # (alpha, MaxCoV): smallest, largest and mean size, mean CoV
    (0.1, 0.1): (6, 19, 10.96, 0.28),
    (0.1, 0.5): (5, 11, 6.13, 0.43),
    (0.1, 1.0): (5, 6, 5.03, 0.54),
    (0.5, 0.1): (5, 11, 7.66, 0.19),
    (0.5, 0.5): (5, 9, 5.23, 0.25),
    (0.5, 1.0): (5, 5, 5.00, 0.29),
    (1.0, 0.1): (5, 19, 6.95, 0.15),
    (1.0, 0.5): (5, 6, 5.02, 0.20),
    (1.0, 1.0): (5, 5, 5.00, 0.20),
}


def fleet_of(alpha: float, seed: int, edges: int) -> Fleet:
    y = np.repeat(np.arange(10), 5000)
    rule = parse_partition(f"dirichlet:{alpha},min=20,max=200")
    parts, _ = rule(y, clients=300, edges=edges, owners=None, rng=np.random.default_rng(seed))
    labels = np.stack([np.bincount(y[part], minlength=10) for part in parts])
    return Fleet(labels, edge_of=np.arange(300) % edges)


def table(seeds: int, edges: int) -> list[str]:
    lines = [
        "| alpha | MaxCoV | sizes, paper | sizes, here | mean size, paper | here | mean CoV, paper | here |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (alpha, max_cov), (low, high, size, cov) in PAPER.items():
        found = []
        for seed in range(seeds):
            fleet = fleet_of(alpha, seed, edges)
            rng = np.random.default_rng(seed)
            grouping = group("cov", fleet.labels, min_size=5, edges=fleet.edge_of, max_cov=max_cov, rng=rng)
            found.append(measure(grouping, fleet.labels))
        sizes = [int(min(m.sizes.min() for m in found)), int(max(m.sizes.max() for m in found))]
        mean_size = np.mean([m.sizes.mean() for m in found])
        mean_cov = np.mean([m.cov.mean() for m in found])
        here = f"{mean_size:.2f} ({mean_size / size - 1:+.0%})"
        cov_here = f"{mean_cov:.2f} ({mean_cov / cov - 1:+.0%})"
        cells = [
            alpha,
            max_cov,
            f"{low} to {high}",
            f"{sizes[0]} to {sizes[1]}",
            f"{size:.2f}",
            here,
            f"{cov:.2f}",
            cov_here,
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_fel_table_1", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many fleets the means are over")
    parser.add_argument("--edges", type=int, default=3, help="at how many edges the 300 clients are")
    given = parser.parse_args()
    print("\n".join(table(given.seeds, given.edges)))


if __name__ == "__main__":
    main()
