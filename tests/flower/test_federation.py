"""Runs on real processes: a SuperLink and SuperNodes on this machine, bounded in time, and nothing left of them."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest
from benchmarks import flower_faults as faults
from tests.narrow import known

from covey.flower.crew import Loss
from covey.flower.federation import Federation

BOUND = 150.0  # seconds for any one thing; a machine that does nothing else takes a tenth of it


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("federation")
    faults.write(folder, deadline=30.0)
    with Federation(folder, faults.nodes(faults.FAULTS[:6]), secure=False, warm=True) as federation:
        yield federation
        children = [psutil.Process(process.pid) for process in federation._started if process.poll() is None]
        children += [child for process in children for child in process.children(recursive=True)]
    _, alive = psutil.wait_procs(children, 10)
    assert not alive


def test_nodes_fail_each_in_its_own_way_and_the_run_goes_on(federation):
    folder = federation.folder
    process = federation.run(folder / "app", {"run": "faults", "nodes": 6})
    faults.until(lambda: faults.train_messages(federation, 5), "node 5 to train", BOUND)
    os.killpg(federation.nodes[5].pid, signal.SIGKILL)
    faults.until(lambda: process.poll() is not None, "the run", BOUND)
    summary, log = faults.outcome(folder, "faults")
    assert (summary["status"], summary["rounds"], summary["trainings"]) == ("finished", 2, 4), federation.log("run")
    losses = [known(Loss.read(text)) for at, text in log if at == 1 and "was lost" in text]
    assert {loss.name: loss.reason for loss in losses} == {
        "2": "its node said: OSError: the disk is gone",
        "3": "the model it sent is not finite",
        "4": "its model is not a vector of 12 float32 numbers (float32 of shape (3,))",  # 5 x 2 weights, 2 biases
        "5": "no answer within 30 s",
    }


def test_a_server_app_that_is_killed_is_resumed_and_loses_nothing_stored(federation):
    folder = federation.folder
    federation.run(folder / "app", {"run": "cut", "nodes": 5, "rounds": 3})
    faults.until(lambda: faults.rounds_of(folder, "cut"), "a round", BOUND)
    assert faults.kill_server_app(federation)
    stored = faults.rounds_of(folder, "cut")
    process = federation.run(folder / "app", {"run": "cut", "nodes": 5, "resume": True})
    faults.until(lambda: process.poll() is not None, "the resumed run", BOUND)
    summary, log = faults.outcome(folder, "cut")
    assert (summary["status"], summary["rounds"]) == ("finished", 3), federation.log("run")
    (resumed,) = [at for at, text in log if text.startswith("after round")]
    assert resumed == stored


def test_the_demo_trains_on_nodes_with_keys_over_tls_and_leaves_nothing(tmp_path):
    before = {process.pid for process in psutil.process_iter()}
    words = ["flower", "demo", "--warm", "--nodes", "2", "--rounds", "1", "--json", "--out", str(tmp_path / "runs")]
    done = subprocess.run(
        [sys.executable, "-m", "covey", *words], capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["rounds"], summary["algorithm"], summary["lost"]) == (1, "fedgsp", [])
    assert summary["trainings"] == 2
    left = [process for process in psutil.process_iter(["cmdline"]) if process.pid not in before]
    assert not [p for p in left if any("covey-flower-" in word for word in p.info["cmdline"] or [])]
