"""Group-FEL's Table 1: sizes and CoVs of the groups that CoV-Grouping forms, beside the paper's.

    python -m benchmarks.group_fel_table_1 [--seeds 10] [--edges 3] [--sizes uniform]

300 clients at three edges (or at `--edges`) with 20 to 200 samples each and label mixes from Dir(alpha); MinGS 5. "All"
is covey's default rule, which leaves nobody out; "authors" is `drop=True`, the rule of the authors' code, which leaves
out groups short of MinGS. Sizes are uniform as in that code, or normal as the paper says. No pictures are needed:
groups depend on labels alone.
"""

from __future__ import annotations

import argparse

import numpy as np

from covey.data import parse_partition
from covey.fleet import Fleet
from covey.grouping import Measures, group, measure

PAPER = {  # (alpha, MaxCoV): mean size, mean CoV
    (0.1, 0.1): (10.96, 0.28),
    (0.1, 0.5): (6.13, 0.43),
    (0.1, 1.0): (5.03, 0.54),
    (0.5, 0.1): (7.66, 0.19),
    (0.5, 0.5): (5.23, 0.25),
    (0.5, 1.0): (5.00, 0.29),
    (1.0, 0.1): (6.95, 0.15),
    (1.0, 0.5): (5.02, 0.20),
    (1.0, 1.0): (5.00, 0.20),
}


def fleet_of(alpha: float, seed: int, edges: int, sizes: str) -> Fleet:
    if sizes == "uniform":
        rng = np.random.default_rng(seed)
        mixes = rng.dirichlet(np.full(10, alpha), 300)
        labels = np.array([rng.multinomial(rng.integers(20, 201), mix) for mix in mixes])
    else:
        y = np.repeat(np.arange(10), 5000)
        rule = parse_partition(f"dirichlet:{alpha},min=20,max=200")
        parts, _ = rule(y, clients=300, edges=edges, owners=None, rng=np.random.default_rng(seed))
        labels = np.stack([np.bincount(y[part], minlength=10) for part in parts])
    return Fleet(labels, edge_of=np.arange(300) % edges)


def table(seeds: int, edges: int, sizes: str) -> list[str]:
    lines = [
        "| alpha | MaxCoV | mean size, paper | all | authors | mean CoV, paper | all | authors | left out |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (alpha, max_cov), (size, cov) in PAPER.items():
        found: dict[bool, list[Measures]] = {False: [], True: []}
        for seed in range(seeds):
            fleet = fleet_of(alpha, seed, edges, sizes)
            for drop in found:
                rng = np.random.default_rng(seed)
                options = {"min_size": 5, "edges": fleet.edge_of, "max_cov": max_cov, "drop": drop}
                found[drop].append(measure(group("cov", fleet.labels, rng=rng, **options), fleet.labels))
        mean_sizes = [np.mean([m.sizes.mean() for m in each]) for each in found.values()]
        covs = [np.mean([m.cov.mean() for m in each]) for each in found.values()]
        left_out = np.mean([m.left_out for m in found[True]])
        cells = [alpha, max_cov, f"{size:.2f}", *(f"{s:.2f}" for s in mean_sizes)]
        cells += [f"{cov:.2f}", *(f"{c:.3f}" for c in covs), f"{left_out:.0f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_fel_table_1", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many fleets the means are over")
    parser.add_argument("--edges", type=int, default=3, help="at how many edges the 300 clients are")
    parser.add_argument("--sizes", choices=("uniform", "normal"), default="uniform", help="how samples are spread")
    given = parser.parse_args()
    print("\n".join(table(given.seeds, given.edges, given.sizes)))


if __name__ == "__main__":
    main()
