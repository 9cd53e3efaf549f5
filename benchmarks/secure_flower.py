"""One secure sum by Flower's own SecAgg+, timed; runs in an environment of its own, see `benchmarks.secure`.

The server is Flower's `SecAggPlusWorkflow`, every client Flower's `secaggplus_mod`; what lies between them here is a
grid that hands messages over in this process. Reads `{"clients": n, "values": m, "repeats": r}`, prints seconds.
"""

import copy
import json
import logging
import sys
import time

import numpy as np
from flwr.client.mod import secaggplus_mod
from flwr.common import (
    Code,
    ConfigRecord,
    Context,
    FitIns,
    FitRes,
    Message,
    RecordDict,
    Status,
    ndarrays_to_parameters,
    parameters_to_ndarrays,
)
from flwr.compat.common import recorddict_compat as compat
from flwr.server import LegacyContext
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key
from flwr.supercore.task_identity import TaskIdentity

logging.getLogger("flwr").setLevel(logging.ERROR)


class Proxy:
    def __init__(self, node_id):
        self.node_id = node_id


class Everybody:
    """A strategy that asks all clients and keeps what the secure sum comes to."""

    def __init__(self, clients):
        self.clients = clients
        self.found = None

    def configure_fit(self, server_round, parameters, client_manager):
        return [(Proxy(node), FitIns(parameters, {})) for node in self.clients]

    def aggregate_fit(self, server_round, results, failures):
        self.found = parameters_to_ndarrays(results[0][1].parameters)
        return results[0][1].parameters, {}


class Grid:
    """Hands messages to the clients one by one and times each of them, without what training would take."""

    def __init__(self, updates):
        self.updates = updates
        self.contexts = {
            u: Context(run_id=1, node_id=u, node_config={}, state=RecordDict(), run_config={}) for u in updates
        }
        self.seconds = dict.fromkeys(updates, 0.0)
        self.copying = 0.0
        self.trained = 0.0

    def send_and_receive(self, messages, *, timeout=None):
        replies = []
        for message in messages:
            begun = time.process_time()
            message = copy.deepcopy(message)  # what goes over a wire is nobody else's
            self.copying += time.process_time() - begun
            node = message.metadata.dst_node_id
            trained = 0.0

            def train(message, context, node=node):
                nonlocal trained
                begun = time.process_time()
                parameters = ndarrays_to_parameters([self.updates[node]])
                result = FitRes(Status(Code.OK, ""), parameters, num_examples=1, metrics={})
                reply = Message(compat.fitres_to_recorddict(result, keep_input=False), reply_to=message)
                trained = time.process_time() - begun
                self.trained += trained
                return reply

            begun = time.process_time()
            replies.append(secaggplus_mod(message, self.contexts[node], train))
            self.seconds[node] += time.process_time() - begun - trained
        return replies


def secure_sum(clients, values):
    rng = np.random.default_rng(0)
    updates = {u: rng.normal(size=values).astype(np.float32) for u in range(1, clients + 1)}
    strategy, grid = Everybody(list(updates)), Grid(updates)
    context = LegacyContext(Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={}))
    context.strategy = strategy
    context.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: 1})
    parameters = ndarrays_to_parameters([np.zeros(values, dtype=np.float32)])
    context.state.array_records[MAIN_PARAMS_RECORD] = compat.parameters_to_arrayrecord(parameters, True)
    begun = time.process_time()
    SecAggPlusWorkflow(num_shares=1.0, reconstruction_threshold=2 / 3, max_weight=1.0)(grid, context)
    total = time.process_time() - begun
    error = float(np.abs(strategy.found[0] - np.mean(list(updates.values()), axis=0)).max())
    each = list(grid.seconds.values())
    return {"client": float(np.mean(each)), "server": total - sum(each) - grid.copying - grid.trained, "error": error}


TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 0
asked = json.loads(sys.stdin.read())
rounds = [secure_sum(asked["clients"], asked["values"]) for _ in range(asked["repeats"])]
print(json.dumps({name: min(found[name] for found in rounds) for name in rounds[0]}))
