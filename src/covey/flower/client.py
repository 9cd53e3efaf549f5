"""The device's side: a Flower ClientApp that trains, scores and counts on its own data, and takes part in secure sums.

What a device keeps between messages (what its local rule remembers, its part in a secure aggregation, its noised
counts) is in Flower's `context.state`, which never leaves it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import NDArray
from torch import Tensor, nn

from covey import seeds
from covey.errors import BadValue
from covey.execute import evaluate
from covey.execute.effects import Job
from covey.execute.layout import Layout
from covey.execute.local import Training, make_task
from covey.execute.trainers import Memory, OneByOne, Task
from covey.fleet import FleetData, checked_samples
from covey.flower import party
from covey.flower.records import (
    GRADIENT,
    JOIN,
    LOSSES,
    SHARE,
    UNMASK,
    Terms,
    read_config,
    read_job,
    read_vectors,
    vectors,
)
from covey.local import make_rule
from covey.models import build_model, check_fit
from covey.ragged import Ragged
from covey.registry import refuse_code

Node: TypeAlias = dict[str, Any]
"""A node's configuration, as its SuperNode was started with (`--node-config`)."""

Samples: TypeAlias = "tuple[Any, Any] | tuple[Any, Any, Any, Any]"
"""What a device trains on, x and y; and, where it has them apart, what it tests on."""


@dataclass(eq=False)
class Device:
    """What an app does on a device: `data(node)` gives its samples, `model()` the network, if no word names it."""

    data: Callable[[Node], Samples]
    model: Callable[[], nn.Module] | None
    classes: int
    test_fraction: float
    _held: tuple[int, Own] | None = field(default=None, repr=False)

    def own(self, context: Context) -> Own:
        """This node's samples; a process that acts for several nodes (simulation) holds one node's at a time."""
        if self._held is None or self._held[0] != context.node_id:
            given = self.data({**context.node_config})
            self._held = context.node_id, Own.of(given, self.classes, self.test_fraction)
        return self._held[1]

    def hello(self, message: Message, context: Context) -> Message:
        """Who this is, and how many samples of each class it has, with noise where that is asked for."""
        own, node = self.own(context), context.node_config
        epsilon = float(node.get("label-noise", context.run_config.get("label-noise", 0.0)))
        said: dict[str, Any] = {
            "name": str(node.get("name", node.get("partition-id", context.node_id)))[:100],
            "labels": _counts(own, self.classes, epsilon, context),
            "shape": list(own.x.shape[1:]),
            "dtype": str(own.x.dtype),
            "edge": int(node.get("edge", 0)),
        }
        return Message(RecordDict({"hello": ConfigRecord(said)}), reply_to=message)

    def train(self, message: Message, context: Context) -> Message:
        """Do one job."""
        job, terms, memory = read_job(message.content)
        own = self.own(context)
        task = self.task(own, job, terms)
        remembered = Memory(task.rule.remembers, task.layout.size)
        if memory is None:
            memory = read_vectors(context.state, "memory", task.layout.size)
        remembered.put(job.client, memory)
        (trained,) = OneByOne(task).train([job], remembered)
        if party.ROUND in message.content.config_records:
            update = (trained.model - job.model).numpy()
            return Message(party.masked(message.content, context.state, update), reply_to=message)
        records = RecordDict({"model": vectors({"0": trained.model})})
        if trained.memory and trained.finite:
            changes = {name: new - remembered.of(job.client)[name] for name, new in trained.memory.items()}
            records["changes"] = vectors(changes)
            # as the server adds it up, so that both have the same to the bit
            kept = {name: remembered.of(job.client)[name] + change for name, change in changes.items()}
            context.state["memory"] = vectors(kept)
        return Message(records, reply_to=message)

    def scores(self, message: Message, context: Context) -> Message:
        """Accuracy and loss with each model on this device's own test samples; nothing where it has none."""
        own = self.own(context)
        layout, models = self._asked(own, message)
        found: dict[str, list[float]] = {"accuracy": [], "loss": []}
        if len(own.test_y):
            x, y = torch.from_numpy(own.test_x), torch.from_numpy(own.test_y)
            for model in models:
                right, loss = evaluate.scores(layout, model, x, y)
                found["accuracy"].append(float(right.mean()))
                found["loss"].append(float(loss.mean()))
        return Message(RecordDict({"scores": ConfigRecord({**found})}), reply_to=message)

    def losses(self, message: Message, context: Context) -> Message:
        """The mean training loss with each model."""
        own = self.own(context)
        layout, models = self._asked(own, message)
        x, y = torch.from_numpy(own.x), torch.from_numpy(own.y)
        found = [float(evaluate.scores(layout, model, x, y)[1].mean()) for model in models]
        return Message(RecordDict({"losses": ConfigRecord({"losses": found})}), reply_to=message)

    def gradient(self, message: Message, context: Context) -> Message:
        """The full-data gradient at a model."""
        own = self.own(context)
        layout, (model,) = self._asked(own, message)
        x, y = torch.from_numpy(own.x), torch.from_numpy(own.y)
        found = evaluate.gradient(layout, model, x, y, torch.arange(len(y)))
        return Message(RecordDict({"gradient": vectors({"0": found})}), reply_to=message)

    def task(self, own: Own, job: Job, terms: Terms) -> Task:
        """What is to be done: the network, the rule, and this device's samples under the client's number."""
        settings = asdict(terms)
        rule = make_rule(_word(settings.pop("local"), "local"))
        settings["augment"] = _word(settings["augment"], "augment")
        module = self.module(own, settings.pop("model"), settings.pop("seed"))
        return make_task(module, own.as_client(job.client, self.classes), Training(**settings), rule)

    def module(self, own: Own, word: str, seed: int) -> nn.Module:
        """The network; its weights come with every message."""
        return make_module(self.model, word, own.x, self.classes, seed)

    def _asked(self, own: Own, message: Message) -> tuple[Layout, list[Tensor]]:
        terms = Terms(**read_config(message.content, "terms"))
        rule = make_rule(_word(terms.local, "local"))
        layout = Layout(rule.adapt(self.module(own, terms.model, terms.seed), torch.from_numpy(own.x[:1])))
        models = read_vectors(message.content, "models", layout.size)
        return layout, [models[str(number)] for number in range(len(models))]


@dataclass(frozen=True, eq=False)
class Own:
    """A device's own samples: what it trains on and what it tests on."""

    x: NDArray[Any]
    y: NDArray[np.int64]
    test_x: NDArray[Any]
    test_y: NDArray[np.int64]

    @classmethod
    def of(cls, given: Samples, classes: int, test_fraction: float) -> Own:
        """From what a user's function gave; without test samples apart, a share of all is kept for it."""
        if not isinstance(given, tuple | list) or len(given) not in (2, 4):
            raise BadValue("data", type(given).__name__, "a function that gives x and y, or x, y, test_x and test_y")
        x, y, *test = given
        if not test:
            x, y = np.asarray(x), np.asarray(y)
            order = np.random.default_rng(len(y)).permutation(len(y))  # the same split every time it is asked for
            kept = order[round(len(y) * test_fraction) :]
            aside = order[: round(len(y) * test_fraction)]
            x, y, test = x[np.sort(kept)], y[np.sort(kept)], [x[aside], y[aside]]
        test_x, test_y = test
        found = checked_samples(x, y, test_x, test_y, classes)
        if not len(found["y"]):
            raise BadValue("data", "no samples", "at least one sample to train on")
        return cls(*(found[name] for name in ("x", "y", "test_x", "test_y")))

    def as_client(self, number: int, classes: int) -> FleetData:
        """The samples as those of client `number` of a fleet in which nobody else has any."""
        sizes = np.zeros(number + 1, dtype=np.int64)
        sizes[number] = len(self.y)
        train = Ragged.cut(np.arange(len(self.y)), sizes)
        nobody = Ragged.cut(np.arange(0), np.zeros(number + 1, dtype=np.int64))
        return FleetData("own", self.x, self.y, self.x[:0], self.y[:0], train, nobody, classes)


def client_app(device: Device) -> ClientApp:
    """The Flower app of a device."""
    app = ClientApp()
    app.query()(device.hello)
    app.train()(device.train)
    app.evaluate()(device.scores)
    app.evaluate(LOSSES.partition(".")[2])(device.losses)
    app.train(GRADIENT.partition(".")[2])(device.gradient)
    for kind, answer in ((JOIN, party.join), (SHARE, party.share), (UNMASK, party.unmask)):
        app.train(kind.partition(".")[2])(answer)
    return app


def make_module(
    model: Callable[[], nn.Module] | None, word: str, x: NDArray[Any], classes: int, seed: int
) -> nn.Module:
    """The network of an app: its own function's, else the one a word names; drawn by the seed either way."""
    shape, dtype = x.shape[1:], torch.from_numpy(x[:1]).dtype
    if model is None:
        return build_model(_word(word, "model"), shape, classes, seed, dtype=dtype)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(seeds.key(seed, 0, "model")))
        module = model()
    check_fit(module, type(module).__name__, shape, classes, dtype=dtype)
    return module


def _word(word: str, field: str) -> str:
    """A word that came with a message: it may name a part, never code."""
    refuse_code({field: word}, "the server")
    return word


def _counts(own: Own, classes: int, epsilon: float, context: Context) -> list[int]:
    """The label counts; noise is drawn once a run, since the mean of many draws would show what it hides."""
    counts = np.bincount(own.y, minlength=classes)
    if not epsilon:
        return [int(count) for count in counts]
    if "counts" not in context.state.config_records:
        from covey.grouping.privacy import noised  # here, as most devices start anew for every message

        rng = np.random.default_rng(secrets.randbits(128))
        drawn = noised([counts], epsilon=epsilon, rng=rng)[0].tolist()
        context.state["counts"] = ConfigRecord({"labels": drawn})
    return list(context.state.config_records["counts"]["labels"])  # type: ignore[arg-type]
