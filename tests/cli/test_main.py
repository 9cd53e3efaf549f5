"""What a person sees who types something wrong, and what a script sees."""

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console
from tests.cli.conftest import SMALL
from tests.fakes import full_disk

import covey as package
from covey.cli import listing
from covey.cli import run as run_command
from covey.cli.progress import Watch


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "fedavgg"], "algorithm is 'fedavgg'; allowed is one of "),
        (["run", "fedavg", "--rounds", "0"], "rounds is 0; allowed is a number greater than or equal to 1"),
        (["run", "fedavg", "--rounds", "-3"], "rounds is -3; allowed is a number greater than or equal to 1"),
        (["run", "fedavg", "--lr", "inf"], "lr is inf; allowed is a finite number"),
        (["run", "fedavg", "--lr", "1e300"], "lr is 1e+300; allowed is a number less than or equal to 1000000"),
        (["run", "fedavg", "--set", "weight_decay=1e39"], "weight_decay is 1e+39; allowed is a number less than"),
        (["run", "fedavg", "--set", "sample=2.5"], "sample is 2.5; allowed is a share above 0 and up to 1, or a "),
        (["run", "fedavg", "--dropout", "1"], "dropout is 1.0; allowed is a number less than 1"),
        (["run", "fedavg", "--set", "rounds"], "set is 'rounds'; allowed is key=value"),
        (["run", "fedavg", "--set", "=3"], "set is '=3'; allowed is key=value"),
        (["run", "fedavg", "--set", "roundz=3"], "setting is 'roundz'; allowed is one of "),
        (["run", "missing.toml"], "experiment missing.toml cannot be read (No such file or directory)"),
        (["run", "fedavg", "--data", "digit"], "data is 'digit'; allowed is one of "),
        (["run", "fedavg", "--model", "lenett"], "model is 'lenett'; allowed is one of "),
        (["run", "fedavg", "--model", "lenet"], "model is 'lenet'; allowed is one of "),
        (["run", "fedavg", "--model", "a.b:C"], "model is 'a.b:C'; allowed is code that can be loaded ("),
        (["run", "fedavg", "--partition", "dirichlet:-1"], "alpha is -1.0; allowed is a number above 0"),
        (["run", "fedavg", "--partition", "dirichlet"], "partition is 'dirichlet'; allowed is dirichlet:0.1 or"),
        (["run", "fedavg", "--partition", "natural"], ""),
        (["run", "fedavg", "--clients", "9999"], "clients is 9999; allowed is at most"),
        (["run", "fedavg", "--edges", "99"], "edges is 99; allowed is at most"),
        (["run", "fedavg", "--local", "fedprox:x"], "mu of fedprox is 'x'; allowed is a number"),
        (["run", "fedavg", "--mode", "fast"], "mode is 'fast'; allowed is 'auto'"),
        (["run", "star-rings", "--set", "grouping=nope"], "grouping is 'nope'; allowed is one of "),
        (["compare", "fedavg", "ringg"], "algorithm is 'ringg'; allowed is one of "),
        (["compare", "--set", "groupz=3"], "setting is 'groupz'; allowed is one of "),
        (["show", "fedavg-digits-1"], "run is 'fedavg-digits-1'; allowed is the name of a run; the store in runs has"),
        (
            ["resume", "fedavg-digits-1"],
            "run is 'fedavg-digits-1'; allowed is the name of a run; the store in runs has",
        ),
        (["resume"], "the store in runs has no unfinished run; start one with: covey run fedavg"),
        (["list", "algorithm"], "list is 'algorithm'; allowed is one of algorithms (did you mean 'algorithms'?), "),
        # what typer finds out
        (["run", "fedavg", "--rounds", "many"], "Invalid value for '--rounds': "),
        (["run", "fedavg", "--roundz", "3"], "No such option"),
        (["run"], "Missing argument"),
        (["runn"], "No such command 'runn'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence_and_exit_code_2(covey, words, sentence):
    assert covey(*words).complaint.startswith(sentence)


def test_the_nearest_command_is_named_once(covey):
    assert covey("runn").complaint.strip() == "No such command 'runn'. Did you mean 'run'?"


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["run", "fedavgg"], "fedavg"),
        (["run", "fedavg", "--set", "roundz=3"], "rounds"),
        (["run", "fedavg", "--set", "sampel=0.1"], "sample"),
        (["run", "fedavg", "--data", "digit"], "digits"),
        (["run", "fedavg", "--model", "lenett"], "lenet"),
        (["list", "algorithm"], "algorithms"),
        (["compare", "--set", "group=3"], "groups"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_the_nearest_match_is_named(covey, words, nearest):
    assert (
        covey(*words).complaint.partition("allowed is one of ")[2].startswith(f"{nearest} (did you mean '{nearest}'?)")
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"rounds = \n", "experiment mine.toml is not TOML: "),
        (b"\xff\xfe\x00", "experiment mine.toml is not TOML: "),
        (b"rounds = 0", "rounds is 0; allowed is a number greater than or equal to 1"),
        (b'rounds = "many"', "rounds is 'many'; allowed is a valid integer"),
        (b"roundz = 3", "setting is 'roundz'; allowed is one of "),
        (b"[fedavg]\nrounds = 3", "setting is 'fedavg'; allowed is one of "),
        (b'algorithm = "fedavgg"', "algorithm is 'fedavgg'; allowed is one of "),
        (b"algorithm = 3", "algorithm is '3'; allowed is one of "),
        (b"options = 3", "options is 3; allowed is a table"),
    ],
)
def test_experiments_that_are_refused(covey, tmp_path, content, sentence):
    (tmp_path / "mine.toml").write_bytes(content)
    assert covey("run", "mine.toml").complaint.startswith(sentence)


def test_a_partition_that_leaves_a_client_empty(covey):
    complaint = covey("run", "fedavg", "--clients", 1000, "--partition", "shards:5").complaint
    assert complaint.startswith("partition is 'shards:")
    assert "one that leaves no client empty, but 189 of 1000 would get none of 1433 samples" in complaint


IDX = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not an idx file"),
        (gzip.compress(b"\0" * 100)[:20], "is truncated or not a gzip file"),
        (gzip.compress(b"\0\0\x08\x03" + bytes(12)), "is "),
    ],
    ids=["empty", "truncated", "another"],
)
def test_data_that_is_damaged(covey, monkeypatch, tmp_path, content, sentence):
    monkeypatch.setenv("COVEY_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "mnist").mkdir(parents=True)
    for name in IDX:
        (tmp_path / "data" / "mnist" / f"{name}.gz").write_bytes(content)
    file = tmp_path / "data" / "mnist" / "train-images-idx3-ubyte.gz"
    assert covey("run", "fedavg", "--data", "mnist").complaint.startswith(f"{file} {sentence}")


def test_data_that_is_not_there(covey, monkeypatch, tmp_path):
    monkeypatch.setenv("COVEY_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "celeba" in covey("run", "fedavg", "--data", "celeba").complaint


def test_a_full_disk(covey, small):
    with full_disk(after=1):
        said = small("fedavg")
    assert said.complaint == (
        "the checkpoint of round 2 could not be written to runs/fedavg-digits-1 (No space left on device); "
        "make room, then: covey resume fedavg-digits-1"
    )
    assert covey("list", "--json").json[0]["status"] == "failed"
    assert covey("resume", "--json").json["model_sha256"] == small("fedavg", "--json").json["model_sha256"]


def test_a_store_that_cannot_be(covey, tmp_path):
    (tmp_path / "runs").touch()
    assert covey("run", "fedavg").complaint.startswith("out is 'runs'; allowed is a folder for runs that can be read")
    assert covey("list", "runs").complaint.startswith("out is 'runs'")


def test_help_is_not_a_fault(covey):
    assert covey("--help").code == 0
    said = covey("run", "--help")
    assert said.code == 0
    assert "--rounds" in said.out
    assert covey().code == 2
    assert covey().err == ""


def test_a_fault_of_coveys_own_keeps_its_traceback(covey, monkeypatch):
    monkeypatch.setattr("covey.cli.listing.json.dumps", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        covey("list", "--json")


def test_a_pipe_that_closes_early_is_no_fault(covey, monkeypatch):
    def closed(*_):
        raise BrokenPipeError

    monkeypatch.setattr(listing, "run_rows", closed)
    assert covey("list").code in (0, 1)


def test_a_page_of_help_that_nobody_reads_to_its_end_is_no_fault():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-m", "covey", "tune", "--help"]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_says_how_to_go_on(covey, small, monkeypatch):
    whole = small("fedavg", "--json").json

    class Stops(Watch):
        def __call__(self, report):
            if report.metrics["round"] == 2:
                raise KeyboardInterrupt  # not by a signal, which a process in the background may be deaf to

    @contextlib.contextmanager
    def interrupted():
        yield Stops(Console(file=io.StringIO()))

    with monkeypatch.context() as patch:
        patch.setattr(run_command, "bars", interrupted)
        said = small("fedavg")
    assert (said.code, said.out, said.err) == (130, "", "covey: stopped; go on with: covey resume\n")
    assert covey("resume", "--json").json["model_sha256"] == whole["model_sha256"]


def test_the_same_command_twice_gives_the_same_model(covey, tmp_path):
    """In a process of its own, in this one, and from Python: nothing counts but the settings."""
    words = ["run", "star-rings", *SMALL[:-2], "--json"]
    alone = subprocess.run([sys.executable, "-m", "covey", *words], capture_output=True, text=True, cwd=tmp_path)
    assert (alone.returncode, alone.stderr) == (0, "")
    assert "\x1b" not in alone.stdout
    first, second = json.loads(alone.stdout.splitlines()[-1]), covey(*words).json
    assert (first["run"], second["run"]) == ("star-rings-digits-1", "star-rings-digits-2")
    settings: Any = {"clients": 4, "samples": 20, "rounds": 3, "model": "softmax-regression"}
    third = package.run("star-rings", **settings).summary
    assert first["model_sha256"] == second["model_sha256"] == third["model_sha256"]


def test_a_name_cannot_steer_the_terminal(covey):
    said = covey("show", "x\x1b[31m[/s]:bomb:")
    assert said.complaint.startswith(r"run is 'x\x1b[31m[/s]:bomb:'; allowed is")
    assert covey("run", "no\x1b]0;title\x07.toml").complaint.startswith(r"experiment no\x1b]0;title\x07.toml cannot be")
