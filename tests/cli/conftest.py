import json
import sys

import pytest

from covey.cli.main import main

SMALL = ("--clients", "4", "--samples", "20", "--rounds", "3", "--model", "softmax-regression", "--mode", "one-by-one")


class Said:
    """What a command said and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        assert self.code == 0, self.err
        return json.loads(self.out.splitlines()[-1])

    @property
    def complaint(self):
        """The one sentence on standard error that goes with exit code 2."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.endswith("\n")
        (sentence,) = self.err.splitlines()
        assert sentence.startswith("covey: ")
        return sentence.removeprefix("covey: ")


@pytest.fixture
def covey(monkeypatch, capsys, tmp_path):
    """`covey(...)` as from a shell in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["covey", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def small(covey):
    """`covey run ALGORITHM …` with little to do."""
    return lambda algorithm, *words: covey("run", algorithm, *SMALL, *words)
