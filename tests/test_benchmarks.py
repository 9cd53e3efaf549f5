"""Every benchmark still begins: what it imports is there, and it says what it does."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
OTHERS = {  # that are no commands here
    "literal_grouping": "the papers' pseudo-code, for benchmarks.grouping to be measured against",
    "secure_flower": "in an environment with Flower alone, started by benchmarks.secure",
    "simgrid_check": "by Debian's Python with SimGrid, started by benchmarks.flows",
}


@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("[a-z]*.py")} - set(OTHERS)))
def test_a_benchmark_says_what_it_does(name):
    command = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
