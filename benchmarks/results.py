"""A paper's comparison, measured: all algorithms of a file in experiments/, over seeds, as a markdown table.

    python -m benchmarks.results ihc-fl-table-1
    python -m benchmarks.results fedavg-ic-dtt --seeds 0 --set rounds=5 --json
    python -m benchmarks.results --list

A file holds a `title`, the `settings` all runs share, one table in `runs` an algorithm (its `name` unless it is the
algorithm's, its own settings), the `score` that counts, and what is expected to come out (`expect`). With `network`,
traffic is counted in bytes times links passed on that network; else in bytes sent. "At equal traffic" is the score
after the last round in which a run had sent no more than the run that sent least in all.

With `tail`, scores are means over the last so many rounds, where single rounds are noisy; with `target`, the first
round whose score reaches it is counted; runs with prices also show their cost (a `budget` makes all cost the same).
`by` names the column that `expect` is about, the score unless given.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from covey.cli.options import parse_set
from covey.execute.walk import Job, Meet, Send, walk
from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.fleet import Fleet
from covey.network.placement import Placement, place
from covey.network.routing import hop_matrix
from covey.network.spec import network_from
from covey.plan import Plan

FOLDER = Path(__file__).parent.parent / "experiments"
SCORES = ("accuracy", "own_accuracy")


def comparisons() -> dict[str, Path]:
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml")) if "runs" in tomllib.loads(path.read_text())}


def measure(setting: dict[str, Any], run: dict[str, Any], seed: int, more: dict[str, Any], network: str | None) -> Any:
    """The metrics of every round of one run."""
    own = {key: value for key, value in run.items() if key != "name"}
    experiment = Experiment.make({**setting, **own, **more, "seed": seed})
    fleet = make_fleet(experiment)
    loop = assemble(experiment, fleet=fleet)
    links = LinkBytes(fleet, network, loop.model_bytes) if network else None
    rounds: list[dict[str, Any]] = []

    def note(report: Any) -> None:
        metrics = dict(report.metrics)
        if links is not None:
            metrics["traffic_bytes"] = links.after(report.plan)
        rounds.append(metrics)

    loop.go(loop.begin(), [note])
    return rounds


class LinkBytes:
    """Bytes times links passed, of plan after plan: an executor that trains nothing and notes what is sent.

    What an algorithm asks of clients beyond its plans (FedAvg-IC's gradients, once) is not in it.
    """

    def __init__(self, fleet: Fleet, network: str, model_bytes: int) -> None:
        edge_of = [fleet.edge(i) for i in range(fleet.clients)]
        self.placement: Placement = place(network_from(network, edge_of), edge_of)
        self.sizes = fleet.sizes.tolist()
        self.model_bytes, self.total, self.open = model_bytes, 0, list[int]()
        self.where: list[Any] = [None]
        nodes = [*self.placement.clients, *self.placement.edges, self.placement.cloud]
        self.hops = dict(zip(nodes, hop_matrix(self.placement.network, nodes), strict=True))
        self.number = {node: k for k, node in enumerate(nodes)}

    def after(self, plan: Plan) -> int:
        """The total after one more round."""
        walked = walk(plan, [None] * len(self.where), self.sizes, self, self.where)
        self.where = walked.where
        return self.total

    def start(self, ticket: int, job: Job) -> None:
        self.open.append(ticket)

    def send(self, ticket: int, send: Send) -> None:
        source, target = self.placement.node(send.source), self.placement.node(send.target)
        self.total += self.model_bytes * int(self.hops[source][self.number[target]])
        self.open.append(ticket)

    def meet(self, ticket: int, meeting: Meet) -> None:
        self.open.append(ticket)

    def finished(self) -> Iterator[tuple[int, None]]:
        waiting, self.open = self.open, []
        yield from ((ticket, None) for ticket in waiting)

    def merger(self, name: str) -> Any:
        return _Nothing()


class _Nothing:
    def add(self, model: None, weight: float) -> None:
        """Nothing to take in."""

    def result(self) -> None:
        """Nothing to give."""


def at_traffic(rounds: list[dict[str, Any]], budget: float, score: str) -> float:
    """The score after the last round within the budget."""
    within = [m[score] for m in rounds if m["traffic_bytes"] <= budget and score in m]
    return within[-1] if within else float("nan")


def rounds_to(rounds: list[dict[str, Any]], target: float, score: str) -> float:
    """The first round whose score reaches the target; infinite where none does."""
    return next((float(m["round"]) for m in rounds if m.get(score, 0.0) >= target), float("inf"))


def compare(name: str, seeds: list[int], more: dict[str, Any]) -> dict[str, Any]:
    """All runs of a comparison over the seeds."""
    wanted = tomllib.loads(comparisons()[name].read_text())
    score = wanted.get("score", "accuracy")
    table: dict[str, dict[str, list[float]]] = {}
    for seed in seeds:
        curves = {}
        for run in wanted["runs"]:
            label = run.get("name", run["algorithm"])
            curves[label] = measure(wanted["settings"], run, seed, more, wanted.get("network"))
            print(f"seed {seed}, {label}: {curves[label][-1][score]:.4f}", file=sys.stderr, flush=True)
        least = min(rounds[-1]["traffic_bytes"] for rounds in curves.values())
        for label, rounds in curves.items():
            row = table.setdefault(label, {})
            last = rounds[-1]
            found = {key: last.get(key, float("nan")) for key in ("traffic_bytes", "trainings", "wall_seconds", "cost")}
            tail = rounds[-wanted.get("tail", 1) :]
            found |= {key: statistics.fmean(m.get(key, float("nan")) for m in tail) for key in SCORES}
            found["rounds"] = rounds_to(rounds, wanted.get("target", 0.0), score)
            found["equal_traffic"] = at_traffic(rounds, least, score)
            for key, value in found.items():
                row.setdefault(key, []).append(float(value))
    checked = {rule: holds(rule, table, wanted.get("by", score)) for rule in wanted.get("expect", [])}
    shown = {"target": wanted.get("target"), "cost": any("cost" in m for m in rounds)}
    about = {"name": name, "title": wanted["title"], "score": score, "seeds": seeds, **shown}
    return {**about, "runs": table, "expect": checked}


def holds(rule: str, table: dict[str, dict[str, list[float]]], by: str) -> bool:
    """Whether the means come in the order of `a > b > c`."""
    means = [statistics.fmean(table[label.strip()][by]) for label in rule.split(">")]
    return all(a > b for a, b in itertools.pairwise(means))


def markdown(result: dict[str, Any]) -> str:
    """The comparison as a table, mean ± standard deviation over the seeds."""
    columns = {"accuracy": ("accuracy %", 100.0), "own_accuracy": ("own accuracy %", 100.0)}
    columns |= {"traffic_bytes": ("traffic MB", 1e-6)}
    columns |= {"equal_traffic": (f"{result['score'].replace('_', ' ')} at equal traffic %", 100.0)}
    columns |= {"cost": ("cost", 1.0)} if result["cost"] else {}
    columns |= {"rounds": (f"rounds to {result['target']:.0%}", 1.0)} if result["target"] else {}
    lines = [f"**{result['title']}** (seeds {', '.join(map(str, result['seeds']))})", ""]
    lines += [f"| run | {' | '.join(title for title, _ in columns.values())} |", "|---" * (len(columns) + 1) + "|"]
    for label, row in result["runs"].items():
        cells = [_cell(row[key], scale) for key, (_, scale) in columns.items()]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    lines += ["", *(f"- {rule}: {'yes' if held else 'no'}" for rule, held in result["expect"].items())]
    return "\n".join(lines)


def _cell(values: list[float], scale: float) -> str:
    if not np.isfinite(values).all():
        reached = [value for value in values if np.isfinite(value)]
        return f"{statistics.fmean(reached) * scale:.1f} ({len(reached)} of {len(values)})" if reached else "—"
    spread = f" ± {np.std(values, ddof=1) * scale:.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values) * scale:.1f}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description="A paper's comparison, measured.")
    parser.add_argument("name", nargs="?", help="which; see --list")
    parser.add_argument("--list", action="store_true", help="the comparisons there are")
    parser.add_argument("--seeds", default="0,1,2", help="comma between seeds")
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="a setting of all runs in place of the stored"
    )
    parser.add_argument("--json", action="store_true", help="every number, as JSON")
    given = parser.parse_args()
    if given.list or given.name not in comparisons():
        print("\n".join(comparisons()))
        sys.exit(0 if given.list else 2)
    result = compare(given.name, [int(seed) for seed in given.seeds.split(",")], parse_set(given.set))
    print(json.dumps(result) if given.json else markdown(result))


if __name__ == "__main__":
    main()
