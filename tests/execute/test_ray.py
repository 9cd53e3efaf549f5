"""Runs on a Ray cluster: three machines, played by three raylets on this one, of which one is lost; and Ctrl-C.

The contract that the executor shares with all others is in test_every_executor.py.
"""

import os
import signal
import threading
import time
import warnings

import psutil
import pytest
import torch
from ray.cluster_utils import Cluster
from tests.test_resume import covey, rounds_in

from covey.errors import BadValue
from covey.execute import ray as ray_executor
from covey.execute.backend import make_backend
from covey.execute.crew import WISHES, connect, disconnect
from covey.experiment import Experiment, life
from covey.store import Store

NODE = {"num_cpus": 1, "object_store_memory": 2**27}
RUN = {"data": "synthetic", "samples": 20, "batch": 5, "mode": "one-by-one"}
NET = """
from math import prod
from torch import nn

class Net(nn.Sequential):
    def __init__(self, shape, classes):
        super().__init__(nn.Flatten(), nn.Linear(prod(shape), 40), nn.Linear(40, classes))
"""


@pytest.fixture(scope="module")
def cluster():
    """Two machines with a processor each; runs are started on the first."""
    os.environ.update(WISHES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        made = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
        connect(made.address)
    add_node(made)
    yield made
    disconnect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        made.shutdown()


def add_node(cluster):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        added = cluster.add_node(**NODE)
        cluster.wait_for_nodes()
    return added


def power_off(node):
    """Every process of that machine ends at once, its workers too."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    processes = [raylet, *raylet.children(recursive=True)]
    for process in processes:
        process.kill()
    assert not psutil.wait_procs(processes, timeout=30)[1]


def run(settings, executor="local", callbacks=()):
    kept, summary, models = life.try_out(Experiment.make({**RUN, **settings, "executor": executor}), callbacks)
    return kept, summary, models[0]


def test_a_machine_lost_in_mid_run_changes_nothing(cluster):
    doomed = add_node(cluster)
    settings = {"algorithm": "scaffold", "clients": 3, "rounds": 4, "epochs": 200, "sample": 1.0}
    _, wanted, _ = run(settings)

    killing = threading.Timer(0.02, power_off, [doomed])

    def lose(report):
        if report.metrics["round"] == 2:
            killing.start()  # and round 3 begins
        elif report.metrics["round"] == 3:
            killing.join()  # at the latest, round 4 finds it dead

    kept, got, _ = run(settings, "ray:workers=3", [lose])
    cluster.remove_node(doomed, allow_graceful=False)
    # one client a worker: what they give is added up in the order of the local executor, to the bit
    assert got["model_sha256"] == wanted["model_sha256"]
    assert {event["kind"] for event in kept.events} == {"executor"}
    assert all("was lost and replaced" in event["text"] for event in kept.events)


def test_many_workers_average_their_means_and_carry_a_users_code(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_executor, "FAN_IN", 2)  # three workers then make a tree of two levels
    path = tmp_path / "mine.py"
    path.write_text(NET)
    settings = {"algorithm": "fedavg", "clients": 9, "sample": 1.0, "rounds": 2, "model": f"{path}:Net"}
    _, wanted, model = run(settings)
    made = []

    def close(self):
        made.append(self)
        self.crew.close()

    monkeypatch.setattr(ray_executor.RayExecutor, "close", close)
    kept, got, mine = run(settings, "ray:workers=3")
    torch.testing.assert_close(mine, model, rtol=1e-5, atol=1e-6)
    assert (got["trainings"], got["traffic_bytes"]) == (wanted["trainings"], wanted["traffic_bytes"])
    assert not kept.events
    size, machines, rounds = 4 * len(model), len(set(made[0].crew.nodes)), 2
    assert size > 100_000  # so that models do go through the object store
    # a round: the model to every machine, one of three means to another worker, two come back
    assert made[0].traffic == {"out": rounds * machines * size, "between": rounds * size, "back": 2 * rounds * size}


def test_ctrl_c_leaves_no_process_and_the_run_goes_on(cluster, tmp_path):
    settings = {"clients": 8, "samples": 20, "mode": "one-by-one"}
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    process = covey("run", "fedgsp", *words, "--rounds", 400, "--executor", "ray:workers=1", "--out", tmp_path)
    while process.poll() is None and rounds_in(tmp_path) < 2:
        time.sleep(0.02)
    begun = psutil.Process(process.pid).children(recursive=True)
    assert any("raylet" in child.name() for child in begun)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: Ray's processes hear it too
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "go on with: covey resume" in said
    assert not psutil.wait_procs(begun, timeout=10)[1]
    done = rounds_in(tmp_path)
    (run,) = [record.run for record in Store(tmp_path).runs()]
    resumed = life.resume(run, tmp_path, rounds=done + 2)[1]
    whole = Experiment.make(
        {"algorithm": "fedgsp", "clients": 8, "samples": 20, "mode": "one-by-one", "rounds": done + 2}
    )
    assert resumed["model_sha256"] == life.try_out(whole)[1]["model_sha256"]


@pytest.mark.parametrize(
    ("word", "address", "fault"),
    [
        ("ray:workers=0", None, "workers is 0; allowed is a whole number from 1 up"),
        (
            "ray:address=ray://there:10001",
            None,
            "address is 'ray://there:10001'; allowed is local, or auto",
        ),
        ("local", "auto", "address is 'auto'; allowed is none with executor local"),
        ("ray:wokers=2", None, "setting of ray is 'wokers'"),
    ],
)
def test_settings_that_cannot_be(word, address, fault):
    with pytest.raises(BadValue, match=fault):
        make_backend(word, address)


def test_another_cluster_than_the_one_this_process_is_in(cluster):
    with pytest.raises(BadValue, match=rf"address is '127.0.0.1:1'; allowed is {cluster.address}, the cluster that"):
        connect("127.0.0.1:1")
