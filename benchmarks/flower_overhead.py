"""What a message costs: covey's Flower executor beside Flower's own FedAvg strategy, on the same SuperNodes.

python -m benchmarks.flower_overhead [--json] [--nodes 2] [--rounds 5] [--warm]

Both train the same small network for the same steps, all nodes in every round, and evaluate nowhere; a round is one
message to each node, there and back. The strategies take turns on one federation, so that both meet the same load.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from benchmarks.flower_faults import rounds_of, until
from covey.flower.federation import Federation, ended_by_signals
from covey.flower.scaffold import write_app
from covey.store import Store

SAMPLES, BATCH, FEATURES, WIDTH = 60, 10, 500, 400  # 500 x 400 weights: 0.8 MB a model
BOUND = 600.0

COVEY = f"""\
import numpy as np
import torch

from covey.flower import App


def data(node):
    rng = np.random.default_rng(int(node["partition-id"]))
    return rng.normal(size=({SAMPLES}, {FEATURES})).astype(np.float32), rng.integers(0, 2, {SAMPLES})


def model():
    return torch.nn.Sequential(torch.nn.Linear({FEATURES}, {WIDTH}), torch.nn.ReLU(), torch.nn.Linear({WIDTH}, 2))


app = App(data=data, model=model, classes=2, test_fraction=0.0)
server = app.server
client = app.client
"""

FLOWER = f'''\
import json
import time
from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg


def network():
    return torch.nn.Sequential(torch.nn.Linear({FEATURES}, {WIDTH}), torch.nn.ReLU(), torch.nn.Linear({WIDTH}, 2))


server, client = ServerApp(), ClientApp()


class Timed(FedAvg):
    """FedAvg that notes when a round was sent out and when it was merged."""

    times = []

    def configure_train(self, *given):
        self.begun = time.perf_counter()
        return super().configure_train(*given)

    def aggregate_train(self, *given):
        merged = super().aggregate_train(*given)
        self.times.append(time.perf_counter() - self.begun)
        return merged


@server.main()
def main(grid, context):
    config = context.run_config
    nodes = int(config["nodes"])
    while len(list(grid.get_node_ids())) < nodes:
        time.sleep(0.1)
    strategy = Timed(fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes)
    strategy.start(grid, ArrayRecord(network().state_dict()), num_rounds=int(config["rounds"]))
    Path(config["out"]).with_name("flower.json").write_text(json.dumps(strategy.times))


@client.train()
def train(message, context):
    module = network()
    module.load_state_dict(message.content["arrays"].to_torch_state_dict())
    rng = np.random.default_rng(int(context.node_config["partition-id"]))
    x = torch.from_numpy(rng.normal(size=({SAMPLES}, {FEATURES})).astype(np.float32))
    y = torch.from_numpy(rng.integers(0, 2, {SAMPLES}))
    step = torch.optim.SGD(module.parameters(), lr=0.1)
    for first in range(0, {SAMPLES}, {BATCH}):
        step.zero_grad()
        torch.nn.functional.cross_entropy(module(x[first : first + {BATCH}]), y[first : first + {BATCH}]).backward()
        step.step()
    told = {{"arrays": ArrayRecord(module.state_dict()), "metrics": MetricRecord({{"num-examples": {SAMPLES}}})}}
    return Message(RecordDict(told), reply_to=message)
'''.replace("server, client = ServerApp(), ClientApp()", "server = ServerApp()\nclient = ClientApp()")


def measure(nodes, rounds, warm):
    """Seconds of every round, by who ran it."""
    with tempfile.TemporaryDirectory(prefix="covey-overhead-") as name, ended_by_signals():
        folder = Path(name)
        config = {"algorithm": "fedavg", "nodes": nodes, "rounds": rounds, "batch": BATCH, "out": str(folder / "runs")}
        config |= {"run": "overhead", "wait": BOUND}
        write_app(folder / "ours", config, COVEY)
        write_app(folder / "theirs", config, FLOWER)
        devices = [{"partition-id": number} for number in range(nodes)]
        with Federation(folder, devices, secure=False, warm=warm) as federation:
            for app in ("ours", "theirs"):
                process = federation.run(folder / app, {})
                until(lambda process=process: process.poll() is not None, f"the run of {app}", BOUND)
            if rounds_of(folder, "overhead") != rounds or not (folder / "flower.json").exists():
                raise SystemExit(federation.log("run")[-3000:])
            with Store(folder / "runs") as store:
                ends = [row["wall_seconds"] for row in store.rounds("overhead")]
        ours = [end - begin for begin, end in zip([0.0, *ends], ends, strict=False)]
        return {"covey": ours, "flower": json.loads((folder / "flower.json").read_text())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", action="store_true", help="fork apps from a process that has torch")
    asked = parser.parse_args()
    found = measure(asked.nodes, asked.rounds, asked.warm)
    result = {who: statistics.median(times) for who, times in found.items()}
    if asked.json:
        print(json.dumps({**vars(asked), "rounds_seconds": found, "median": result}))
        return
    print(
        f"seconds of a round, one message of 0.8 MB to each of {asked.nodes} nodes and back, median of {asked.rounds}"
    )
    for who, label in (("covey", "covey's Flower executor"), ("flower", "Flower's FedAvg strategy")):
        print(f"{label:26} {result[who]:6.2f}")


if __name__ == "__main__":
    main()
