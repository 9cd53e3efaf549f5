"""Secure aggregation among devices: the server's half, its four rounds carried by messages.

Keys and shares are exchanged before the group trains; a device masks its update where it trained it, so that the
server never has a single model; those who masked help to unmask the sum. Several groups do so at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import torch
from flwr.app import ConfigRecord, RecordDict
from torch import Tensor

from covey.errors import BadPlan
from covey.execute.effects import Failure
from covey.flower.crew import Crew
from covey.flower.party import ROUND
from covey.flower.post import Post, Reply
from covey.flower.records import JOIN, SHARE, UNMASK, BadRecord, read_config
from covey.merge.base import CannotMerge, Gathering
from covey.merge.secure import Secure
from covey.secure import Refused, Server, Sum, TooFew


class Sessions:
    """The secure aggregations under way, one a group."""

    def __init__(self, post: Post, crew: Crew) -> None:
        self.post, self.crew = post, crew
        self._open: dict[tuple[int, ...], Session] = {}

    def begin(self, settings: Secure, gathering: Gathering) -> Session:
        """Invite the members of a gathering; what they began before is over."""
        if any(len(clients) != 1 for clients in gathering.members):
            raise BadPlan("the merge 'secure' on devices takes Stars of clients; models of rings pass by the server")
        clients = tuple(client for (client,) in gathering.members)
        self._open = {cohort: other for cohort, other in self._open.items() if not set(cohort) & set(clients)}
        self._open[tuple(sorted(clients))] = session = Session(self, settings, gathering, clients)
        session.begin()
        return session

    def of(self, cohort: Sequence[int]) -> Session | None:
        """The session of the clients of a Star, where they have one."""
        return self._open.get(tuple(cohort))

    def meeting(self, clients: Sequence[int]) -> Session | None:
        """The session in which models of these clients meet."""
        there = set(clients)
        return next((s for s in self._open.values() if there and there <= set(s.clients) and not s.over), None)

    def end(self, session: Session) -> None:
        """Its sum is known, or never will be."""
        self._open = {cohort: other for cohort, other in self._open.items() if other is not session}


class Session:
    """One secure aggregation; members are numbered as in its gathering."""

    def __init__(self, sessions: Sessions, settings: Secure, gathering: Gathering, clients: Sequence[int]) -> None:
        self.sessions, self.settings, self.gathering, self.clients = sessions, settings, gathering, tuple(clients)
        self.total: Sum | None = None
        self.fault: str | None = None
        self.bytes = 0
        self.server: Server | None = None
        self._lists: dict[int, bytes] | None = None
        self._waiting: list[Callable[[], None]] = []

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.total is not None or self.fault is not None

    def begin(self) -> None:
        """Round 1: invitations."""

        def share() -> None:
            self._exchange(SHARE, self._step(Server.close_keys), ready)

        def ready() -> None:
            self._lists = self._step(Server.close_shares)
            waiting, self._waiting = self._waiting, []
            for then in waiting:
                then()

        try:
            self.server = Server(self.settings.terms(self.gathering))
        except (TooFew, CannotMerge) as error:
            self._fail(error)
            ready()
            return
        self._exchange(JOIN, self.server.invite(), share)

    def when_ready(self, then: Callable[[], None]) -> None:
        """Call it when keys and shares are exchanged, or that came to nothing."""
        if self._lists is None:
            self._waiting.append(then)
        else:
            then()

    def round(self, client: int) -> ConfigRecord | Failure:
        """What a client needs to mask its update, along with its job."""
        member = self.clients.index(client)
        if self.fault is not None:
            return Failure(f"its secure aggregation came to nothing: {self.fault}")
        if member not in (self._lists or {}):
            return Failure("it was lost while keys were exchanged")
        weight = 1.0 if self.settings.noise else float(self.gathering.weights[member])
        data = (self._lists or {})[member]
        self.bytes += len(data)
        return ConfigRecord({"data": data, "number": member, "weight": weight})

    def receive(self, client: int, told: Mapping[str, Any]) -> None:
        """A masked update."""
        self._take(self.clients.index(client), told)

    def unmask(self, then: Callable[[], None]) -> None:
        """Round 4: ask those who were heard; `then` is called when the sum is known, or never will be."""

        def finish() -> None:
            if self.fault is None and self.server is not None:
                try:
                    self.total = self.server.result()
                except TooFew as error:
                    self._fail(error)
            self.sessions.end(self)
            then()

        if self.over:
            then()
        else:
            self._exchange(UNMASK, self._step(Server.close_masked), finish)

    def _step(self, close: Callable[[Server], dict[int, bytes]]) -> dict[int, bytes]:
        """End a round; the messages of the next, none where too few are left."""
        if self.fault is not None or self.server is None:
            return {}
        try:
            return close(self.server)
        except TooFew as error:
            self._fail(error)
            return {}

    def _exchange(self, kind: str, messages: Mapping[int, bytes], then: Callable[[], None]) -> None:
        """Send everybody its message, take the answers in, and go on when the last has answered or been given up."""
        open_ = set(messages)
        crew = self.sessions.crew

        def take(member: int, reply: Reply) -> None:
            try:
                if isinstance(reply, Failure):
                    raise BadRecord(reply.reason)
                self._take(member, read_config(reply, ROUND))
            except BadRecord as error:
                crew.lost(self.clients[member], f"secure aggregation: {error}")
            open_.discard(member)
            if not open_:
                then()

        if not messages:
            then()
        for member, data in messages.items():
            self.bytes += len(data)
            record = ConfigRecord({"data": data, "number": member})
            node = crew.node(self.clients[member])
            if node is None:
                take(member, Failure("it is not connected"))
            else:
                self.sessions.post.send(node, kind, RecordDict({ROUND: record}), partial(take, member))

    def _take(self, member: int, told: Mapping[str, Any]) -> None:
        data = told.get("data")
        if not isinstance(data, bytes) or self.server is None:
            raise BadRecord("it sent no message of a secure aggregation")
        self.bytes += len(data)
        try:
            self.server.receive(member, data)
        except Refused as error:
            raise BadRecord(str(error)) from None

    def _fail(self, error: Exception) -> None:
        self.fault = str(error)
        self.sessions.crew.tell(f"the secure aggregation of clients {list(self.clients)} came to nothing: {error}")


@dataclass(frozen=True)
class Carried(Secure):
    """The secure mean of devices that mask their updates themselves; secrets are their own, from no seed."""

    sessions: Sessions = field(kw_only=True, compare=False, repr=False)

    @classmethod
    def over(cls, settings: Secure, sessions: Sessions) -> Carried:
        """With these settings, by messages."""
        return cls(**{f.name: getattr(settings, f.name) for f in fields(settings)}, sessions=sessions)

    def open(self, gathering: Gathering) -> _Carrying:  # type: ignore[override]  # it adds and closes as the other does
        """Begin to exchange keys."""
        return _Carrying(self.sessions.begin(self, gathering))


class _Carrying:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._came = False

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """What a member masked is with the session already; `model` is the one all started from."""
        self._came = True

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The mean, on top of the model that all started from."""
        session, gathering = self.session, self.session.gathering
        if not session.over:
            session.unmask(lambda: None)
            session.sessions.post.work(lambda: session.over)
        if session.total is None or session.server is None:
            raise CannotMerge(session.fault or "no model came in")
        gathering.count("clipped_values", session.total.clipped)
        gathering.count("refused_clients", len(session.server.refused))
        gathering.count("secure_bytes", session.bytes)
        start: Tensor = gathering.start
        return start + torch.from_numpy(session.total.mean).to(start.dtype)
