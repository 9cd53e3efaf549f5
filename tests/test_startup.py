"""Nobody waits for what they do not use: torch takes seconds to import, so what does not train does not import it."""

import json
import subprocess
import sys

import pytest

import covey
from covey.cli.main import COMMANDS, command

LOADED = """
import json, sys
sys.argv = ["covey", *json.loads(sys.argv[1])]
try:
    exec(json.loads(sys.stdin.read()))
except SystemExit as end:
    assert end.code == 0, end.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} | {"torch._dynamo"} & set(sys.modules))))
"""
COVEY = "from covey.cli.main import main; main()"
HEAVY = {"torch", "ortools", "h5py", "matplotlib", "sklearn", "pandas", "PIL", "pooch"}


def loaded(code, *words, cwd=None):
    """The packages that are imported when this code ends, in a Python of its own."""
    command = [sys.executable, "-c", LOADED, json.dumps([str(word) for word in words])]
    done = subprocess.run(command, input=json.dumps(code), capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("code", ["import covey", "import covey.plan", "from covey import Star, Train, combine"])
def test_plans_are_free_of_torch(code):
    assert not loaded(code) & HEAVY


LIGHT = [
    ["--help"],
    ["list"],
    ["list", "groupings"],
    ["list", "devices"],
    ["group", "--help"],
    ["group", "fleet.csv", "--json"],
    ["run", "--help"],
    ["resume", "--help"],
    ["compare", "--help"],
    ["price", "--help"],
    ["show", "--help"],
    ["doctor", "--help"],
    ["data", "--help"],
]


@pytest.mark.parametrize("words", LIGHT, ids=" ".join)
def test_commands_that_do_not_train_are_free_of_torch(tmp_path, words):
    (tmp_path / "fleet.csv").write_text("client,a,b\nx,1,2\ny,2,1\nz,3,3\n")
    assert not loaded(COVEY, *words, cwd=tmp_path) & {"torch", "ortools", "matplotlib", "sklearn", "pandas"}


def test_a_short_run_waits_for_little_but_torch(tmp_path):
    found = loaded(COVEY, "run", "fedavg", "--rounds", "1", "--json", cwd=tmp_path)
    assert not found & (HEAVY - {"torch", "pooch"} | {"scipy", "networkx", "torch._dynamo"})


def test_help_loads_no_command(tmp_path):
    assert not loaded(COVEY, "--help", cwd=tmp_path) & {"numpy", "scipy", "networkx", "pydantic"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_list_says(name):
    assert command(name).name == name or name in ("data", "flower")  # groups of commands
    assert command(name).help.strip()


@pytest.mark.parametrize("name", covey.__all__)
def test_every_name_is_there(name):
    assert getattr(covey, name) is getattr(covey, name)
    assert name in dir(covey)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'covey' has no attribute 'runn'"):
        covey.runn  # noqa: B018


def test_all_lists_every_name():
    assert set(covey.__all__) == set(covey._HOME)
