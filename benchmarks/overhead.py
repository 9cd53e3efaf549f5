"""What a round takes beside the training in it: plan, walk, merge, evaluation, checkpoint and store.

    python -m benchmarks.overhead [--model 2nn] [--rounds 60] [--json]

FedAvg, 100 of 1,000 clients a round, 60 samples each, batch 10, as `covey run` does it with its store and checkpoints.
Training is what passes inside the trainer. Without evaluation, and with 10,000 test samples evaluated after every
tenth and after every round; medians over rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from covey.execute.evaluate import LocalEvaluator
from covey.execute.trainers import Stacked
from covey.execute.workers import SideBySide
from covey.experiment import Experiment, life
from covey.store import Store

NEVER = 10**6
PARTS = ("round", "training", "evaluation", "store", "rest")
FIRST = 5  # rounds that are not counted: the first is traced
SETTINGS = {
    "algorithm": "fedavg", "data": "fashion-mnist", "clients": 1000, "partition": "iid", "samples": 60,
    "test_fraction": 0.0, "sample": 0.1, "batch": 10, "lr": 0.05, "rounds": 1000,
}  # fmt: skip


class Clock:
    """Seconds by part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def add(self, part: str, since: float) -> None:
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - since

    def taken(self) -> dict[str, float]:
        found, self.seconds = self.seconds, {}
        return found


@contextmanager
def timed(owner: Any, name: str, part: str, clock: Clock) -> Iterator[None]:
    """Every call of that method, or every step of the generator it gives, counts as that part."""
    inner: Callable[..., Any] = getattr(owner, name)

    def call(*args: Any, **options: Any) -> Any:
        begun = time.perf_counter()
        found = inner(*args, **options)
        clock.add(part, begun)
        return steps(found) if isinstance(found, Iterator) else found

    def steps(found: Iterator[Any]) -> Iterator[Any]:
        while True:
            begun = time.perf_counter()
            try:
                one = next(found)
            except StopIteration:
                return
            finally:
                clock.add(part, begun)
            yield one

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, inner)


def measure(model: str, rounds: int, evaluate_every: int) -> dict[str, float]:
    """Milliseconds of a round, whole and by part, and the share that is not training."""
    clock, found, times = Clock(), [], []

    def watch(report: Any) -> bool:
        times.append(time.perf_counter())
        found.append(clock.taken())
        return len(times) >= rounds

    settings = Experiment.make({**SETTINGS, "model": model, "evaluate_every": evaluate_every})
    with (
        tempfile.TemporaryDirectory() as folder,
        timed(Stacked, "train", "training", clock),
        timed(SideBySide, "train", "training", clock),
        timed(LocalEvaluator, "scores", "evaluation", clock),
        timed(Store, "add_round", "store", clock),
    ):
        life.start(settings, folder, [watch])
    whole = [after - before for before, after in zip(times[FIRST:-1], times[FIRST + 1 :], strict=True)]
    parts = found[FIRST + 1 :]
    mean = statistics.fmean if 1 < evaluate_every < NEVER else statistics.median  # every tenth round differs
    row = {"round": mean(whole)} | {
        part: mean([each.get(part, 0.0) for each in parts]) for part in ("training", "evaluation", "store")
    }
    row["rest"] = row["round"] - row["training"] - row["evaluation"] - row["store"]
    return {part: 1000 * seconds for part, seconds in row.items()} | {"overhead": 1 - row["training"] / row["round"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="2nn")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    kinds = {"none": NEVER, "every tenth round": 10, "every round": 1}
    rows = {kind: measure(args.model, args.rounds, every) for kind, every in kinds.items()}
    if args.json:
        print(json.dumps(rows))
        return
    print(f"{args.model}, ms a round")
    print(f"{'evaluated':20}" + "".join(f"{part:>12}" for part in PARTS) + f"{'not training':>14}")
    for kind, row in rows.items():
        print(f"{kind:20}" + "".join(f"{row[part]:12.1f}" for part in PARTS) + f"{row['overhead']:14.0%}")


if __name__ == "__main__":
    main()
