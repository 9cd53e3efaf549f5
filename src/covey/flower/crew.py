"""Who takes part: clients by number and name, and which node each of them is now.

A client is known by its name (`name` or `partition-id` of its node's configuration, else the node's id), so that one
whose node was started again goes on where it was. Nodes come and go; who is lost, and when, is kept as a sentence.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from flwr.app import RecordDict

from covey.errors import BadData
from covey.execute.effects import Failure
from covey.flower.post import Post, Reply
from covey.flower.records import HELLO, BadRecord, read_config

LOOK = 2.0  # seconds between looks at who is connected


@dataclass(frozen=True)
class Hello:
    """What a device says of itself: its name, how many samples of each class it trains on, what a sample looks like."""

    name: str
    labels: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    edge: int

    @classmethod
    def read(cls, records: RecordDict) -> Hello:
        """From a device's answer, which may hold anything."""
        found = read_config(records, "hello")
        try:
            labels = tuple(int(count) for count in found["labels"])
            shape = tuple(int(size) for size in found["shape"])
            hello = cls(str(found["name"]), labels, shape, str(found["dtype"]), int(found["edge"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadRecord(f"it does not say of itself what it should ({error!r})") from None
        if not labels or min(labels) < 0 or min(hello.shape, default=1) < 1 or hello.edge < 0:
            raise BadRecord("its counts, shape or edge are below what they can be")
        if hello.dtype not in ("float32", "int64"):
            raise BadRecord(f"its samples are {hello.dtype}; allowed are float32 and int64")
        return hello


class Crew:
    """The clients of a run. `names` are fixed once the run has begun; before, whoever comes is added."""

    def __init__(self, post: Post) -> None:
        self.post = post
        self.names: list[str] = []
        self.hellos: dict[str, Hello] = {}
        self.round = 0
        self.begun = False
        self._node_of: dict[str, int] = {}
        self._asked: set[int] = set()
        self._looked = 0.0
        self._news: list[str] = []

    def node(self, client: int) -> int | None:
        """The node of that client, where it is connected."""
        self.look()
        return self._node_of.get(self.names[client])

    def wait(self, nodes: int, seconds: float, names: Collection[str] = ()) -> None:
        """Until so many devices have said hello, those of `names` among them, or the time is over."""

        def there() -> bool:
            return len(self._node_of) >= nodes and all(name in self._node_of for name in names)

        end = time.monotonic() + seconds
        while not there() and time.monotonic() < end:
            self.look()
            self.post.work(there, timeout=min(LOOK, max(0.0, end - time.monotonic())))

    def begin(self, names: Sequence[str] | None = None) -> None:
        """From now on these are the clients, in this order; all who have come, unless given."""
        self.names = list(names) if names is not None else sorted(self._node_of, key=_order)
        self.begun = True

    def look(self) -> None:
        """See who is connected, at most every few seconds; who is new is asked who it is."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        there = set(self.post.grid.get_node_ids())
        for name, node in list(self._node_of.items()):
            if node not in there:
                del self._node_of[name]
                self._asked.discard(node)
                self.tell(f"{name} has left")
        self._asked &= there
        for node in there - self._asked:
            self._asked.add(node)
            self.post.send(node, HELLO, RecordDict(), partial(self._met, node))

    def lost(self, client: int, reason: str) -> None:
        """A training came to nothing."""
        self._news.append(str(Loss(client, self.names[client], reason)))

    def tell(self, text: str) -> None:
        """Something that the run's log should hold."""
        self._news.append(text)

    def news(self) -> list[str]:
        """What has happened since it was last asked."""
        news, self._news = self._news, []
        return news

    def _met(self, node: int, reply: Reply) -> None:
        try:
            hello = Hello.read(reply) if isinstance(reply, RecordDict) else None
        except BadRecord as error:
            reply, hello = Failure(str(error)), None
        if hello is None:
            self._asked.discard(node)  # it is asked again at the next look
            if isinstance(reply, Failure):
                self.tell(f"node {node} did not say who it is: {reply.reason}")
            return
        name = hello.name
        other = self._node_of.get(name)
        if other is not None and other in set(self.post.grid.get_node_ids()) and other not in self.post.silent:
            self.tell(f"node {node} calls itself {name}, which is the name of node {other}; it takes no part")
            return
        if self.begun and name not in self.names:
            self.tell(f"{name} has come while the run was under way; it can take part in the next run")
            return
        self.hellos[name] = hello
        self._node_of[name] = node
        if self.begun:
            self.tell(f"{name} is back")


@dataclass(frozen=True)
class Loss:
    """Who was lost and why, as the run's log says it."""

    client: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"client {self.client} ({self.name}) was lost: {self.reason}"

    @classmethod
    def read(cls, text: str) -> Loss | None:
        """The loss that a sentence of the log tells of.

        >>> Loss.read("client 3 (left shelf) was lost: no answer within 5 s")
        Loss(client=3, name='left shelf', reason='no answer within 5 s')
        """
        head, found, reason = text.partition(") was lost: ")
        number, opened, name = head.removeprefix("client ").partition(" (")
        if not (found and opened and number.isdigit() and head.startswith("client ")):
            return None
        return cls(int(number), name, reason)


def labels_of(hellos: Sequence[Hello]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The label counts of these devices, which must be alike in what a sample is and how many classes there are."""
    first = hellos[0]
    for hello in hellos:
        if (hello.shape, hello.dtype, len(hello.labels)) != (first.shape, first.dtype, len(first.labels)):
            raise BadData(
                f"{hello.name} has samples of shape {hello.shape} ({hello.dtype}, {len(hello.labels)} classes); "
                f"{first.name} has {first.shape} ({first.dtype}, {len(first.labels)} classes)"
            )
    return np.array([hello.labels for hello in hellos], dtype=np.int64)


def _order(name: str) -> tuple[int, int, str]:
    """Numbers by their size, then texts."""
    return (0, int(name), name) if name.isdigit() else (1, 0, name)
