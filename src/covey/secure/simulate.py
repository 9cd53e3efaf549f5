"""A whole session in one process: the merge, the tests and the measurements run this; messages go as bytes."""

from __future__ import annotations

import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey.errors import BadValue
from covey.secure.client import Client
from covey.secure.messages import Refused
from covey.secure.server import Server, Sum, Terms
from covey.secure.shamir import Entropy

STAGES = ("keys", "shares", "masked", "unmask")
SERVER_NAME = "server"


class Session:
    """A server and its clients: `open`, then `add` what each client has, then `close`.

    `lost` says before which stage a client is lost: "keys", "shares", "masked" or "unmask". `seconds` and `bytes` count
    what each client, and the server, computed (processor time), sent and received. With `simulation_rng`, a seeded
    generator, all secrets come from it: the session repeats to the bit and protects nobody.
    """

    def __init__(
        self,
        terms: Terms,
        *,
        lost: Mapping[int, str] | None = None,
        simulation_rng: np.random.Generator | None = None,
    ) -> None:
        self.lost = dict(lost or {})
        for stage in self.lost.values():
            if stage not in STAGES:
                raise BadValue("lost", stage, f"one of {', '.join(STAGES)}")
        parties = 1 + len(terms.clients)
        entropy: list[Entropy] = [secrets.token_bytes] * parties
        if simulation_rng is not None:
            entropy = [rng.bytes for rng in simulation_rng.spawn(parties)]
        self.server = Server(terms, entropy=entropy[0])
        self.clients = {u: Client(u, entropy=own) for u, own in zip(terms.clients, entropy[1:], strict=True)}
        self.seconds: dict[int | str, float] = defaultdict(float)
        self.bytes: Counter[int | str] = Counter()
        self._lists: dict[int, bytes] = {}

    def open(self) -> None:
        """Rounds 1 and 2: keys and shares, for which nobody needs to have trained."""
        keys = self._timed(SERVER_NAME, self.server.invite)
        self._exchange("keys", keys, Client.join)
        self._exchange("shares", self._timed(SERVER_NAME, self.server.close_keys), Client.share)
        self._lists = self._timed(SERVER_NAME, self.server.close_shares)

    def add(self, client: int, values: ArrayLike, weight: float = 1.0) -> None:
        """Round 3 of one client: its values, masked."""
        if client in self._lists and self._present(client, "masked"):
            self._ask(client, self._lists[client], lambda who, data: who.mask(data, values, weight))

    def close(self) -> Sum:
        """Round 4: the sum."""
        self._exchange("unmask", self._timed(SERVER_NAME, self.server.close_masked), Client.unmask)
        total: Sum = self._timed(SERVER_NAME, self.server.result)
        return total

    def _exchange(self, stage: str, messages: Mapping[int, bytes], answer: Callable[[Client, bytes], bytes]) -> None:
        for client, message in messages.items():
            if self._present(client, stage):
                self._ask(client, message, answer)

    def _ask(self, client: int, message: bytes, answer: Callable[[Client, bytes], bytes]) -> None:
        """One message to a client and its answer back; who refuses is refused in turn, and the session goes on."""
        self.bytes[client] += len(message)
        try:
            reply = self._timed(client, answer, self.clients[client], message)
        except Refused as error:
            self.server.refused.append((client, str(error)))
            return
        self.bytes[client] += len(reply)
        self.bytes[SERVER_NAME] += len(message) + len(reply)
        self._timed(SERVER_NAME, self.server.receive, client, reply)

    def _present(self, client: int, stage: str) -> bool:
        return client not in self.lost or STAGES.index(stage) < STAGES.index(self.lost[client])

    def _timed(self, who: int | str, work: Callable[..., Any], *arguments: Any) -> Any:
        begun = time.thread_time()
        try:
            return work(*arguments)
        finally:
            self.seconds[who] += time.thread_time() - begun


def simulate(
    values: Mapping[int, ArrayLike],
    *,
    weights: Mapping[int, float] | None = None,
    lost: Mapping[int, str] | None = None,
    left_out: Collection[int] = (),
    simulation_rng: np.random.Generator | None = None,
    **terms: Any,
) -> tuple[Sum, Session]:
    """The sum of what some clients hold, and the session it came out of; `terms` are those of `Terms`.

    values: what each client holds; weights: of each, 1 unless given
    lost: clients that fall silent, and before which stage; left_out: clients that take part in keys and shares and then
        have nothing to add
    simulation_rng: draws keys and masks in place of the operating system, for tests
    """
    shares = dict.fromkeys(values, 1.0) if weights is None else dict(weights)
    given = {u: np.asarray(own, dtype=np.float64) for u, own in values.items()}
    agreed = {"values": len(next(iter(given.values()))), "max_weight": max(shares.values())} | terms
    session = Session(Terms(clients=tuple(given), **agreed), lost=lost, simulation_rng=simulation_rng)
    session.open()
    for u in given:
        if u not in left_out:
            session.add(u, given[u], shares[u])
    return session.close(), session
