"""IHC-FL's topologies against their targets: `python -m benchmarks.grouping_ihc [--json]`.

Fleets are made up. "latent": updates around eight directions, which are nearly at right angles, so that gamma must be
raised; "Dirichlet": label mixes with alpha 0.3 and 0.5. Costs are the paper's: 1 to 1.5 between similar clients, 1 to
2 between others. Times are processor seconds of one thread, which other work on the machine does not change much.
Nothing is compiled. The gap of the search and of the paper's way at 32 clients is that to the proven optimum at the
gamma that the optimum needs (below 0 where the search did not manage with that gamma and took a larger one); at 1,000
it is that to the printed bound. `--growth` also measures from 16 to 2,000 clients.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded: tables this small only suffer from more

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from covey.grouping.ihc import topology

Floats = NDArray[np.float64]
T = TypeVar("T")

SEEDS = range(3)
KINDS = ("latent", "dirichlet 0.3", "dirichlet 0.5")


def instance(kind: str, clients: int, seed: int) -> dict[str, Any]:
    """Labels, updates and costs of a fleet."""
    rng = np.random.default_rng(seed)
    if kind == "latent":
        directions = rng.normal(size=(8, 64))
        updates = directions[rng.integers(8, size=clients)] + 0.5 * rng.normal(size=(clients, 64))
    else:
        updates = rng.dirichlet(np.full(10, float(kind.split()[1])), clients)
    unit = updates / np.linalg.norm(updates, axis=1, keepdims=True)
    deltas = np.where(np.eye(clients, dtype=bool), np.inf, 1 - unit @ unit.T)
    similar = deltas <= deltas.min(axis=1).max()
    costs = np.triu(1 + rng.random((clients, clients)) * np.where(similar, 0.5, 1.0), 1)
    labels = np.full((clients, 2), 50)
    return {"labels": labels, "updates": updates, "distances": costs + costs.T, "between": "heads"}


def timed(task: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    answer = task()
    return time.process_time() - began, answer


def small(kind: str, seed: int, *, paper: bool) -> dict[str, Any]:
    """The three ways at 32 clients; gaps are to the proven optimum."""
    given = instance(kind, 32, seed)
    row: dict[str, Any] = {"fleet": f"{kind}, seed {seed}"}
    proof_time, best = timed(lambda: topology(**given, method="exact", rng=np.random.default_rng(seed)))
    given["gamma"] = best.gamma
    search_time, found = timed(lambda: topology(**given, rng=np.random.default_rng(seed)))
    row |= {"gamma": best.gamma, "gamma asked": best.asked_gamma, "optimum": best.objective, "status": best.status}
    row |= {"exact seconds": proof_time, "search seconds": search_time, "search gamma": found.gamma}
    row["search gap"] = _above(found, best)
    if paper:
        paper_time, old = timed(lambda: topology(**given, method="paper", seconds=5, rng=np.random.default_rng(seed)))
        row |= {"paper seconds": paper_time, "paper gap": _above(old, best)}
    return row


def large(kind: str, clients: int, seed: int) -> dict[str, Any]:
    """The search and its bound; gaps are to that bound."""
    given = instance(kind, clients, seed)
    seconds, found = timed(lambda: topology(**given, rng=np.random.default_rng(seed)))
    row = {"fleet": f"{kind}, seed {seed}", "clients": clients, "search seconds": seconds, "heads": len(found.grouping)}
    return row | {"objective": found.objective, "bound": found.bound, "gap": found.gap, "gamma": found.gamma}


def proofs(kind: str, clients: int) -> dict[str, Any]:
    """How far a proof gets in a minute."""
    given = instance(kind, clients, 0)
    seconds, found = timed(lambda: topology(**given, method="exact", seconds=60, rng=np.random.default_rng(0)))
    return {"fleet": kind, "clients": clients, "exact seconds": seconds, "status": found.status, "gap": found.gap}


def figures(*, paper: bool = True, growth: bool = False) -> dict[str, Any]:
    """Everything that is measured, by name."""
    found: dict[str, Any] = {
        "ihc 32 clients": [small(kind, seed, paper=paper) for kind in KINDS for seed in SEEDS],
        "ihc 1000 clients": [large(kind, 1000, seed) for kind in KINDS for seed in SEEDS],
    }
    if growth:
        sizes = (16, 32, 64, 125, 250, 500, 1000, 2000)
        found["ihc proofs"] = [proofs(kind, clients) for kind in KINDS for clients in (16, 24, 32, 48, 64, 100)]
        found["ihc growth"] = [large("dirichlet 0.3", clients, 0) for clients in sizes]
    return found


def ranges(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The smallest and the largest figure of every column that has seconds or gaps, as docs/topology.md gives them."""
    found = {}
    for name in rows[0]:
        if name.endswith(("seconds", "gap")):
            low, high = (best(float(row[name]) for row in rows) for best in (min, max))
            found[name] = f"{100 * low:.1f} to {100 * high:.1f} %" if "gap" in name else f"{low:.1f} to {high:.1f} s"
    return found


def _above(found: Any, best: Any) -> float:
    return float(found.objective / best.objective - 1)


def _shown(name: str, value: Any) -> str:
    if "gap" in name:
        return f"{100 * value:.2f} %"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--growth", action="store_true", help="also measure how times grow")
    parser.add_argument("--no-paper", action="store_true", help="without the paper's alternation, which takes minutes")
    given = parser.parse_args()
    measured = figures(paper=not given.no_paper, growth=given.growth)
    if given.json:
        print(json.dumps(measured, indent=2))
        return
    for title, rows in measured.items():
        table = Table(*rows[0], title=title)
        for row in rows:
            table.add_row(*(_shown(name, value) for name, value in row.items()))
        Console().print(table)
        print(f"{title}:", "; ".join(f"{name} {text}" for name, text in ranges(rows).items()), end="\n\n")


if __name__ == "__main__":
    main()
