"""How long it takes to price a run, against training it.

    python -m benchmarks.clock [--json] [--clients 1000] [--rounds 100] [--train-rounds 3]

`fedavg`: everybody trains in every round, so all rounds cost the same and the clock notices; `sampled`: every round
another half of the clients, so that each round is simulated anew; `group-fel`: groups at the edges that average
five times a round, sampled anew every round. The model is the 2NN, clients hold 20 to 100 samples shaped like
Fashion-MNIST and stand on a fat-tree with 16 pods (1,024 hosts). Training is timed over a few rounds after a first one
and taken times the number of rounds; pricing is timed in full.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import covey
from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.meter import Ran
from covey.network.price import NetworkMeter
from covey.rehearse import Rehearsal

RUNS: dict[str, dict[str, Any]] = {
    "fedavg": {"algorithm": "fedavg"},
    "sampled": {"algorithm": "fedavg", "sample": 0.5},
    "group-fel": {"algorithm": "group-fel", "sample": 0.2, "local_epochs": 1},
}


def fleet(clients: int) -> covey.Fleet:
    """Clients of unequal size with random images, most of a class or two."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(20, 101, clients)
    total = int(sizes.sum())
    x = rng.random((total, 1, 28, 28), dtype=np.float32)
    y = np.concatenate([rng.choice(10, size, p=rng.dirichlet(np.full(10, 0.3))) for size in sizes])
    parts = tuple(np.split(np.arange(total), np.cumsum(sizes)[:-1]))
    nothing = tuple(np.zeros(0, dtype=np.int64) for _ in parts)
    data = covey.FleetData("random", x, y, x[:100], y[:100], parts, nothing, 10)
    labels = np.stack([np.bincount(y[part], minlength=10) for part in parts])
    return covey.Fleet(labels, edge_of=np.arange(clients) * 16 // clients, data=data)


class Timed(NetworkMeter):
    """A meter that notes how long it takes itself."""

    seconds = 0.0

    def after(self, ran: Ran) -> dict[str, float]:
        began = time.perf_counter()
        spent = super().after(ran)
        self.seconds += time.perf_counter() - began
        return spent


def measure(name: str, own: covey.Fleet, rounds: int, train_rounds: int) -> dict[str, Any]:
    shared = {"model": "2nn", "network": "fat-tree:16", "evaluate_every": 10_000, **RUNS[name]}
    meters: list[Timed] = []

    def meter(site: Any) -> Timed:
        meters.append(Timed(site))
        return meters[-1]

    loop = assemble(Experiment.make({**shared, "rounds": rounds}), fleet=own, backend=Rehearsal(), make_meter=meter)
    summary = loop.go(loop.begin())
    times: list[float] = []
    training = assemble(Experiment.make({**shared, "rounds": 1 + train_rounds, "network": None}), fleet=own)
    training.go(training.begin(), [lambda _: times.append(time.perf_counter())])
    a_round = (times[-1] - times[0]) / train_rounds
    return {
        "run": name,
        "clients": own.clients,
        "rounds": rounds,
        "simulated_seconds": summary["simulated_seconds"],
        "pricing_seconds": meters[0].seconds,
        "training_seconds": a_round * rounds,
        "pricing_share": meters[0].seconds / (a_round * rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--train-rounds", type=int, default=3)
    args = parser.parse_args()
    own = fleet(args.clients)
    rows = [measure(name, own, args.rounds, args.train_rounds) for name in RUNS]
    if args.json:
        print(json.dumps({"clients": args.clients, "rounds": args.rounds, "runs": rows}))
        return
    for row in rows:
        print(
            f"{row['run']:10} pricing {row['pricing_seconds']:7.1f} s, training {row['training_seconds']:7.1f} s, "
            f"share {row['pricing_share']:.3f}"
        )


if __name__ == "__main__":
    main()
