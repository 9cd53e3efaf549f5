"""A day's commands in terminals of 80 and 60 columns: no line is broken, and no cell is cut to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

LITTLE = ("--clients", 6, "--samples", 20, "--mode", "one-by-one", "--rounds", 2)
FLEET = ["client,edge,boxes,bags,crates"] + [
    f"van-{i:02},{'north' if i % 2 else 'south'},{i},{9 - i},3" for i in range(10)
]
SESSION = [
    ("run", "group-fel", "--name", "a-run-with-a-name-of-some-length", "--tag", "first", *LITTLE),
    ("run", "fedavg", "--lr", 0.05, "--network", "star", *LITTLE),
    ("list",),
    ("show", "a-run-with-a-name-of-some-length"),
    ("compare", "fedavg", "group-fel", "--seeds", 2, *LITTLE),
    ("sweep", "fedavg", "--set", "lr=0.05,0.1", "--set", "batch=5,10", *LITTLE),
    ("group", "fleet.csv", "--min-size", 2),
    ("group", "fleet.csv", "--method", "all"),
    ("price", "fedavg", *LITTLE[:4]),
    ("price", "fedavg", "--sweep", "epochs=1,2", *LITTLE[:4]),
    ("list",),
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What every command of the session prints in a terminal that is so wide."""

    def session(width):
        folder = tmp_path_factory.mktemp(f"wide{width}")
        (folder / "fleet.csv").write_text("\n".join(FLEET))
        code = "import json, sys\nfrom covey.cli.main import _call\nfor words in json.loads(sys.argv[1]):\n"
        code += "    sys.argv = ['covey', *words]\n    print('$', flush=True)\n    assert _call() == 0, words\n"
        words = json.dumps([[str(word) for word in command] for command in SESSION])
        env = {**os.environ, "COLUMNS": str(width)}
        done = subprocess.run([sys.executable, "-c", code, words], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("$\n")[1:]

    return {width: session(width) for width in (80, 60)}


@pytest.mark.parametrize("width", [80, 60])
def test_no_line_is_wider_than_the_terminal(said, width):
    for words, out in zip(SESSION, said[width], strict=True):
        for line in out.splitlines():
            if not line.startswith(("picture:", "more:", "wrote")):  # names of files are not broken
                assert len(line.rstrip()) <= width, (words, line)


@pytest.mark.parametrize("width", [80, 60])
def test_no_cell_is_cut(said, width):
    for words, out in zip(SESSION, said[width], strict=True):
        assert "…" not in out, (words, out)
        assert "..." not in out, (words, out)
