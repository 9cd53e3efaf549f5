"""FedAvg-IC's comparison at equal simulated time: seconds to FedAvg's final accuracy, and how many times as fast.

    python -m benchmarks.equal_time [--json] [--seeds 0,1,2] [--rounds 15] [--model 2nn]

Lee et al., "Accurate and Fast Federated Learning via IID and Communication-Aware Grouping", the form of Table 3 over
the networks, links and devices of App. C.3.1: Fashion-MNIST, 100 clients at 10 edges, one class a client and an edge
(Dtt), five local epochs a round (FedAvg) or one epoch five times in the group (HierFAVG, FedAvg-IC), the learning rate
0.1 falling by a hundredth an epoch, batches of 128.

A trajectory depends on the network through FedAvg-IC's grouping by hops only: it is trained once a network, the others
once, and every round that ran is priced under each of the four links and devices. Accuracies and times are means over
the seeds, round by round, as the paper's curves are. Clients hold 200 samples.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.fleet import Fleet
from covey.meter import Ran
from covey.network.price import NetworkMeter
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

    rounds: list[Ran]
    accuracies: list[float]


class Recorder:
    """A meter that notes what ran."""

    def __init__(self, site: Site) -> None:
        self.rounds: list[Ran] = []

    def after(self, ran: Ran) -> dict[str, float]:
        self.rounds.append(ran)
        return {}


def train(settings: dict[str, Any], fleet: Fleet) -> Trajectory:
    accuracies: list[float] = []
    recorders: list[Recorder] = []

    def recorder(site: Site) -> Recorder:
        recorders.append(Recorder(site))
        return recorders[0]

    loop = assemble(Experiment.make(settings), fleet=fleet, make_meter=recorder)
    loop.go(loop.begin(), [lambda report: accuracies.append(report.metrics["accuracy"])])
    return Trajectory(recorders[0].rounds, accuracies)


def elapsed(trajectory: Trajectory, settings: dict[str, Any], fleet: Fleet) -> list[float]:
    """Simulated seconds up to the end of every round."""
    meters: list[NetworkMeter] = []

    def keep(site: Site) -> NetworkMeter:
        meters.append(NetworkMeter(site))
        return meters[0]

    assemble(Experiment.make(settings), fleet=fleet, make_meter=keep)
    times: list[float] = []
    spent: dict[str, float] = {}
    for ran in trajectory.rounds:
        spent = meters[0].after(replace(ran, spent=spent))
        times.append(spent["simulated_seconds"])
    return times


def measure(seed: int, rounds: int, model: str) -> list[dict[str, Any]]:
    """A row for every network, link, device and algorithm."""
    shared = {**SHARED, "seed": seed, "rounds": rounds, "model": model}
    fleet = make_fleet(Experiment.make({**shared, "algorithm": "fedavg"}))
    trained: dict[tuple[str, str], Trajectory] = {}
    rows = []
    for network, name in product(NETWORKS, RUNS):
        settings = {**shared, **RUNS[name], "algorithm": name, "network": network}
        if name == "fedavg-ic" or network == NETWORKS[0]:
            trained[network, name] = train(settings, fleet)
            print(f"seed {seed}, {network}, {name}: {trained[network, name].accuracies[-1]:.4f}", file=sys.stderr)
        else:
            trained[network, name] = trained[NETWORKS[0], name]
        for link, device in product(LINKS, DEVICES):
            where = {"network": network, "link": link, "device": device}
            times = elapsed(trained[network, name], {**settings, **where}, fleet)
            curve = {"accuracies": trained[network, name].accuracies, "seconds": times}
            rows.append({"seed": seed, "algorithm": name, **where, **curve})
    return rows


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For every setting, on curves averaged over the seeds: FedAvg's final accuracy and when it is reached first."""
    found = []
    for network, link, device in product(NETWORKS, LINKS, DEVICES):
        curves = {}
        for name in RUNS:
            here = {"network": network, "link": link, "device": device, "algorithm": name}
            runs = [row for row in rows if here.items() <= row.items()]
            curves[name] = [
                [statistics.fmean(values) for values in zip(*(run[key] for run in runs), strict=True)]
                for key in ("accuracies", "seconds")
            ]
        target, base = curves["fedavg"][0][-1], curves["fedavg"][1][-1]
        for name, (accuracies, seconds) in curves.items():
            reached = (time for accuracy, time in zip(accuracies, seconds, strict=True) if accuracy >= target)
            first = base if name == "fedavg" else next(reached, None)
            found.append(
                {
                    "network": network,
                    "link": link,
                    "device": device,
                    "algorithm": name,
                    "target": target,
                    "accuracy": accuracies[-1],
                    "seconds": first,
                    "ratio": first and base / first,
                    "seconds_in_all": seconds[-1],
                }
            )
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Seconds to FedAvg's final accuracy, and how many times as fast."""
    found = summarise(rows)
    lines = [
        f"FedAvg's final accuracy: {100 * found[0]['target']:.1f} %",
        "",
        f"| network | link | device | {' | '.join(RUNS)} |",
        f"|---|---|---|{'---|' * len(RUNS)}",
    ]
    for start in range(0, len(found), len(RUNS)):
        cells = [found[start][key] for key in ("network", "link", "device")]
        for row in found[start : start + len(RUNS)]:
            times = "" if row["algorithm"] == "fedavg" else f" ({row['ratio'] or 0:.1f}x)"
            late = f"not reached ({100 * row['accuracy']:.1f} %)"
            cells.append(late if row["seconds"] is None else f"{row['seconds']:.1f} s{times}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--model", default="2nn")
    args = parser.parse_args()
    rows = [row for seed in args.seeds.split(",") for row in measure(int(seed), args.rounds, args.model)]
    found = {"rounds": args.rounds, "model": args.model, "settings": summarise(rows), "curves": rows}
    print(json.dumps(found) if args.json else table(rows))


if __name__ == "__main__":
    main()
