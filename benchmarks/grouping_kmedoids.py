"""FedAvg-IC's k-medoids and TornadoAggregate's EMD groupings at 1,000 nodes; part of `python -m benchmarks.grouping`.

    python -m benchmarks.grouping_kmedoids

alone prints what the weights of Delta and hops, a limit of the size and a search do to the groups, as a markdown table.

Ten groups as in the papers' code; hops through 50 edges in pods of eight (2, 4 or 6, as in a fat-tree); gradients are
as long as those of softmax regression on 28 x 28 pixels, 7,850 numbers, and made up.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.grouping import Figures, figure, fleet, rng, timed
from covey.grouping import Grouping, group, measure

NODES = 1_000
GROUPS = 10


def figures() -> Figures:
    """Processor seconds; and Delta and hops beside those of random groups."""
    labels, hops = fleet(NODES, 10, 0.3), _hops()
    shares = labels / labels.sum(axis=1, keepdims=True)
    gradients = rng(1).normal(size=(NODES, 7_850))
    inputs: dict[str, dict[str, Any]] = {
        "labels": {},
        "labels, hops": {"distances": hops},
        "labels, hops, searched": {"distances": hops, "search": 1},
        "gradients, hops": {"distances": hops, "updates": gradients},
    }

    def against_random(found: Grouping, vectors: NDArray[np.float64]) -> dict[str, float]:
        chance = group("random", labels, groups=GROUPS, rng=rng())
        ours, theirs = (measure(g, labels, distances=hops, updates=vectors).to_dict() for g in (found, chance))
        return {f"{name}_to_random": ours[name] / theirs[name] for name in ("Delta", "hops")}

    found: Figures = {}
    for name, extra in inputs.items():
        seconds, grouping = timed(lambda extra=extra: group("kmedoids", labels, groups=GROUPS, rng=rng(), **extra))
        quality = against_random(grouping, extra.get("updates", shares))
        found[f"kmedoids, 1,000 nodes, {name}"] = figure(seconds, "s", "< 10", seconds < 10, **quality)
    for name in ("emd-iid", "emd-cluster"):
        seconds, _ = timed(lambda name=name: group(name, labels, groups=GROUPS, rng=rng()))
        found[f"{name}, 1,000 nodes"] = figure(seconds, "s")
    return found


def weights() -> list[str]:
    """Delta, hops and sizes of groups by label counts and hops, for several options."""
    labels, hops = fleet(NODES, 10, 0.3), _hops()
    shares = labels / labels.sum(axis=1, keepdims=True)
    tried: dict[str, dict[str, Any]] = {
        "1, 0 (FedAvg-I)": {"alpha_comm": 0},
        "1, 1 (FedAvg-IC)": {},
        "1, 1, `search=1`": {"search": 1},
        "1, 1, `max_size=100`": {"max_size": 100},
        "1, 1, `max_size=150`": {"max_size": 150},
        "1, 1, `max_size=150`, `search=1`": {"max_size": 150, "search": 1},
        "0.1, 1": {"alpha_iid": 0.1},
        "0, 1 (FedAvg-C)": {"alpha_iid": 0},
    }
    found = {"(random groups)": group("random", labels, groups=GROUPS, rng=rng())}
    for name, options in tried.items():
        found[name] = group("kmedoids", labels, groups=GROUPS, distances=hops, rng=rng(), **options)
    lines = ["| alpha_iid, alpha_comm | Delta | hops | sizes |", "|---|---|---|---|"]
    for name, grouping in found.items():
        got = measure(grouping, labels, distances=hops, updates=shares).to_dict()
        least, most = min(grouping.sizes), max(grouping.sizes)
        lines.append(f"| {name} | {got['Delta']:.4f} | {got['hops']:,.0f} | {least}-{most} |")
    return lines


def _hops() -> NDArray[np.float64]:
    edge = rng(2).integers(50, size=NODES)
    pod = edge // 8
    far = np.where(pod[:, None] == pod, 4.0, 6.0)
    hops: NDArray[np.float64] = np.where(edge[:, None] == edge, 2.0, far) * (1 - np.eye(NODES))
    return hops


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    print("\n".join(weights()))
