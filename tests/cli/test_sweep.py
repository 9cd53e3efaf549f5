import os
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.conftest import SMALL

from covey.store import Store


@pytest.fixture
def sweep(covey):
    return lambda *words: covey("sweep", *words, *SMALL)


def test_every_combination_sorted_by_score(sweep, tmp_path):
    said = sweep("fedavg", "--set", "lr=0.001,0.5", "--set", "epochs=1,2,3", "--seeds", "0-1")
    assert said.code == 0, said.err
    rows = [line.split() for line in said.out.splitlines()[2:-1]]
    assert len(rows) == 6
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0][0].startswith("lr=0.5")
    assert said.out.endswith("picture: runs/sweep.png\n")
    assert (tmp_path / "runs" / "sweep.png").read_bytes().startswith(b"\x89PNG")
    found = sweep("fedavg", "--set", "lr=0.001,0.5", "--set", "epochs=1,2,3", "--seeds", "0-1", "--json").json
    assert found["sweep"] == {"lr": [0.001, 0.5], "epochs": [1, 2, 3]}
    assert {row["settings"]["lr"] for row in found["rows"]} == {0.001, 0.5}
    assert all(row["seeds"] == [0, 1] and row["rounds"] == 3 for row in found["rows"])
    with Store(tmp_path / "runs") as store:
        assert len(store.runs()) == 2 * 3 * 2  # the second command made none


def test_what_is_set_goes_before_options(sweep, tmp_path):
    assert sweep("fedavg", "--batch", 7, "--set", "batch=5", "--set", "lr=0.1,0.2", "--json").code == 0
    with Store(tmp_path / "runs") as store:
        assert {record.config["batch"] for record in store.runs()} == {5}


def test_a_sweep_of_a_file(covey, tmp_path):
    text = 'clients = 4\nsamples = 20\nrounds = 1\nmode = "one-by-one"\nedges = 1\n[sweep]\nlr = [0.1, 0.2]\n'
    (tmp_path / "a.toml").write_text(text)
    assert len(covey("sweep", "a.toml", "--json").json["rows"]) == 2
    assert len(covey("sweep", "a.toml", "--set", "batch=5,10,20", "--json").json["rows"]) == 6
    assert len(covey("sweep", "a.toml", "--set", "lr=0.1,0.3,0.4", "--json").json["rows"]) == 3


def test_a_sweep_that_was_killed_goes_on(covey, tmp_path):
    words = ["sweep", "fedavg", "--set", "lr=0.1,0.2", "--set", "epochs=1,2,3", "--seeds", "3", *SMALL]
    process = subprocess.Popen([sys.executable, "-m", "covey", *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    while time.monotonic() - begun < 120 and _finished(tmp_path) < 3:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = _finished(tmp_path)
    assert 3 <= done < 18
    found = covey(*words, "--json").json
    assert len(found["rows"]) == 2 * 3
    with Store(tmp_path / "runs") as store:
        assert [record.status for record in store.runs()] == ["finished"] * 18


def _finished(folder):
    with Store(folder / "runs", read_only=True) as store:
        return sum(record.status == "finished" for record in store.runs())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fedavg"], "set is []; allowed is one setting at least with several values"),
        (["fedavg", "--set", "nope=1,2"], "setting is 'nope'"),
        (["fedavg", "--set", "lr=0.1,x"], "lr is 'x'"),
    ],
)
def test_what_cannot_be_swept(sweep, words, sentence):
    assert sweep(*words).complaint.startswith(sentence)
