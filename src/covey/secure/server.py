"""The server of secure aggregation: it passes on what clients say to each other and learns the sum, nothing else.

It is the other half of `client.py`. Clients may be lost before every round; the sum is that of all whose masked vector
came. What a client sends wrongly is `Refused` with the reason, and unless it does better in time it counts as lost.
Below the threshold the sum is given up (`TooFew`) before any secret has been asked for.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue, CoveyError
from covey.secure import shamir
from covey.secure.client import EXTRA
from covey.secure.fixed import FixedPoint, Words
from covey.secure.graph import Neighbours, complete_threshold, connected, ring, sparse
from covey.secure.keys import KEY_BYTES, KeyPair, commitment, mask
from covey.secure.messages import (
    SERVER,
    SESSION_BYTES,
    Invitation,
    KeyList,
    Keys,
    Masked,
    Message,
    Refused,
    ShareList,
    Shares,
    Unmasking,
    UnmaskRequest,
)
from covey.secure.shamir import SHARE_BYTES, Entropy

M = TypeVar("M", bound=Message)


class TooFew(CoveyError):
    """Too few clients are left for a sum that hides each of them; nothing has been learned."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is added up, by whom.

    `values` numbers a client, at most `clip` each, weights at most `max_weight`. `levels` 0 is as many as fit.
    `neighbours`: clients that each shares its secrets with; 0 is all others (Bonawitz et al.), "log" as many as grow
    with the logarithm (SecAgg+). `threshold` is how many of a client and its neighbours have to answer; 0 is more than
    `share` of them, or what fits the logarithm. A sum of fewer than `least` clients is given up.
    `norm` and `noise` are those of `Invitation`.
    """

    clients: tuple[int, ...]
    values: int
    clip: float = 8.0
    levels: int = 0
    max_weight: float = 1.0
    neighbours: int | str = 0
    threshold: int = 0
    share: float = 2 / 3
    least: int = 0
    norm: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        numbers = set(self.clients)
        if len(numbers) < len(self.clients) or not all(0 <= u < SERVER for u in numbers):
            raise BadValue("clients", self.clients, "different whole numbers from 0 up")
        if len(numbers) < 2:
            raise TooFew(
                f"a group of {len(numbers)} has nobody to hide among; secure aggregation needs 2 clients or more"
            )
        if isinstance(self.neighbours, str) and self.neighbours != "log":
            raise BadValue("neighbours", self.neighbours, "'log', or a whole number from 0 up")


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum over the clients that were heard: of weight x values, of the weights, of the values that were clipped."""

    values: NDArray[np.float64] = field(repr=False)
    weight: float
    clipped: int
    clients: tuple[int, ...]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The weighted mean of the values."""
        return self.values / self.weight


class Server:
    """The server of one session; `session` and the graph come from `entropy`."""

    def __init__(self, terms: Terms, *, entropy: Entropy = secrets.token_bytes) -> None:
        self.terms = terms
        self.session = entropy(SESSION_BYTES)
        self._probe = KeyPair(entropy(KEY_BYTES))  # what clients send as keys is tried on it
        self.neighbours, self.threshold = _graph(terms, entropy)
        fitting = FixedPoint.fitting(terms.clip, len(terms.clients))
        self.fixed = FixedPoint(terms.clip, terms.levels) if terms.levels else fitting
        try:
            self._invitation(terms.clients[0]).check()
        except Refused as error:
            raise BadValue("secure aggregation", str(error), "terms that every client accepts") from None
        self.refused: list[tuple[int, str]] = []
        self._stage: type[Message] = Keys
        self._open: set[int] = set(terms.clients)  # who may still answer in this round
        self._keys: dict[int, Keys] = {}
        self._shares: dict[int, Shares] = {}
        self._heard: list[int] = []
        self._sum: Words = np.zeros(EXTRA + terms.values, dtype=np.uint32)
        self._lost: tuple[int, ...] = ()
        self._given: dict[int, Unmasking] = {}

    def invite(self) -> dict[int, bytes]:
        """The invitation of every client."""
        return {u: self._invitation(u).to_bytes() for u in self.terms.clients}

    def receive(self, sender: int, data: bytes) -> None:
        """Take a message in; `sender` is who the transport says it is. What is refused is raised, and remembered."""
        try:
            self._receive(sender, data)
        except Refused as error:
            self.refused.append((sender, str(error)))
            raise

    def close_keys(self) -> dict[int, bytes]:
        """Round 1 is over: the keys of its neighbours for every client that is still in."""
        self._close(Keys, Shares)
        self._keys = {u: self._keys[u] for u in self._core(self._keys)}
        self._open = set(self._keys)
        lists = {}
        for u in self._keys:
            near = self._near(u, self._keys)
            sealing, masking = ({v: getattr(self._keys[v], name) for v in near} for name in ("sealing", "masking"))
            lists[u] = KeyList(session=self.session, sealing=sealing, masking=masking).to_bytes()
        return lists

    def close_shares(self) -> dict[int, bytes]:
        """Round 2 is over: the shares that its neighbours have for it, for every client that is still in."""
        self._close(Shares, Masked)
        self._shares = {u: self._shares[u] for u in self._core(self._shares)}
        self._open = set(self._shares)
        return {
            u: ShareList(
                session=self.session, sealed={v: self._shares[v].sealed[u] for v in self._near(u, self._shares)}
            ).to_bytes()
            for u in self._shares
        }

    def close_masked(self) -> dict[int, bytes]:
        """Round 3 is over: for every client that was heard the request to unmask what was heard."""
        self._close(Masked, Unmasking)
        heard = sorted(self._heard)
        self._lost = tuple(u for u in self._shares if u not in set(heard))
        self._check_enough(heard, "sent their masked vectors")
        if len(heard) < self.terms.least:
            raise TooFew(f"{len(heard)} clients sent their masked vectors; at least {self.terms.least} are needed")
        if not connected(heard, self.neighbours):
            raise TooFew("the clients that are left do not hang together; unmasking would show sums of parts of them")
        self._open = set(heard)
        requests = {}
        for u in heard:
            near = self._near(u, self._shares)
            mine = tuple(v for v in near if v not in self._lost)
            gone = tuple(v for v in near if v in self._lost)
            requests[u] = UnmaskRequest(session=self.session, heard=(*mine, u), lost=gone).to_bytes()
        return requests

    def result(self) -> Sum:
        """Round 4 is over: the sum, without its masks."""
        self._close(Unmasking, Message)
        self._check_enough(self._given, "helped to unmask", of=[*self._heard, *self._lost])
        total = self._sum
        for u in self._heard:
            seed = self._recover(
                u, {v: given.self_masks[u] for v, given in self._given.items() if u in given.self_masks}
            )
            mask(total, seed, subtract=True)
        for u in self._lost:
            shares = {v: given.masking_keys[u] for v, given in self._given.items() if u in given.masking_keys}
            pair = KeyPair(self._recover(u, shares))
            for v in self._near(u, self._heard):
                low, high = sorted((u, v))
                seed = pair.agree(self._keys[v].masking, self.session, f"masking {low} {high}")
                mask(total, seed, subtract=u > v)  # what the lost client would have added
        half = self.fixed.levels // 2
        weight = int(total[0]) / half * self.terms.max_weight
        values = self.fixed.decode(total[EXTRA:]) * self.terms.max_weight
        return Sum(values, weight, int(total[1]), tuple(sorted(self._heard)))

    def _receive(self, sender: int, data: bytes) -> None:
        if sender not in self.terms.clients:
            raise Refused(f"client {sender} was not invited")
        message = self._stage.from_bytes(data)
        if message.session != self.session:
            raise Refused(f"client {sender} sent a message of another session")
        if message.sender != sender:
            raise Refused(f"client {sender} sent a message in the name of client {message.sender}")
        if sender not in self._open:
            raise Refused(f"client {sender} has sent its {self._stage.__name__} already, or was lost before")
        if isinstance(message, Keys):
            self._check_keys(message)
            self._keys[sender] = message
        elif isinstance(message, Shares):
            if message.sealed.keys() != set(self._near(sender, self._keys)) or len(message.commitment) != KEY_BYTES:
                raise Refused(f"client {sender} sent shares for other clients than it was told")
            self._shares[sender] = message
        elif isinstance(message, Masked):
            if message.vector.shape != self._sum.shape:
                raise Refused(f"client {sender} sent {len(message.vector)} words; expected were {len(self._sum)}")
            self._sum += message.vector
            self._heard.append(sender)
        elif isinstance(message, Unmasking):
            self._check_unmasking(message)
            self._given[sender] = message
        self._open.discard(sender)

    def _check_keys(self, message: Keys) -> None:
        """Refuse keys that are none, or another client's: neighbours would refuse the whole list."""
        taken = {key for keys in self._keys.values() for key in (keys.sealing, keys.masking)}
        for key in (message.sealing, message.masking):
            if key in taken or message.sealing == message.masking:
                raise Refused(f"client {message.sender} sent a key that is in use already")
            try:
                self._probe.agree(key, self.session, "probe")
            except BadValue as error:
                raise Refused(f"client {message.sender}: {error}") from None

    def _check_unmasking(self, message: Unmasking) -> None:
        sharing = {*self._near(message.sender, self._shares), message.sender}
        wrong = message.self_masks.keys() - sharing.intersection(self._heard)
        wrong |= message.masking_keys.keys() - sharing.intersection(self._lost)
        if wrong:
            raise Refused(f"client {message.sender} sent a share of client {min(wrong)} that it was not asked for")
        if any(
            len(share) != SHARE_BYTES for part in (message.self_masks, message.masking_keys) for share in part.values()
        ):
            raise Refused(f"client {message.sender} sent a share that is not {SHARE_BYTES} bytes long")

    def _recover(self, client: int, shares: dict[int, bytes]) -> bytes:
        """A client's secret. Of more shares than are needed, false ones are left out: the secret can be told."""
        holders, spare = list(shares), len(shares) - self.threshold
        for first in range(len(holders) if spare > 0 else spare + 1):
            chosen = [holders[(first + j) % len(holders)] for j in range(self.threshold)]
            secret = shamir.combine({v + 1: shares[v] for v in sorted(chosen)})
            if self._is_secret(client, secret):
                return secret
        raise TooFew(
            f"the secret of client {client} is lost: {len(holders)} shares, of which {self.threshold} true ones "
            "are needed"
        )

    def _is_secret(self, client: int, secret: bytes) -> bool:
        if client in self._lost:
            return KeyPair(secret).public == self._keys[client].masking
        return commitment(secret, self.session) == self._shares[client].commitment

    def _invitation(self, client: int) -> Invitation:
        terms = self.terms
        return Invitation(
            session=self.session,
            clients=len(terms.clients),
            neighbours=self.neighbours[client],
            threshold=self.threshold,
            values=terms.values,
            clip=terms.clip,
            levels=self.fixed.levels,
            max_weight=terms.max_weight,
            norm=terms.norm,
            noise=terms.noise,
        )

    def _close(self, stage: type[Message], following: type[Message]) -> None:
        if self._stage is not stage:
            raise Refused(f"the server waits for {self._stage.__name__}, not for {stage.__name__}")
        self._stage = following

    def _near(self, client: int, alive: Collection[int]) -> list[int]:
        return [v for v in self.neighbours[client] if v in alive]

    def _core(self, answered: Collection[int]) -> list[int]:
        """The most of these clients of whom each has enough neighbours among them."""
        core = set(answered)
        while thin := {u for u in core if len(self._near(u, core)) + 1 < self.threshold}:
            core -= thin
        self._check_enough(core, "are left with enough neighbours")
        return [u for u in self.terms.clients if u in core]

    def _check_enough(self, answered: Collection[int], did: str, of: Iterable[int] | None = None) -> None:
        for u in answered if of is None else of:
            near = len(self._near(u, answered)) + (u in answered)
            if near < self.threshold:
                raise TooFew(f"{near} clients around client {u} {did}; at least {self.threshold} are needed")
        if not answered:
            raise TooFew(f"no clients {did}; at least {self.threshold} are needed")


def _graph(terms: Terms, entropy: Entropy) -> tuple[Neighbours, int]:
    """Everybody's neighbours and the threshold."""
    n = len(terms.clients)
    if terms.neighbours == "log":
        degree, threshold = sparse(n)
    else:
        degree = min(int(terms.neighbours) or n - 1, n - 1)
        threshold = complete_threshold(degree + 1, terms.share)
    rng = np.random.default_rng(int.from_bytes(entropy(16), "little"))
    return ring(sorted(terms.clients), degree, rng), terms.threshold or threshold
