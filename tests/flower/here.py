"""Devices in this process: Flower's own messages and ClientApps, handed over as bytes, without processes between them.

For tests that look at what is said; `test_federation.py` has real SuperNodes.
"""

import itertools
import threading
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as Bytes
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from covey.execute.backend import Backend
from covey.fleet import Fleet
from covey.flower.client import Device, client_app
from covey.flower.crew import Crew
from covey.flower.executor import Devices
from covey.flower.post import Post
from covey.flower.records import Terms
from covey.flower.secure import Sessions
from covey.words import spelled

TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1  # whose messages these are


def as_bytes(records):
    return recorddict_to_proto(records).SerializeToString()


def from_bytes(data):
    return recorddict_from_proto(Bytes.FromString(data))


class Here(Grid):
    """A grid of nodes in this process, answered when they are pulled; `said` keeps everything that was."""

    def __init__(self, app, nodes, run_config=None):
        self.app = app
        self.contexts = {
            number: Context(1, number, config, RecordDict(), run_config or {}) for number, config in nodes.items()
        }
        self.waiting, self.said, self.names = {}, [], itertools.count(1)
        self.lock = threading.Lock()
        self.silent, self.broken, self.tamper = set(), {}, {}

    run: Any = None

    def set_run(self, run):
        raise NotImplementedError

    def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
        raise NotImplementedError

    def send_and_receive(self, messages, *, timeout=None):
        raise NotImplementedError

    def get_node_ids(self):
        return list(self.contexts)

    def push_messages(self, messages):
        names = []
        for message in messages:
            node = message.metadata.dst_node_id
            name = str(next(self.names)) if node in self.contexts else ""
            if name:
                data = as_bytes(message.content)
                self.waiting[name] = node, message.metadata.message_type, data
                self.said.append((node, message.metadata.message_type, "to", data))
            names.append(name)
        return names

    def pull_messages(self, message_ids):
        found = []
        for name in message_ids:
            with self.lock:
                node, kind, data = self.waiting.get(name, (None, "", b""))
                if node is None or (node in self.silent and kind != "query"):
                    continue
                del self.waiting[name]
                found.append(self.answer(name, node, kind, data))
        return found

    def answer(self, name, node, kind, data):
        message = Message(from_bytes(data), node, kind, ttl=60)
        message.metadata.__dict__.update(_message_id=name, _run_id=1)
        if (node, kind) in self.broken:
            return Message(Error(2, self.broken[node, kind]), reply_to=message)
        try:
            reply = self.app(message, self.contexts[node])
        except Exception as error:
            return Message(Error(2, f"{type(error).__name__}: {error}"), reply_to=message)
        told = as_bytes(reply.content)
        self.said.append((node, kind, "from", told))
        content = from_bytes(told)
        if node in self.tamper:
            content = self.tamper[node](kind, content)
        return Message(content, reply_to=message)


def own_samples(data):
    """What a device of that number has of a fleet's data."""

    def samples(node):
        number = int(node["partition-id"])
        train, test = data.train_of[number], data.test_of[number]
        return data.x[train], data.y[train], data.x[test], data.y[test]

    return samples


def met(grid, deadline=60.0):
    """A post and a crew that has met all nodes."""
    post = Post(grid, deadline)
    crew = Crew(post)
    crew.wait(len(grid.contexts), 30)
    crew.begin()
    return post, crew


@dataclass(frozen=True)
class InProcess(Backend):
    """The Flower executor with every client of a fleet as a node in this process."""

    grids: list = field(default_factory=list)

    def _devices(self, work):
        data, task = work.data, work.task
        labels = data.train_of.tally(data.y, data.classes)
        device = Device(own_samples(data), lambda: task.layout.module, data.classes, 0.2)
        grid = Here(client_app(device), {100 + i: {"partition-id": i} for i in range(len(labels))})
        self.grids.append(grid)
        post, crew = met(grid)
        optimiser = {"sgd": "Sgd", "adam": "Adam"}
        kind = next(name for name, cls in optimiser.items() if cls == type(task.optimiser).__name__)
        momentum, decay = getattr(task.optimiser, "momentum", 0.0), task.optimiser.weight_decay
        rule = {"Rule": "sgd", "FedProx": "fedprox:0.5", "Scaffold": "scaffold"}[type(task.rule).__name__]
        views = "+".join(spelled(type(part).__name__.lower(), part) for part in task.augmentations) or "none"
        terms = Terms("given", rule, task.deck.batch, momentum, decay, kind, views, work.seed)
        return Devices(post, crew, terms, Fleet(labels), True, Sessions(post, crew))

    def executor(self, work):
        return self._devices(work).executor(work)
