"""Kill runs at random moments, resume them, and compare the models with those of runs that nobody disturbed.

    python -m tools.kills [--kills 200] [--seed 0] [--workers 2] [--json]

Every run is a process of its own and every kill a SIGKILL, one to three of them on a run and on its resumptions, at
moments drawn over the whole of its time. Counted are kills that found a run in its store and not yet finished. `exact`
are those after which the run ended with the same model, bit for bit, and the same metrics. The exit code is 1 where one
did not.
"""

from __future__ import annotations

import os

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}  # threads do not survive a fork

import argparse
import json
import multiprocessing
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from tools.call import Ended, call, load_everything

SAME = ("model_sha256", "accuracy", "own_accuracy", "loss", "traffic", "trainings", "rounds", "models")
SETTINGS = "--clients=8 --samples=20 --model=softmax-regression --lr=0.1 --rounds=40 --dropout=0.1 --seed=3"
RUNS = {
    "fedavg": "--set sample=0.6 --momentum=0.5 --mode=stacked",
    "scaffold": "--mode=one-by-one --checkpoint-every=3",
    "fedadam": "--mode=one-by-one --server=adam:0.05",
    "group-fel": "--mode=one-by-one --set min_size=2",
    "fedgsp": "--mode=one-by-one --checkpoint-every=2",
    "star-rings": "--mode=stacked --set groups=3",
    "rings": "--mode=one-by-one --set groups=3",
    "ifca": "--mode=one-by-one",
    "ihc-fl": "--mode=one-by-one --network=star",
}
PATIENCE = 300
MOST = 3  # kills of one run
TOGETHER = 18  # runs before the kills are counted again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same runs and same shares of their time")
    parser.add_argument("--workers", type=int, default=2, help="how many runs at a time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    load_everything()
    began = time.monotonic()
    undisturbed = {name: run_alone(name) for name in RUNS}
    kills, exact, wrong = Counter[str](), Counter[str](), list[str]()
    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        for first in count(args.seed * 1_000_000, TOGETHER):
            jobs = [(number, undisturbed) for number in range(first, first + TOGETHER)]
            for name, times, fault in pool.imap_unordered(disturb, jobs):
                kills[name] += times
                exact[name] += 0 if fault else times
                wrong += [fault] if fault else []
            if kills.total() >= args.kills:
                break
    seconds = round(time.monotonic() - began)
    if args.json:
        print(json.dumps({"kills": kills.total(), "exact": exact.total(), "seconds": seconds, "wrong": wrong}))
    else:
        for name in RUNS:
            print(f"{name:12}{kills[name]:5} kills{exact[name]:5} exact")
        print(f"{kills.total()} kills, {exact.total()} exact, in {seconds} s")
        print("\n".join(wrong), end="")
    sys.exit(1 if wrong else 0)


def words_of(name: str) -> list[str]:
    return ["run", name, *SETTINGS.split(), *RUNS[name].split(), "--json"]


def run_alone(name: str) -> tuple[dict[str, Any], float]:
    """The summary of a run that nobody disturbs, and the seconds it takes."""
    with tempfile.TemporaryDirectory(prefix="covey-kills-") as place:
        folder = Path(place, "here")
        folder.mkdir()
        ended = call(words_of(name), folder, seconds=PATIENCE, work=PATIENCE)
        if ended.code != 0:
            raise SystemExit(f"{' '.join(words_of(name))} ended with {ended.code}: {ended.err}")
        return summary_of(ended), ended.seconds


def disturb(job: tuple[int, dict[str, tuple[dict[str, Any], float]]]) -> tuple[str, int, str]:
    """One run, killed once or more: its algorithm, how many kills, and what is wrong with how it ended."""
    number, undisturbed = job
    chance = random.Random(number)
    name = list(RUNS)[number % len(RUNS)]
    wanted, seconds = undisturbed[name]
    kills = 0
    with tempfile.TemporaryDirectory(prefix="covey-kills-") as place:
        folder = Path(place, "here")
        folder.mkdir()
        words = words_of(name)
        for _ in range(chance.randint(1, MOST)):
            ended = call(words, folder, seconds=PATIENCE, work=PATIENCE, kill_after=chance.uniform(0, seconds))
            if ended.code != -signal.SIGKILL or not is_unfinished(folder):
                break  # too late for a kill, or too early for a run
            kills += 1
            words = ["resume", f"{name}-digits-1", "--json"]
        else:
            ended = call(words, folder, seconds=PATIENCE, work=PATIENCE)
        if not kills:
            return name, 0, ""
        if ended.code == -signal.SIGKILL:  # of a run that had finished, but for its process
            ended = call(words, folder, seconds=PATIENCE, work=PATIENCE)
        if ended.code != 0:
            return name, kills, f"{name}, number {number}: exit code {ended.code}, {ended.err.strip()}"
        found = summary_of(ended)
    differing = [key for key in SAME if found.get(key) != wanted.get(key)]
    return name, kills, f"{name}, number {number}: {', '.join(differing)} differ" if differing else ""


def is_unfinished(folder: Path) -> bool:
    """Whether the store has a run that has not finished, read from beside covey."""
    try:
        with sqlite3.connect(f"file:{folder / 'runs' / 'covey.db'}?mode=ro", uri=True) as db:
            found = db.execute("SELECT status FROM runs").fetchall()
        db.close()
    except sqlite3.OperationalError:  # no store yet, or no table in it
        return False
    return found == [("running",)]


def summary_of(ended: Ended) -> dict[str, Any]:
    return dict(json.loads(ended.out.splitlines()[-1]))


if __name__ == "__main__":
    main()
