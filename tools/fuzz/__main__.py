"""Give covey thousands of odd inputs, two at a time.

    python -m tools.fuzz [--inputs 10000] [--minutes 30] [--seed 0] [--kinds csv,toml] [--keep fuzz-found] [--json]

Says how many inputs of which kind there were, and how many were accepted and refused. Every fault is printed with a
command that shows it again, in the folder that holds the input. The exit code is 1 where there is one.
"""

from __future__ import annotations

import os

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}  # threads do not survive a fork

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tools.call import SECONDS, call, load_everything
from tools.fuzz import settings as runs
from tools.fuzz import stores, tables
from tools.fuzz.case import Case
from tools.fuzz.judge import faults

KINDS: dict[str, Callable[[], st.SearchStrategy[Case]]] = {
    "settings": runs.typed,
    "toml": runs.written,
    "csv": tables.fleets,
    "network": tables.networks,
    "checkpoint": stores.checkpoints,
    "database": stores.databases,
}
BATCH = 25
KEPT = 3  # inputs of one fault


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="how many, over all kinds")
    parser.add_argument("--minutes", type=float, default=30, help="stop after so long, however many there were")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same inputs")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of: " + ", ".join(KINDS))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"), help="folder for inputs that show a fault")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="what takes longer hangs; more for a busy machine")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    load_everything()
    stores.template()
    began = time.monotonic()
    kinds = args.kinds.split(",")
    deadline = began + 60 * args.minutes
    jobs = [(*made, deadline, args.seconds) for made in batches(args.inputs, kinds, args.seed)]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    found: dict[str, list[tuple[Case, str]]] = defaultdict(list)
    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        for kind, ends, failed in pool.imap_unordered(batch, jobs):
            counts[kind] += ends
            for case, what, said in failed:
                if what not in found:
                    print(f"\r{what}", file=sys.stderr, flush=True)
                counts[kind][f"fault: {what}"] += 1
                found[what].append((case, said))
                found[what].sort(key=lambda pair: pair[0].size)
                del found[what][KEPT:]
            if failed:
                keep(found, args.keep)
            if not args.json:
                print(f"\r{sum(c['inputs'] for c in counts.values()):,} inputs", end="", file=sys.stderr, flush=True)
    shown = keep(found, args.keep)
    report(counts, shown, time.monotonic() - began, as_json=args.json)
    sys.exit(1 if found else 0)


def batches(inputs: int, kinds: list[str], seed: int) -> Iterator[tuple[str, int, int]]:
    """The kind of every batch, the number of its first input, and how many it has; no two inputs have one number."""
    size = min(BATCH, -(-inputs // len(kinds)))
    for j in range(-(-inputs // size)):
        yield kinds[j % len(kinds)], 1_000_000 * seed + j * size, size


def batch(job: tuple[str, int, int, float, int]) -> tuple[str, Counter[str], list[tuple[Case, str, str]]]:
    """Inputs of one kind: how they ended, and those that show a fault."""
    kind, first, size, deadline, patience = job
    ends: Counter[str] = Counter()
    failed: list[tuple[Case, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="covey-fuzz-") as place:
        os.environ |= {name: str(Path(place, name)) for name in ("COVEY_CACHE", "COVEY_DATA", "XDG_CACHE_HOME")}
        folder = Path(place, "here")
        for number in range(first, first + size):
            if time.monotonic() > deadline:
                break
            case = draw(KINDS[kind](), number)
            case.lay_out(folder)
            ended = call(case.words, folder, seconds=patience)
            ends["inputs"] += 1
            ends["accepted" if ended.code == 0 else "refused"] += 1
            failed.extend((case, what, ended.err) for what in faults(case, ended, folder))
    return kind, ends, failed


def draw(strategy: st.SearchStrategy[Case], number: int) -> Case:
    """The input of that number: what hypothesis draws second, since first comes the simplest, whatever the seed."""
    drawn = []

    @seed(number)
    @settings(
        max_examples=2, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def note(case: Case) -> None:
        drawn.append(case)

    note()
    return drawn[-1]


def keep(found: dict[str, list[tuple[Case, str]]], folder: Path) -> list[dict[str, Any]]:
    """Write the smallest inputs of every fault to the folder; where they are, and how to see the fault again."""
    shutil.rmtree(folder, ignore_errors=True)
    shown = []
    for number, (what, cases) in enumerate(sorted(found.items()), start=1):
        again = []
        for letter, (case, said) in zip("abc", cases, strict=False):
            place = folder / f"{number:03d}-{case.kind}-{letter}"
            case.lay_out(place)
            place.with_suffix(".txt").write_text(f"{what}\n{case.command!r}\n\n{said}", errors="replace")
            again.append(f"cd {place} && {case.command}")
        shown.append({"what": what, "again": again})
    return shown


def report(counts: dict[str, Counter[str]], shown: list[dict[str, Any]], seconds: float, *, as_json: bool) -> None:
    kinds = {kind: {key: c[key] for key in ("inputs", "accepted", "refused")} for kind, c in sorted(counts.items())}
    times: Counter[str] = Counter()
    for c in counts.values():
        times.update({key.removeprefix("fault: "): n for key, n in c.items() if key.startswith("fault: ")})
    if as_json:
        for fault in shown:
            fault["inputs"] = times[fault["what"]]
        print(json.dumps({"seconds": round(seconds), "kinds": kinds, "faults": shown}))
        return
    print(f"\r{'kind':12}{'inputs':>8}{'accepted':>10}{'refused':>9}", flush=True)
    for kind, ends in kinds.items():
        print(f"{kind:12}{ends['inputs']:8,}{ends['accepted']:10,}{ends['refused']:9,}")
    total = sum(ends["inputs"] for ends in kinds.values())
    print(f"{total:,} inputs in {seconds:,.0f} s: {len(shown)} faults")
    for fault in shown:
        print(f"\n{fault['what']}  ({times[fault['what']]} inputs)")
        for line in fault["again"]:
            print(f"  {line.encode('utf-8', 'backslashreplace').decode()[:400]}")


if __name__ == "__main__":
    main()
