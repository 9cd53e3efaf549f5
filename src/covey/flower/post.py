"""Messages to nodes and their replies, over Flower's Grid: pushed one by one, pulled every tenth of a second.

A node is sent one message at a time, as it does one at a time. One that misses its deadline is given up, and sent
nothing more until it is heard of again; its late reply is waited for, and thrown away. Replies are pulled on a few
threads, so that a node that dies while it uploads a large model holds up few others.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from covey.execute.effects import Failure

POLL = 0.1  # seconds between pulls
LANES = 8  # pulls at the same time
LATE = 3600.0  # seconds after its deadline in which a reply is still of use: it says that the node is alive

RAISED = re.compile(r"<class '(?:\w+\.)*(\w+)'>:<['\"](.*)['\"]>")  # how Flower tells of an exception

Reply: TypeAlias = RecordDict | Failure
Then: TypeAlias = Callable[[Reply], None]


@dataclass(frozen=True, eq=False)
class Letter:
    """A message under way."""

    node: int
    kind: str
    records: RecordDict
    then: Then
    deadline: float


class Post:
    """Sends letters and hands their replies to whoever waits; `deadline` is how many seconds a node has for one."""

    def __init__(self, grid: Grid, deadline: float) -> None:
        self.grid, self.deadline = grid, deadline
        self.silent: set[int] = set()  # nodes that have missed a deadline and not been heard since
        self._queues: dict[int, deque[Letter]] = defaultdict(deque)
        self._open: dict[str, Letter] = {}  # by the message's id
        self._due: dict[str, float] = {}  # of those not given up yet
        self._lanes = ThreadPoolExecutor(LANES, "pull")
        self._pulls: dict[Future[list[Message]], list[str]] = {}

    def send(self, node: int, kind: str, records: RecordDict, then: Then, deadline: float | None = None) -> None:
        """Send a message as soon as the node has answered what it was sent before; `then` is called with the reply."""
        letter = Letter(node, kind, records, then, self.deadline if deadline is None else deadline)
        self._queues[node].append(letter)
        self._next(node)

    def work(self, done: Callable[[], bool], timeout: float | None = None) -> None:
        """Push, pull and hand out replies until `done`, or for so many seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while not done():
            self._hand_out()
            self._give_up()
            if done() or (end is not None and time.monotonic() >= end):
                return
            self._pull()
            time.sleep(POLL)

    def close(self) -> None:
        """Pull no more; a pull that hangs is left behind."""
        self._lanes.shutdown(wait=False, cancel_futures=True)

    def _next(self, node: int) -> None:
        queue = self._queues[node]
        if node in self.silent:
            while queue:
                queue.popleft().then(Failure("it still has not answered what it was sent before"))
        if not queue or any(letter.node == node for letter in self._open.values()):
            return
        letter = queue.popleft()
        message = Message(letter.records, node, letter.kind, ttl=letter.deadline + LATE)
        (*ids,) = self.grid.push_messages([message])
        if not ids or not ids[0]:
            letter.then(Failure("it is not connected"))
            self._next(node)
            return
        self._open[ids[0]] = letter
        self._due[ids[0]] = time.monotonic() + letter.deadline

    def _pull(self) -> None:
        """Ask for what is not being asked for; each lane asks for its share, so that a stall is a share's."""
        asked = {name for names in self._pulls.values() for name in names}
        idle = [name for name in self._open if name not in asked]
        size = -(-len(idle) // LANES)
        for first in range(0, len(idle), size or 1):
            names = idle[first : first + size]
            self._pulls[self._lanes.submit(_pulled, self.grid, names)] = names

    def _hand_out(self) -> None:
        for pull in [pull for pull in self._pulls if pull.done()]:
            del self._pulls[pull]
            for message in pull.result():
                self._take(message.metadata.reply_to_message_id, message)

    def _take(self, name: str, message: Message) -> None:
        letter = self._open.pop(name, None)
        if letter is None:
            return
        in_time = self._due.pop(name, None) is not None
        self.silent.discard(letter.node)
        if in_time:
            letter.then(_reply(message))
        self._next(letter.node)

    def _give_up(self) -> None:
        now = time.monotonic()
        for name in [name for name, due in self._due.items() if due <= now]:
            del self._due[name]
            letter = self._open[name]
            self.silent.add(letter.node)
            letter.then(Failure(f"no answer within {letter.deadline:g} s"))
            self._next(letter.node)


def _pulled(grid: Grid, names: Iterable[str]) -> list[Message]:
    return list(grid.pull_messages(names))


def _reply(message: Message) -> Reply:
    """What a reply holds, or what went wrong at the node, in one line."""
    if not message.has_error():
        return message.content
    reason = (message.error.reason or "").strip().splitlines()
    said = next((line for line in reversed(reason) if line.strip()), f"error {message.error.code}")
    raised = RAISED.fullmatch(said.strip())
    said = f"{raised[1]}: {raised[2]}" if raised else said.strip()
    return Failure(f"its node said: {said[:200]}")
