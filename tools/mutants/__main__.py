"""Put small faults into the source, run the tests near each, and print those that no test notices.

    python -m tools.mutants [PACKAGE …] [--sample 20] [--seed 0] [--workers 2] [--seconds 300] [--minutes 120]
                             [--again FILE] [--json]

A package is a folder or a file under src/covey; without one, those in which a wrong number would hide. So many faults
are drawn from each package; every one is put into a copy of the tree, two at a time, and tests are run until one fails:
the file's doctests and the tests named after it, then those of its package, then the ones in NEAR. The score is the
share of faults that a test notices, if only because the first of the three sets takes more than `--seconds` of work;
the other two end then, and nobody has noticed. `--again` tries those anew that went unnoticed in a run whose output
is FILE.
"""

from __future__ import annotations

import os

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}  # threads do not survive a fork

import argparse
import compileall
import importlib
import json
import multiprocessing
import py_compile
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import repeat
from pathlib import Path

from tools.mutants.draw import ROOT, near_tests, of_package, own_tests, told, unnoticed
from tools.mutants.mutate import Mutant

PACKAGES = ("plan", "execute", "merge", "local", "grouping", "store", "loop.py")
FIRST = (
    "torch.func", "torch.fx.experimental.proxy_tensor", "scipy.optimize", "scipy.stats", "sklearn.cluster", "pytest",
    "networkx", "pydantic", "typer", "rich.progress", "matplotlib.figure", "pooch", "h5py", "PIL.Image",
    "ortools.graph.python.min_cost_flow", "sklearn.datasets", "safetensors.torch",
)  # fmt: skip
OUTPUT = Path("pytest.out")
COPIED = (
    "src", "tests", "benchmarks", "tools", "examples", "experiments", "docs", "README.md", "CONTRIBUTING.md",
    "pyproject.toml",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", nargs="*", default=PACKAGES, help="folders or files under src/covey")
    parser.add_argument("--sample", type=int, default=20, help="how many faults of each package")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same faults")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time")
    parser.add_argument("--seconds", type=int, default=300, help="most work that each of three sets of tests may take")
    parser.add_argument("--minutes", type=float, default=120, help="begin no other fault after so long")
    parser.add_argument(
        "--again", type=Path, metavar="FILE", help="only what went unnoticed in the run that wrote FILE"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    every = {name: of_package(name) for name in args.packages}
    if args.again is not None:
        before = unnoticed(args.again)
        every = {name: [m for m in all_ if told(m) in before] for name, all_ in every.items()}
    most = args.sample if args.again is None else sum(map(len, every.values()))
    drawn = {name: random.Random(args.seed).sample(all_, min(most, len(all_))) for name, all_ in every.items()}
    for name in FIRST:
        importlib.import_module(name)
    ends, began = {name: Counter[str]() for name in drawn}, time.monotonic()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(args.workers, fork, own_copy) as pool:  # whose workers, unlike a Pool's, may have children
        own = own_tests(drawn)
        list(pool.map(check_passing, own, repeat(args.seconds, len(own))))
        print(f"{len(own)} files of tests pass without a fault, {time.monotonic() - began:.0f} s", file=sys.stderr)
        deadline = began + 60 * args.minutes
        jobs = [(name, mutant, args.seconds, deadline) for name, some in drawn.items() for mutant in some]
        for done in as_completed([pool.submit(try_out, job) for job in jobs]):
            name, mutant, end = done.result()
            if end == "not tried":
                continue
            ends[name][end] += 1
            if not args.json:
                print(f"{end:9}{mutant.shown((ROOT / mutant.file).read_text())}", flush=True)
    report(ends, every, time.monotonic() - began, as_json=args.json)


def report(ends: dict[str, Counter[str]], every: dict[str, list[Mutant]], seconds: float, *, as_json: bool) -> None:
    rows = {
        name: {
            "faults": count.total(),
            "of": len(every[name]),
            "noticed": count.total() - count["survived"],
            "late": count["late"],
        }
        for name, count in ends.items()
    }
    rows = {name: row for name, row in rows.items() if row["faults"]}
    faults, noticed = (sum(row[key] for row in rows.values()) for key in ("faults", "noticed"))
    if not faults:
        raise SystemExit("there was no time for a single fault")
    if as_json:
        print(json.dumps({"packages": rows, "score": round(noticed / faults, 3), "seconds": round(seconds)}))
        return
    print(f"{'package':12}{'faults':>8}{'of':>8}{'noticed':>9}{'score':>7}")
    for name, row in rows.items():
        share = row["noticed"] / row["faults"]
        print(f"{name:12}{row['faults']:8}{row['of']:8,}{row['noticed']:9}{share:7.0%}")
    late = sum(row["late"] for row in rows.values())
    print(f"{noticed} of {faults} faults noticed ({noticed / faults:.0%}), {late} of them by taking too long; ", end="")
    print(f"{seconds:,.0f} s")


def own_copy() -> None:
    """Give a worker a tree of its own to put faults into, compiled so that only what changes is compiled again."""
    place = Path(tempfile.mkdtemp(prefix="covey-mutants-"))
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place / name)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH  # a fault may leave both size and time of a file as they were
    compileall.compile_dir(place / "src", quiet=2, invalidation_mode=mode)
    os.chdir(place)
    multiprocessing.util.Finalize(None, shutil.rmtree, (place, True), exitpriority=10)


def check_passing(test: str, seconds: int) -> None:
    """Tests that fail without a fault would notice everything."""
    end, said = run_tests([test], seconds)
    if end != "survived":
        raise RuntimeError(f"{said}\n{test} does not pass without a fault")


def try_out(job: tuple[str, Mutant, int, float]) -> tuple[str, Mutant, str]:
    """Put a fault into this worker's copy, run tests until one notices, take it out."""
    name, mutant, seconds, deadline = job
    if time.monotonic() > deadline:
        return name, mutant, "not tried"
    path = Path(mutant.file)
    source = path.read_text()
    path.write_text(mutant.apply(source))
    try:
        for k, tests in enumerate(near_tests(mutant.file)):
            end = run_tests(tests, seconds)[0]
            if k and end == "late":  # so many tests take long with or without the fault
                end = "survived"
            if end != "survived":
                break
        return name, mutant, end
    finally:
        path.write_text(source)


def run_tests(words: Sequence[str], seconds: int) -> tuple[str, str]:
    """`survived` where all tests pass, `noticed` where one does not, `late` where time is up; and what they said."""
    pid = os.fork()
    if pid == 0:
        _become_pytest(words, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    late = dict.fromkeys((-signal.SIGALRM, -signal.SIGXCPU), "late")
    ends = {0: "survived", 5: "survived"} | late  # 5: no tests in there
    return ends.get(code, "noticed"), OUTPUT.read_text(errors="replace")


def _become_pytest(words: Sequence[str], seconds: int) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs do not hear it
        signal.alarm(20 * seconds)  # a test that waits for nothing; a busy machine is no fault
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        said = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for number in (1, 2):
            os.dup2(said, number)
        sys.dont_write_bytecode = True
        os.environ["PYTHONPATH"] = str(Path.cwd() / "src")
        sys.path[:0] = [str(Path.cwd() / "src"), str(Path.cwd())]
        for name in [name for name in sys.modules if name.partition(".")[0] in ("covey", "tests", "tools")]:
            del sys.modules[name]
        import pytest

        for file in (word for word in words if word.startswith("src/")):
            importlib.import_module(
                ".".join(Path(file.removesuffix("/__init__.py")).relative_to("src").with_suffix("").parts)
            )
        code = int(pytest.main([*words, "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
