"""Every code block of README and docs: Python runs as it is printed, commands run with one round.

A command that names data which is not built in is read and checked, not run. What is not run at all is listed in
`NOT_RUN` with its reason. Pages whose blocks belong together in another way have tests of their own (`ELSEWHERE`).
"""

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import covey
from covey.cli.main import main
from covey.cli.options import parse_set
from covey.experiment import Experiment

ROOT = Path(__file__).parent.parent
ELSEWHERE = {
    "docs/parts.md": "tests/test_own_parts.py",
    "docs/models.md": "tests/models/test_docs.py",
    "docs/theory.md": "tests/theory/test_docs.py",
    "docs/toml.md": "tests/compare/test_docs.py",
    "docs/data.md": "tests/data/test_docs.py",
}
BUILT_IN = ("digits", "synthetic")
NOT_RUN = {
    "make ": "sets up an environment of its own",
    "git clone": "needs the network",
    "source ": "is of a shell",
    "pip ": "needs the network",
    "python ": "benchmarks, tools and large examples take minutes",
    "covey run fedgsp --executor ray": "starts Ray; tests/execute/test_ray.py does",
    "covey group fleet.csv": "5,000 clients; tests/cli/test_group.py has fewer",
    "covey price group-fel --fleet fleet.csv": "5,000 clients take minutes",
    "covey run group-fel --fleet fleet.csv": "5,000 clients take minutes",
    "covey flower demo": "starts a federation; tests/flower/test_federation.py does",
    "covey ui": "serves until it is stopped; tests/ui and tests/browser do",
    "covey reproduce": "takes minutes; tests/reproduce does parts",
    "covey sweep": "18 runs; tests/cli/test_sweep.py does fewer",
    "covey resume": "needs a run that was killed; tests/test_resume.py kills some",
    "covey compare experiments/": "takes minutes; tests/test_experiments.py reads the files",
    "covey compare fedavg hierfavg": "three runs on a fat-tree; tests/cli/test_compare.py does smaller ones",
    "covey run fedavg --data synthetic --clients 1000000": "a million clients take minutes",
    "covey price fedavg-ic --clients 100": "takes half a minute; tests/cli/test_price.py does smaller ones",
    "covey price experiment.toml": "the file is the reader's",
}
START = ("covey ", "make ", "git ", "source ", "pip ", "python ")


def pages():
    found = ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/**/*.md")))]
    return [page for page in found if page not in ELSEWHERE]


def blocks(page):
    """What a page shows, in its order: (language, title, text); indented blocks have no language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pattern = r'^```(\w*)(?: title="([^"]*)")?\n(.*?)^```|^((?: {4}[^\n]*\n|\n(?= {4}))+)'
    for found in re.finditer(pattern, text, flags=re.MULTILINE | re.DOTALL):
        if found[4] is None:
            yield found[1], found[2], found[3]
        else:
            yield "", None, re.sub(r"^ {4}", "", found[4], flags=re.MULTILINE)


def commands(text):
    """The commands of a block, without the remarks beside them."""
    for line in text.splitlines():
        if line.startswith(START):
            yield re.split(r" {2,}| # ", line)[0].strip()


def why_not(command):
    return next((why for start, why in NOT_RUN.items() if command.startswith(start)), None)


def commands_of(page):
    return [word for language, _, text in blocks(page) if language in ("", "sh", "console") for word in commands(text)]


PYTHON_ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "docs/topology.md": "takes half a minute; tests/grouping/ihc solves smaller ones",
}
PYTHON = [
    (page, *block[1:])
    for page in pages()
    for block in blocks(page)
    if block[0] == "python" and page not in PYTHON_ELSEWHERE
]


@pytest.mark.parametrize(("page", "title", "text"), PYTHON, ids=[f"{page}-{n}" for n, (page, *_) in enumerate(PYTHON)])
def test_python_runs_as_it_is_printed(page, title, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page == "docs/store.md":  # it opens a checkpoint
        covey.run("fedavg", clients=4, samples=10, rounds=42, mode="one-by-one", out="runs")
    exec(compile(text, title or f"a block of {page}", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", [page for page in pages() if any(why_not(c) is None for c in commands_of(page))])
def test_the_commands_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for _, title, text in blocks(page):
        if title is not None:
            (tmp_path / title).write_text(text)
    found = [command for command in commands_of(page) if why_not(command) is None]
    if any("RUN" in command.split() or "doctor" in command for command in found):
        call(monkeypatch, ["covey", "run", "fedavg", "--clients", "4", "--name", "first", "--rounds", "1"])
    for command in found:
        words = ["first" if word == "RUN" else word for word in shlex.split(command)]
        if "--data" in words and words[words.index("--data") + 1] not in BUILT_IN:
            check(words)
            continue
        if words[1] in ("run", "price"):
            words += ["--rounds", "1"]
        assert call(monkeypatch, words) == 0, f"{command}: {capsys.readouterr().err}"


def call(monkeypatch, words):
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def check(words):
    """That the settings of a command are some, without the data."""
    settings: dict[str, Any] = {}
    at = 3
    while at < len(words):
        name, value = words[at].removeprefix("--").replace("-", "_"), words[at + 1]
        settings |= parse_set([value]) if name == "set" else parse_set([f"{name}={value}"])
        at += 2
    assert Experiment.make({**settings, "algorithm": words[2]}).data == settings["data"]


def test_nothing_is_excused_that_is_not_there():
    everything = [command for page in pages() for command in commands_of(page)]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in everything), start
    for page in (*ELSEWHERE, *PYTHON_ELSEWHERE):
        assert (ROOT / page).exists()
