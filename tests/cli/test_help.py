"""What a person finds who asks for help, and what a shell completes."""

import dataclasses
import os
import subprocess
import sys

import pytest

import covey as package
from covey.algorithms import ALGORITHMS


def test_the_version(covey):
    assert covey("--version").out == f"covey {package.__version__}\n"


def test_options_are_in_groups_with_their_defaults(covey, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    said = covey("run", "--help").out
    for panel in ("Data", "Training", "Algorithm", "Network", "End of the run", "Output"):
        assert f"─ {panel} ─" in said
    lines = {line.split()[1]: line for line in said.splitlines() if line.startswith("│ --")}
    assert "(default: 0.1)" in lines["--lr"]
    assert "--sample" in lines
    assert "--samples" in lines


@pytest.mark.parametrize("name", ALGORITHMS.names)
def test_an_algorithms_own_settings(name):
    from covey.cli.own import own_settings

    entry = ALGORITHMS.entry(name)
    rows = own_settings(entry.thing, entry.settings)
    assert [row[0] for row in rows] == [field.name for field in dataclasses.fields(entry.thing) if field.init]
    assert all(meaning for _, _, meaning in rows)


def test_the_help_of_an_algorithm(covey):
    said = covey("run", "fedgsp", "--help")
    assert said.code == 0
    assert "fedgsp: --set KEY=VALUE" in said.out
    assert any(line.split()[:2] == ["beta", "10"] for line in said.out.splitlines())
    assert "KEY=VALUE\n" not in covey("run", "--help").out


def test_a_sample_is_an_option(small, covey):
    small("fedavg", "--sample", "0.5")
    assert covey("list", "--json").json[0]["settings"]["sample"] == 0.5


def test_a_shell_completes_names_of_runs(small, tmp_path):
    small("fedavg", "--name", "first-try")
    words = "covey show fir"
    place = {"COMP_WORDS": words, "COMP_CWORD": "2", "_COVEY_COMPLETE": "complete_bash"}
    code = "import sys; sys.argv = ['covey']; from covey.cli.main import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **place}, capture_output=True, text=True, cwd=tmp_path
    )
    assert said.stdout.split() == ["first-try"], said.stderr


@pytest.mark.parametrize(
    ("shell", "words", "found"),
    [("bash", "covey swe", "sweep"), ("bash", "covey run fedgs", "fedgsp"), ("zsh", "covey expor", "export")],
)
def test_a_shell_completes_names_that_exist(shell, words, found):
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_TYPER_COMPLETE_ARGS": words}
    env = {**os.environ, **place, "_COVEY_COMPLETE": f"complete_{shell}"}
    code = "import sys; sys.argv = ['covey']; from covey.cli.main import main; main()"
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert found in said.stdout, said.stderr
