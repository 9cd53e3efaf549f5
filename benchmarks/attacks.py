"""Does grouping help or hurt a defence: main accuracy and attack success in groups of several sizes.

    python -m benchmarks.attacks [--defences flame,median] [--sizes 40,10] [--rounds 15] [--set lr=0.05] [--json]
    python -m benchmarks.attacks --headline

Group-FEL's plan on Fashion-MNIST: 40 clients with 250 samples each, dealt evenly, a network of two hidden layers, 15
rounds of two local epochs, all groups in every round, one group round. A tenth of the clients attack by model
replacement: they stamp a square into half of their images, call them class 0, and make their updates ten times as long,
40 clients for 4 attackers. They are spread over all groups, or sit in as few groups as can be. A defence stands where
clients' models meet ("in groups"), where groups' models meet ("across"), or at both places; one group of 40 is FedAvg.

`--headline` is the short form: FedAvg with and without the attack, and FLAME against it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from typing import Any

from covey.cli.options import parse_set
from covey.experiment import Experiment, life

SETTING: dict[str, Any] = {
    "algorithm": "group-fel",
    "data": "fashion-mnist",
    "clients": 40,
    "samples": 250,
    "partition": "iid",
    "edges": 1,
    "model": "2nn",
    "lr": 0.1,
    "epochs": 2,
    "batch": 25,
    "sample": 1.0,
    "group_rounds": 1,
    "evaluate_every": 5,
}
ATTACK = "replacement:share=0.1,boost=10"
DEFENCES = ("flame", "krum", "trimmed-mean", "median")
PLACES = {"in groups": ("client_merge", {"merge": "mean"}), "across": ("merge", {"client_merge": "mean"})}


def run(**settings: Any) -> dict[str, Any]:
    """Accuracy and attack success of one run."""
    wanted = Experiment.make({**SETTING, **settings})
    with tempfile.TemporaryDirectory() as folder:
        found = life.start(wanted, folder)[1]
    said = {name: found[name] for name in ("accuracy", "attack_success") if name in found}
    print(".", end="", file=sys.stderr, flush=True)
    return said


def table(sizes: list[int], defences: list[str], more: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a way of defending and a way of sitting, one cell a size of groups."""
    rows = []
    for inside in ("spread", "group"):
        for defence in ("mean", *defences):
            for place in ("",) if defence == "mean" else ("in groups", "across", "both"):
                cells = {}
                for size in sizes:
                    flat = size >= SETTING["clients"]
                    if flat and (inside == "group" or place in ("across", "both")):
                        continue
                    merges = {"merge": defence}
                    if place in PLACES:
                        field, other = PLACES[place]
                        merges = {**other, field: defence}
                    attack = f"{ATTACK},inside={inside}"
                    cells[size] = run(min_size=size, attack=attack, **merges, **more)
                if cells:
                    rows.append({"attackers": inside, "defence": f"{defence} {place}".strip(), "cells": cells})
    return rows


def headline(more: dict[str, Any]) -> list[dict[str, Any]]:
    """FedAvg, FedAvg under attack, FLAME under attack."""
    everybody = {"min_size": SETTING["clients"], **more}
    return [
        {"run": "FedAvg, no attack", **run(**everybody)},
        {"run": "FedAvg, attacked", **run(attack=ATTACK, **everybody)},
        {"run": "FLAME, attacked", **run(attack=ATTACK, merge="flame", **everybody)},
        {"run": "FLAME, no attack", **run(merge="flame", **everybody)},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="40,10,5")
    parser.add_argument("--defences", default=",".join(DEFENCES))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="any setting of the runs")
    parser.add_argument("--headline", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    more = {"rounds": asked.rounds, **parse_set(asked.set)}
    if asked.headline:
        found = headline(more)
        print(file=sys.stderr)
        if asked.json:
            print(json.dumps(found))
            return
        print("| run | accuracy | attack success |\n|---|---|---|")
        for row in found:
            print(f"| {row['run']} | {_percent(row['accuracy'])} | {_percent(row.get('attack_success'))} |")
        return
    sizes = [int(size) for size in asked.sizes.split(",")]
    rows = table(sizes, asked.defences.split(","), more)
    print(file=sys.stderr)
    if asked.json:
        print(json.dumps(rows))
        return
    print("accuracy / attack success, in per cent\n")
    print(f"| attackers | defence | {' | '.join(f'groups of {size}' for size in sizes)} |")
    print("|---|---|" + "---|" * len(sizes))
    for row in rows:
        cells = [row["cells"].get(size) for size in sizes]
        texts = ["" if c is None else f"{_percent(c['accuracy'])} / {_percent(c['attack_success'])}" for c in cells]
        print(f"| {row['attackers']} | {row['defence']} | {' | '.join(texts)} |")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


if __name__ == "__main__":
    main()
