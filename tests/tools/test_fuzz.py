"""A few of the fuzz's inputs, of every kind: `make fuzz` has thousands."""

import json
import subprocess
import sys
from pathlib import Path

from tools.fuzz.__main__ import KINDS, batches


def test_a_few_odd_inputs_of_every_kind(tmp_path):
    words = ["--inputs", "24", "--workers", "1", "--seconds", "100", "--keep", str(tmp_path / "found"), "--json"]
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-m", "tools.fuzz", *words], cwd=root, capture_output=True, text=True, check=False
    )
    found = json.loads(ran.stdout)
    assert found["faults"] == []
    assert ran.returncode == 0, ran.stderr
    assert {kind: ends["inputs"] for kind, ends in found["kinds"].items()} == dict.fromkeys(sorted(KINDS), 4)


def test_no_input_is_given_twice():
    def numbers(seed):
        made = batches(1000, ["csv", "toml"], seed)
        return [(kind, number) for kind, first, size in made for number in range(first, first + size)]

    assert len(numbers(3)) == len(set(numbers(3))) == 1000
    assert sum(kind == "csv" for kind, _ in numbers(3)) == 500
    assert not set(numbers(3)) & set(numbers(4))
