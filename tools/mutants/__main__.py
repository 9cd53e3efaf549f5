"""Put small faults into the source, run the tests near each, and print those that no test notices.

    python -m tools.mutants [PACKAGE …] [--sample 60] [--seed 0] [--workers 2] [--seconds 300] [--json]

A package is a folder or a file under src/covey; without one, those in which a wrong number would hide. First the tests
near the files run once, to see that they pass and which of them runs which line; then every fault is put into a copy of
the tree, two at a time, and the tests that run its line are run. Tests near a file are its doctests, those of its
package, and the ones in NEAR. The score is the share of faults that a test notices, if only by taking too long.
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
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from coverage import CoverageData

from tools.mutants.mutate import Mutant, mutants

PACKAGES = ("plan", "execute", "merge", "local", "grouping", "store", "loop.py")
NEAR = {
    "plan": ["execute/test_walk.py", "algorithms"],
    "execute": ["test_loop.py", "algorithms", "test_resume.py"],
    "merge": ["execute/test_walk.py", "test_loop.py", "algorithms"],
    "local": ["execute", "algorithms"],
    "grouping": ["cli/test_group.py", "algorithms"],
    "store": ["test_resume.py", "cli/test_listing.py"],
    "loop": ["test_resume.py", "algorithms"],
    "seeds": ["execute", "test_loop.py", "test_sampling.py"],
    "sampling": ["algorithms"],
}
FIRST = (
    "torch.func", "torch.fx.experimental.proxy_tensor", "scipy.optimize", "scipy.stats", "sklearn.cluster", "pytest",
    "networkx", "pydantic", "typer", "rich.progress", "matplotlib.figure", "pooch", "h5py", "PIL.Image",
    "ortools.graph.python.min_cost_flow", "sklearn.datasets", "safetensors.torch",
)  # fmt: skip
Runs = dict[str, dict[int, set[str]]]
"""Which tests run which line of which file."""

OUTPUT = Path("pytest.out")
ROOT = Path(__file__).parents[2]
COPIED = (
    "src", "tests", "benchmarks", "tools", "examples", "experiments", "docs", "README.md", "CONTRIBUTING.md",
    "pyproject.toml",
)  # fmt: skip
MOST = 150  # tests of one fault


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", nargs="*", default=PACKAGES, help="folders or files under src/covey")
    parser.add_argument("--sample", type=int, default=60, help="how many faults, drawn from all there are")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same faults")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time")
    parser.add_argument("--seconds", type=int, default=300, help="most that the tests of one fault may take")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    every = [mutant for name in args.packages for mutant in of_package(name)]
    drawn = random.Random(args.seed).sample(every, min(args.sample, len(every)))
    for name in FIRST:
        importlib.import_module(name)
    ends, survivors, began = Counter[str](), list[Mutant](), time.monotonic()
    with multiprocessing.get_context("fork").Pool(args.workers, own_copy) as pool:
        runs = look(pool, drawn, args.seconds)
        jobs = [(mutant, tests_of(mutant, runs), args.seconds) for mutant in drawn]
        for mutant, end in pool.imap_unordered(try_out, jobs):
            ends[end] += 1
            if end == "survived":
                survivors.append(mutant)
                if not args.json:
                    print(mutant.shown((ROOT / mutant.file).read_text()), flush=True)
    noticed = len(drawn) - len(survivors)
    score, seconds = noticed / len(drawn), time.monotonic() - began
    if args.json:
        print(json.dumps({"mutants": len(drawn), "of": len(every), "noticed": noticed, "score": round(score, 3)}))
    else:
        print(
            f"{noticed} of {len(drawn)} faults noticed ({score:.0%}), {ends['late']} of them by taking too long; ",
            end="",
        )
        print(f"drawn from {len(every):,} in {', '.join(args.packages)}; {seconds:,.0f} s")


def of_package(name: str) -> list[Mutant]:
    """All faults of a folder or a file."""
    place = ROOT / "src" / "covey" / name
    files = [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))
    if not files:
        raise SystemExit(f"src/covey/{name} is neither a folder with Python files nor one")
    return [m for file in files for m in mutants(file.relative_to(ROOT).as_posix(), file.read_text())]


def tests_near(file: str) -> list[str]:
    """The file itself for its doctests, then tests, the nearest first."""
    inside = Path(file).relative_to("src/covey")
    package = inside.parts[0].removesuffix(".py")
    names = [package if len(inside.parts) > 1 else f"test_{inside.name}", *NEAR.get(package, [])]
    return [file, *(f"tests/{name}" for name in names if (ROOT / "tests" / name).exists())]


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


def look(pool: multiprocessing.pool.Pool, drawn: list[Mutant], seconds: int) -> Runs:
    """Run the tests without a fault, which they must pass; gives which tests run which line of which file."""
    every = {test for mutant in drawn for test in tests_near(mutant.file)}
    near = sorted(test for test in every if not any(parent.as_posix() in every for parent in Path(test).parents))
    runs: Runs = {}
    ends = pool.starmap(watch, [(test, 20 * seconds) for test in near], chunksize=1)
    for test, (end, said, seen) in zip(near, ends, strict=True):
        if end != "survived":
            raise SystemExit(f"{said}\n{test} does not pass without a fault")
        for file, lines in seen.items():
            for line, names in lines.items():
                runs.setdefault(file, {}).setdefault(line, set()).update(names)
    return runs


def watch(test: str, seconds: int) -> tuple[str, str, Runs]:
    """Run tests with coverage."""
    end, said = run_tests([test, "--cov=covey", "--cov-context=test", "--cov-report="], seconds)
    seen: Runs = {}
    data = CoverageData(".coverage")
    data.read()
    for path in data.measured_files():
        lines = data.contexts_by_lineno(path)
        seen[Path(path).relative_to(Path.cwd()).as_posix()] = {n: set(names) for n, names in lines.items()}
    return end, said, seen


def tests_of(mutant: Mutant, runs: Runs) -> list[str]:
    """The tests that run the fault's line, those of its own file first; all that are near where it runs at import."""
    lines = runs.get(mutant.file, {})
    names = {name for line in range(mutant.first, mutant.last + 1) for name in lines.get(line, ())}
    if "" in names or not names:  # it runs at import, or not at all
        return tests_near(mutant.file)
    own = f"test_{Path(mutant.file).stem}"
    return sorted({name.rpartition("|")[0] for name in names}, key=lambda name: (own not in name, name))[:MOST]


def try_out(job: tuple[Mutant, list[str], int]) -> tuple[Mutant, str]:
    """Put a fault into this worker's copy, run the tests, take it out."""
    mutant, tests, seconds = job
    path = Path(mutant.file)
    source = path.read_text()
    path.write_text(mutant.apply(source))
    try:
        end = run_tests(tests, seconds)[0]
        if end == "not found":  # names of tests that a command line cannot say, or what they need cannot be imported
            end = run_tests(tests_near(mutant.file), seconds)[0]
        return mutant, end
    finally:
        path.write_text(source)


def run_tests(words: Sequence[str], seconds: int) -> tuple[str, str]:
    """`survived` where all tests pass, `noticed` where one does not, `late` where time is up; and what they said."""
    pid = os.fork()
    if pid == 0:
        _become_pytest(words, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ends = {0: "survived", 5: "survived", 4: "not found", -signal.SIGALRM: "late"}  # 5 is a file without doctests
    return ends.get(code, "noticed"), OUTPUT.read_text(errors="replace")


def _become_pytest(words: Sequence[str], seconds: int) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
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

        code = int(pytest.main([*words, "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
