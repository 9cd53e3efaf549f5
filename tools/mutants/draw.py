"""Which faults are tried, and which tests are near them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tools.mutants.mutate import Mutant, mutants

NEAR = {
    "plan": ["execute/test_walk.py", "algorithms"],
    "execute": ["test_loop.py", "algorithms", "test_resume.py"],
    "merge": ["execute/test_walk.py", "test_loop.py", "algorithms"],
    "local": ["execute", "algorithms"],
    "grouping": ["cli/test_group.py", "cli/test_fleet_file.py", "algorithms"],
    "store": ["test_resume.py", "cli/test_listing.py", "cli/test_runs.py", "cli/test_run.py"],
    "loop": ["test_inside.py", "test_effort.py", "test_resume.py", "algorithms"],
    "seeds": ["execute", "test_loop.py", "test_sampling.py"],
    "sampling": ["algorithms"],
}
ROOT = Path(__file__).parents[2]


def of_package(name: str) -> list[Mutant]:
    """All faults of a folder or a file."""
    place = ROOT / "src" / "covey" / name
    files = [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))
    if not files:
        raise SystemExit(f"src/covey/{name} is neither a folder with Python files nor one")
    return [m for file in files for m in mutants(file.relative_to(ROOT).as_posix(), file.read_text())]


def unnoticed(path: Path) -> set[tuple[str, ...]]:
    """What the output of an earlier run says of the faults that survived: file, fault, the line before and after.

    Not the line's number, which changes with what is written above it.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    blocks = (
        (line.split(None, 1)[1], *lines[k + 1 : k + 3]) for k, line in enumerate(lines) if line[:9] == "survived "
    )
    return {_words(*block) for block in blocks}


def told(mutant: Mutant) -> tuple[str, ...]:
    """The same of a fault."""
    return _words(*mutant.shown((ROOT / mutant.file).read_text()).split("\n"))


def _words(place: str, before: str, after: str) -> tuple[str, ...]:
    file, _, what = place.split(":", 2)
    return file, what.strip(), before.strip(), after.strip()


def near_tests(file: str) -> list[list[str]]:
    """Three sets of tests, the nearest first: for this file, for its package, for what uses it."""
    inside = Path(file).relative_to("src/covey")
    package, stem = inside.parts[0].removesuffix(".py"), inside.stem.removeprefix("_")
    folder = ROOT / "tests" / package if len(inside.parts) > 1 else ROOT / "tests"
    own = sorted(folder.rglob(f"test_{stem}*.py"))
    rest = [folder] if len(inside.parts) > 1 else []
    near = [ROOT / "tests" / name for name in NEAR.get(package, [])]
    doctests = [file] if ">>>" in (ROOT / file).read_text() else []
    sets = [[*doctests, *_named(own)], _named(rest), _named(near)]
    return [names for names in sets if names]


def _named(paths: Sequence[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths if path.exists()]


def own_tests(drawn: dict[str, list[Mutant]]) -> list[str]:
    """The tests of the files that faults are put into."""
    files = {mutant.file for some in drawn.values() for mutant in some}
    return sorted({test for file in files for test in near_tests(file)[0]})
