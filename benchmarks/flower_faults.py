"""Faults on real processes: what a run on Flower does when nodes, the SuperLink or the ServerApp fail.

python -m benchmarks.flower_faults [--json]

Starts a SuperLink and seven SuperNodes on this machine and breaks them, one after another; prints the table of
docs/reliability.md. Takes some minutes: a SuperLink that is started again is waited for.
"""

import argparse
import contextlib
import json
import os
import signal
import tempfile
import time
from pathlib import Path

import psutil

from covey.flower.federation import Federation, ended_by_signals
from covey.flower.scaffold import write_app
from covey.store import Store

DEADLINE = 20.0
HOURS = 600.0  # seconds after which whatever is waited for has not come

APP = '''\
"""Devices that fail on purpose, as their node's configuration says (`fault`)."""

import time

import numpy as np
from flwr.app import ArrayRecord
from flwr.clientapp import ClientApp

from covey.flower import App


def samples(number, count=60):
    """Two classes that a line parts."""
    rng = np.random.default_rng(number)
    x = rng.normal(size=(count, 5)).astype(np.float32)
    return x, (x.sum(axis=1) > 0).astype(np.int64)


def data(node):
    x, y = samples(int(node["partition-id"]))
    return (x * np.float32("nan"), y) if node.get("fault") == "nan" else (x, y)


app = App(data=data, classes=2, test=lambda: samples(99, 500), test_fraction=0.0)
server = app.server
honest = app.client


class Failing(ClientApp):
    def __call__(self, message, context):
        fault, kind = context.node_config.get("fault", ""), message.metadata.message_type
        if kind == "train" and fault == "raise":
            raise OSError("the disk is gone")
        if kind == "train" and fault == "slow":
            time.sleep(float(context.node_config["seconds"]))
        reply = honest(message, context)
        if kind == "train" and fault == "shape":
            reply.content["model"] = ArrayRecord([np.zeros(3, dtype=np.float32)])
        return reply


client = Failing()
'''
FAULTS = ["", "", "raise", "nan", "shape", "slow", "slow"]  # of the nodes; the last two are killed and frozen


def nodes(faults=FAULTS):
    """The configurations of the nodes; slow ones train for longer than the deadline, so that there is time to act."""
    return [
        {"partition-id": number, **({"fault": fault} if fault else {}), **({"seconds": 60} if fault == "slow" else {})}
        for number, fault in enumerate(faults)
    ]


def write(folder, **config):
    """The app in a folder, with a store beside it."""
    given = {"algorithm": "fedavg", "rounds": 2, "deadline": DEADLINE, "wait": 120.0, "out": str(folder / "runs")}
    write_app(folder / "app", {**given, **config}, APP)


def until(done, what, seconds=HOURS):
    """Wait for something that has to come."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := done():
            return found
        time.sleep(0.1)
    raise TimeoutError(f"waited {seconds:g} s for {what}")


def rounds_of(folder, run):
    """How many rounds of a run are stored."""
    with Store(folder / "runs") as store:
        return len(store.rounds(run)) if any(record.run == run for record in store.runs()) else 0


def outcome(folder, run):
    """The summary of a run that is over, and what its log says."""
    with Store(folder / "runs") as store:
        record = store.get(run)
        return record.summary | {"status": record.status}, [(e["round"], e["text"]) for e in store.events(run)]


def train_messages(federation, number):
    """How many trainings a node has been given."""
    return federation.log(f"supernode-{number}").count("Receiving: train")


def kill_server_app(federation):
    """SIGKILL to the ServerApp that the SuperLink has started."""
    found = psutil.Process(federation.link.pid).children(recursive=True)
    apps = [child for child in found if any("flwr-serverapp" in word for word in child.cmdline())]
    for app in apps:
        app.kill()
    return bool(apps)


def finish(federation, process, what):
    """Wait for the end of a run."""
    until(lambda: process.poll() is not None, what)


def faults_of_nodes(federation, folder):
    """One run of two rounds in which five of seven nodes fail, each in its own way."""
    process = federation.run(folder / "app", {"run": "faults", "nodes": len(FAULTS)})
    for number, number_of_signal in ((5, signal.SIGKILL), (6, signal.SIGSTOP)):
        until(lambda number=number: train_messages(federation, number), f"node {number} to train")
        os.killpg(federation.nodes[number].pid, number_of_signal)
    finish(federation, process, "the run with faults")
    summary, log = outcome(folder, "faults")
    names = ("raises", "sends NaN", "sends another shape", "killed (SIGKILL) while training", "frozen (SIGSTOP)")
    for number, name in enumerate(names, start=2):
        said = [text for at, text in log if at == 1 and text.startswith(f"client {number} ")]
        yield f"a node {name}", f"{summary['status']}, {summary['rounds']} rounds", "; ".join(said)


def joining(federation, folder):
    """A node that was lost comes back under its name while a run is under way."""
    federation.add_node({"partition-id": 5}, 5)
    os.killpg(federation.nodes[6].pid, signal.SIGCONT)
    process = federation.run(folder / "app", {"run": "late", "nodes": len(FAULTS) - 1, "rounds": 3})
    until(lambda: rounds_of(folder, "late"), "a round")
    os.killpg(federation.nodes[0].pid, signal.SIGKILL)
    federation.add_node({"partition-id": 0}, 0)
    finish(federation, process, "the run that a node joins")
    summary, log = outcome(folder, "late")
    said = [text for _, text in log if text.startswith(("0 ", "client 0 "))]
    yield "a node leaves and joins late", f"{summary['status']}, {summary['rounds']} rounds", "; ".join(said)


def server_app_killed(federation, folder):
    """The ServerApp is killed in mid-run and the run resumed."""
    federation.run(folder / "app", {"run": "cut", "nodes": len(FAULTS) - 1, "rounds": 3})
    until(lambda: rounds_of(folder, "cut"), "a round")
    kill_server_app(federation)
    before = rounds_of(folder, "cut")
    finish(federation, federation.run(folder / "app", {"run": "cut", "resume": True}), "the resumed run")
    summary, log = outcome(folder, "cut")
    said = [text for _, text in log if text.startswith("after round")]
    yield f"ServerApp killed after round {before}, resumed", f"{summary['status']}, {summary['rounds']} rounds", said[0]


def link_killed(federation, folder):
    """The SuperLink is killed and started again; the run is then resumed."""
    federation.run(folder / "app", {"run": "link", "nodes": len(FAULTS) - 1, "rounds": 3})
    until(lambda: rounds_of(folder, "link"), "a round")
    os.killpg(federation.link.pid, signal.SIGKILL)
    federation.link.wait()
    before = rounds_of(folder, "link")
    federation.start_link()
    finish(federation, federation.run(folder / "app", {"run": "link", "resume": True}), "the resumed run")
    summary, log = outcome(folder, "link")
    said = [text for _, text in log if text.startswith("after round")]
    yield (
        f"SuperLink killed after round {before}, run resumed",
        f"{summary['status']}, {summary['rounds']} rounds",
        said[0],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    asked = parser.parse_args()
    rows = []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="covey-faults-")))
        write(folder)
        stack.enter_context(ended_by_signals())
        federation = stack.enter_context(Federation(folder, nodes(), secure=False, warm=True, keep=True))
        for part in (faults_of_nodes, joining, server_app_killed, link_killed):
            for row in part(federation, folder):
                rows.append(row)
                if not asked.json:
                    print("| " + " | ".join(row) + " |", flush=True)
    if asked.json:
        print(json.dumps([dict(zip(("fault", "outcome", "log"), row, strict=True)) for row in rows]))


if __name__ == "__main__":
    main()
