"""Groupings against the papers' pseudo-code and against their targets: `python -m benchmarks.grouping [--json]`.

Fleets are made up: label mixes from a Dirichlet distribution, 20 to 199 samples a client (Group-FEL's setting; about
226 for FedGSP's). Times are processor seconds, which other work on the machine does not change much: the best of
several runs of ours, one run of the literal algorithm. Nothing is compiled. `benchmarks.grouping_kmedoids` and
`benchmarks.grouping_ihc` add FedAvg-IC's and IHC-FL's; `--no-paper` leaves out the alternation of IHC-FL's paper,
which takes minutes. `--plot FILE.png` also measures how the times grow with the number of clients, and draws that.
`--large` measures only emd-iid, kmedoids and ihc on 50,000 clients, each in a process of its own: seconds and memory.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded: processor seconds are those of one thread

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import grouping_ihc
from benchmarks import literal_grouping as literal
from covey.grouping import group, swap_search
from covey.grouping.cov import cov
from covey.grouping.icg import icg
from covey.grouping.kldg import kldg
from covey.grouping.measures import cov_of

LARGE: dict[str, dict[str, Any]] = {"emd-iid": {"groups": 100}, "kmedoids": {"groups": 100}, "ihc": {}}
Labels = NDArray[np.int64]
Figures = dict[str, dict[str, Any]]
FLEETS = 3
GROWTH: dict[str, tuple[int, str, dict[str, Any]]] = {  # how far to go, the method, its options
    "random": (100_000, "random", {"min_size": 5}),
    "cdg": (100_000, "cdg", {"min_size": 5}),
    "cov": (100_000, "cov", {"min_size": 5}),
    "cov, 3 passes of search": (10_000, "cov", {"min_size": 5, "search": 3}),
    "icg": (10_000, "icg", {"min_size": 10}),
    "icg, assigned": (10_000, "icg", {"min_size": 10, "deal": "assign"}),
    "qcid": (10_000, "qcid", {"min_size": 5}),
    "astraea": (3_000, "astraea", {"min_size": 5}),
    "kldg": (3_000, "kldg", {"min_size": 5}),
    "kmedoids": (3_000, "kmedoids", {"groups": 10}),
}


def fleet(clients: int, classes: int, alpha: float, *, seed: int = 0, samples: tuple[int, int] = (20, 200)) -> Labels:
    """Dirichlet label mixes; the first number of `samples` is the least a client has, the second is out of reach."""
    rng = np.random.default_rng(seed)
    mixes = rng.dirichlet(np.full(classes, alpha), clients)
    return np.array([rng.multinomial(rng.integers(*samples), mix) for mix in mixes])


def timed(task: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """The least of `repeat` times, and the answer."""
    best = float("inf")
    for _ in range(repeat):
        began = time.process_time()
        answer = task()
        best = min(best, time.process_time() - began)
    return best, answer


def figure(value: float, unit: str, target: str = "", met: bool | None = None, **more: Any) -> dict[str, Any]:
    return {"value": value, "unit": unit, "target": target, "met": met, **more}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cov_figures() -> Figures:
    labels = fleet(1_000, 10, 0.1)
    seconds, ours = timed(lambda: cov(labels, min_size=5, rng=rng()), repeat=30)
    picks, table = rng().permutation(1_000).tolist(), labels.tolist()
    slow, theirs = timed(lambda: literal.cov_grouping(table, min_size=5, max_cov=1.0, picks=picks))
    equal = [list(members) for members in ours] == theirs
    faster = slow / seconds
    large = fleet(100_000, 10, 0.3)
    long, found = timed(lambda: cov(large, min_size=5, rng=rng()), repeat=2)
    return {
        "cov, 1,000 x 10": figure(seconds, "s"),
        "cov, 1,000 x 10, literal": figure(slow, "s"),
        "cov, times faster": figure(faster, "x", ">= 150, equal groups", faster >= 150 and equal, equal_groups=equal),
        "cov, 100,000 x 10": figure(long, "s", "< 5", long < 5, cov=float(cov_of(found.sums(large)).mean())),
    }


def search_figures() -> Figures:
    found: Figures = {}
    for alpha, target in ((0.1, 0.2), (0.3, 0.2), (1.0, None)):
        lowered, seconds = [], []
        for seed in range(FLEETS):
            labels = fleet(1_000, 10, alpha, seed=seed)
            before = cov(labels, min_size=5, rng=rng())
            took, after = timed(lambda labels=labels, before=before: swap_search(labels, before, passes=3, rng=rng()))
            if before.sizes.tolist() != after.sizes.tolist():
                raise SystemExit("the search changed the group sizes")
            lowered.append(1 - cov_of(after.sums(labels)).sum() / cov_of(before.sums(labels)).sum())
            seconds.append(took)
        low = float(np.mean(lowered))
        found[f"cov search, alpha {alpha}, summed CoV lowered by"] = figure(
            low,
            "",
            f">= {target}" if target else "",
            low >= target if target else None,
            each=[float(x) for x in lowered],
            seconds=float(np.mean(seconds)),
        )
    return found


def icg_figures() -> Figures:
    labels = fleet(364, 62, 0.3, samples=(100, 352))
    seconds, drawn = timed(lambda: icg(labels, groups=52, rng=rng()), repeat=30)
    assign_seconds, assigned = timed(lambda: icg(labels, groups=52, deal="assign", rng=rng()), repeat=30)
    lowered = 1 - spread(assigned.sums(labels)) / spread(drawn.sums(labels))
    large = fleet(10_000, 62, 0.3, samples=(100, 352))
    long, _ = timed(lambda: icg(large, groups=1_000, rng=rng()))
    longer, _ = timed(lambda: icg(large, groups=1_000, deal="assign", rng=rng()))
    return {
        "icg, K = 364, M = 52, 62 classes": figure(seconds, "s", "< 0.03", seconds < 0.03),
        "icg, the same, assigned": figure(assign_seconds, "s"),
        "icg, assigned, squared distances lowered by": figure(lowered, "", ">= 0.4", lowered >= 0.4),
        "icg, 10,000 clients, M = 1,000": figure(long, "s", "< 5", long < 5),
        "icg, 10,000 clients, assigned": figure(longer, "s"),
    }


def spread(sums: Labels) -> float:
    """Eq. 4 of FedGSP with squared distances: sum over pairs of groups."""
    centred = sums - sums.mean(axis=0)
    return float(len(sums) * (centred**2).sum())


def kldg_figures() -> Figures:
    labels = fleet(150, 10, 0.1)
    seconds, ours = timed(lambda: kldg(labels, groups=30, rng=rng()), repeat=30)
    seeds, table = rng().choice(150, 30, replace=False).tolist(), labels.tolist()
    slow, theirs = timed(lambda: literal.kldg(table, seeds=seeds))
    equal = [list(members) for members in ours] == theirs
    faster = slow / seconds
    long, _ = timed(lambda: kldg(fleet(1_000, 10, 0.1), min_size=5, rng=rng()))
    return {
        "kldg, 150 clients": figure(seconds, "s"),
        "kldg, 150 clients, literal": figure(slow, "s"),
        "kldg, times faster": figure(faster, "x", ">= 300, same result", faster >= 300 and equal, equal_groups=equal),
        "kldg, 1,000 clients": figure(long, "s"),
    }


def ihc_figures(rows: dict[str, list[dict[str, Any]]]) -> Figures:
    """The worst of all fleets that `grouping_ihc` measured."""

    def worst(name: str, column: str) -> float:
        return max(float(row[column]) for row in rows[name])

    small, large = "ihc 32 clients", "ihc 1000 clients"
    proven = all(row["status"] == "optimal" for row in rows[small])
    heuristic, proof = worst(small, "search seconds"), worst(small, "exact seconds")
    long, gap = worst(large, "search seconds"), worst(large, "gap")
    found = {
        "ihc, N = 32, heuristic": figure(heuristic, "s", "< 0.2", heuristic < 0.2),
        "ihc, N = 32, heuristic above the optimum by": figure(worst(small, "search gap"), ""),
        "ihc, N = 32, proven optimum": figure(proof, "s", "< 10", proof < 10 and proven),
        "ihc, N = 1,000, heuristic": figure(long, "s", "< 3", long < 3),
        "ihc, N = 1,000, gap to the bound": figure(gap, "", "< 0.03", gap < 0.03),
    }
    if "paper gap" in rows[small][0]:
        found["ihc, N = 32, the paper's alternation"] = figure(worst(small, "paper seconds"), "s")
        found["ihc, N = 32, the paper's above the optimum by"] = figure(worst(small, "paper gap"), "")
    return found


def growth() -> dict[str, dict[int, float]]:
    """Seconds by method and number of clients; ten labels, alpha 0.3."""
    found: dict[str, dict[int, float]] = {}
    for name, (most, method, options) in GROWTH.items():
        group(method, fleet(20, 10, 0.3), rng=rng(), **options)  # so that no import is timed
        for clients in (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000):
            if clients <= most:
                labels = fleet(clients, 10, 0.3)
                seconds, _ = timed(
                    lambda m=method, t=labels, o=options: group(m, t, rng=rng(), **o),
                    repeat=3 if clients <= 1_000 else 1,
                )
                found.setdefault(name, {})[clients] = seconds
    sizes = (30, 100, 300, 1_000)
    found["ihc, heuristic"] = {n: grouping_ihc.large("dirichlet 0.3", n, 0)["search seconds"] for n in sizes}
    return found


def draw_growth(found: dict[str, dict[int, float]], path: str) -> None:
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=(8.4, 5.2), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.add_subplot()
    slowest_first = sorted(found.items(), key=lambda item: -item[1][1_000])
    for k, (name, points) in enumerate(slowest_first):
        colour = colormaps["turbo"](k / (len(found) - 1))
        axes.loglog(list(points), list(points.values()), marker="os^vD"[k % 5], c=colour, ms=4.5, lw=1.6, label=name)
    axes.set_xlabel("clients")
    axes.set_ylabel("processor seconds to group them")
    axes.grid(True, which="major", color="#d8dce2", lw=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    picture.savefig(path, dpi=150)


def large_figures(clients: int) -> Figures:
    """Processor seconds and the most memory that a process took to group so many clients with ten labels."""
    found: Figures = {}
    for method, options in LARGE.items():
        words = json.dumps([method, clients, options])
        ran = subprocess.run([sys.executable, "-m", __spec__.name, "--one", words], capture_output=True, check=True)
        seconds, wall, gigabytes, groups = json.loads(ran.stdout)
        name = f"{method}, {clients:,} x 10, {groups:,} groups"
        found[name] = figure(seconds, "s", "minutes", seconds < 600, wall_seconds=wall)
        found[f"{name}, peak memory"] = figure(gigabytes, "GB", "< 4", gigabytes < 4)
    return found


def one_large(method: str, clients: int, options: dict[str, Any]) -> None:
    """Group and print what it took; memory is that of the whole process."""
    labels = fleet(clients, 10, 0.3)
    began = time.perf_counter()
    seconds, found = timed(lambda: group(method, labels, rng=rng(), **options))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
    print(json.dumps([seconds, time.perf_counter() - began, peak, len(found)]))


def machine() -> dict[str, Any]:
    return {"python": platform.python_version(), "numpy": np.__version__, "cores": os.cpu_count()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--plot", metavar="FILE.png", help="measure growth with the number of clients and draw it")
    parser.add_argument("--no-paper", action="store_true", help="without the alternation of IHC-FL's paper")
    parser.add_argument("--large", action="store_true", help="only emd-iid, kmedoids and ihc, on many clients")
    parser.add_argument("--clients", type=int, default=50_000, help="how many `--large` is")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one_large(*json.loads(arguments.one))
        return
    if arguments.large:
        figures = large_figures(arguments.clients)
        print(json.dumps({"machine": machine(), "figures": figures}, indent=1)) if arguments.json else show(figures)
        return
    from benchmarks import grouping_kmedoids  # it takes its fleets from here

    figures = cov_figures() | search_figures() | icg_figures() | kldg_figures() | grouping_kmedoids.figures()
    rows = grouping_ihc.figures(paper=not arguments.no_paper)
    figures |= ihc_figures(rows)
    report: dict[str, Any] = {"machine": machine(), "figures": figures} | rows
    if arguments.plot:
        report["growth"] = growth()
        draw_growth(report["growth"], arguments.plot)
    if arguments.json:
        print(json.dumps(report, indent=1))
    else:
        show(figures)


def show(figures: Figures) -> None:
    table = Table(box=None, header_style="bold")
    for name in ("what", "value", "target", ""):
        table.add_column(name, justify="right" if name == "value" else "left")
    for name, found in figures.items():
        met = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[found.get("met")]
        table.add_row(name, f"{found['value']:.4g} {found['unit']}", found.get("target", ""), met)
    Console().print(table)


if __name__ == "__main__":
    main()
