"""FedAvg-IC's comparison at equal simulated time: seconds to FedAvg's final accuracy, and how many times as fast.

    python -m benchmarks.equal_time [--json] [--seeds 0,1,2] [--rounds 15] [--model 2nn]

Lee et al., "Accurate and Fast Federated Learning via IID and Communication-Aware Grouping", the form of Table 3 over
the networks, links and devices of App. C.3.1: Fashion-MNIST, 100 clients at 10 edges, one class a client and an edge
(Dtt), five local epochs a round (FedAvg) or one epoch five times in the group (HierFAVG, FedAvg-IC), the learning rate
0.1 falling by a hundredth an epoch, batches of 128.

A trajectory depends on the network through FedAvg-IC's grouping by hops only: it is trained once a network, the others
once, and every round that ran is priced under each of the four links and devices. Clients hold 200 samples.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from itertools import product
from typing import Any, NamedTuple

from covey.experiment import Experiment
from covey.fleet import Fleet
from covey.network.price import Round
from covey.network.site import Site

SHARED: dict[str, Any] = {
    "data": "fashion-mnist",
    "clients": 100,
    "partition": "dtt",
    "edges": 10,
    "samples": 200,
    "lr": 0.1,
    "batch": 128,
}
FALL = 0.99**5  # of the learning rate, in a round of five epochs
RUNS: dict[str, dict[str, Any]] = {
    "fedavg": {"epochs": 5, "decay": FALL},
    "hierfavg": {"tau2": 5, "decay": FALL},
    "fedavg-ic": {"tau1": 1, "tau2": 5, "groups": 10},
}
NETWORKS = ("fat-tree:10", "jellyfish:20,4")
LINKS = ("10MB/s,1ms", "100MB/s,1ms")
DEVICES = ("phone-5gflops", "phone-250gflops")


class Trajectory(NamedTuple):
    """A run that was trained: every round, and the accuracy after it."""

    rounds: list[Round]
    accuracies: list[float]


class Recorder:
    """A meter that notes what ran."""

    def __init__(self, site: Site) -> None:
        self.rounds: list[Round] = []

    def spend(self, plan: Any, where: Any, failed: Any, begin: float) -> dict[str, float]:
        self.rounds.append(Round(plan, tuple(where), frozenset(failed), begin))
        return {}


def train(settings: dict[str, Any], fleet: Fleet) -> Trajectory:
    accuracies: list[float] = []
    recorders: list[Recorder] = []

    def recorder(site: Site) -> Recorder:
        recorders.append(Recorder(site))
        return recorders[0]

    loop = Experiment.make(settings).make_loop(fleet=fleet, make_meter=recorder)
    loop.go(loop.begin(), [lambda report: accuracies.append(report.metrics["accuracy"])])
    return Trajectory(recorders[0].rounds, accuracies)


def elapsed(trajectory: Trajectory, settings: dict[str, Any], fleet: Fleet) -> list[float]:
    """Simulated seconds up to the end of every round."""
    meter = Experiment.make(settings).make_loop(fleet=fleet).meter
    times, now = [], 0.0
    for ran in trajectory.rounds:
        now += meter.spend(ran.plan, ran.where, ran.failed, now)["simulated_seconds"] if meter else 0.0
        times.append(now)
    return times


def measure(seed: int, rounds: int, model: str) -> list[dict[str, Any]]:
    """A row for every network, link, device and algorithm."""
    shared = {**SHARED, "seed": seed, "rounds": rounds, "model": model}
    fleet = Experiment.make({**shared, "algorithm": "fedavg"}).make_fleet()
    trained: dict[tuple[str, str], Trajectory] = {}
    rows = []
    for network, name in product(NETWORKS, RUNS):
        settings = {**shared, **RUNS[name], "algorithm": name, "network": network}
        if name == "fedavg-ic" or network == NETWORKS[0]:
            trained[network, name] = train(settings, fleet)
            print(f"seed {seed}, {network}, {name}: {trained[network, name].accuracies[-1]:.4f}", file=sys.stderr)
        else:
            trained[network, name] = trained[NETWORKS[0], name]
        target = trained[network, "fedavg"].accuracies[-1]
        for link, device in product(LINKS, DEVICES):
            times = elapsed(trained[network, name], {**settings, "link": link, "device": device}, fleet)
            reached = zip(trained[network, name].accuracies, times, strict=True)
            first = next((time for accuracy, time in reached if accuracy >= target), None)
            rows.append(
                {
                    "seed": seed,
                    "network": network,
                    "link": link,
                    "device": device,
                    "algorithm": name,
                    "target": target,
                    "accuracy": trained[network, name].accuracies[-1],
                    "seconds": times[-1] if name == "fedavg" else first,
                    "seconds_in_all": times[-1],
                }
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Mean seconds over the seeds, and the ratio to FedAvg's; in how many seeds where not in all."""
    target = [row["target"] for row in rows if row["algorithm"] == "fedavg"]
    lines = [
        f"FedAvg's final accuracy: {100 * statistics.fmean(target):.1f} %",
        "",
        f"| network | link | device | {' | '.join(RUNS)} |",
        f"|---|---|---|{'---|' * len(RUNS)}",
    ]
    for network, link, device in product(NETWORKS, LINKS, DEVICES):
        cells, means = [], list[float]()
        for name in RUNS:
            here = (network, link, device, name)
            found = [r["seconds"] for r in rows if (r["network"], r["link"], r["device"], r["algorithm"]) == here]
            if None in found:
                cells.append(f"reached by {sum(s is not None for s in found)} of {len(found)} seeds")
                continue
            means.append(statistics.fmean(found))
            cells.append(f"{means[-1]:.1f} s" + (f" ({means[0] / means[-1]:.1f}x)" if name != "fedavg" else ""))
        lines.append(f"| {network} | {link} | {device} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--model", default="2nn")
    args = parser.parse_args()
    rows = [row for seed in args.seeds.split(",") for row in measure(int(seed), args.rounds, args.model)]
    print(json.dumps({"rounds": args.rounds, "model": args.model, "rows": rows}) if args.json else table(rows))


if __name__ == "__main__":
    main()
