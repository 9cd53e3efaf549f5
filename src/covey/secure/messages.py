"""What client and server say to each other: eight kinds of message, as bytes that any transport can carry.

A message is b"CVSA", a version, its kind, the session it belongs to, who sent it, and its fields one after another.
What cannot be read (another version or kind, cut short, too long) is `Refused` with the reason. Nothing is unpickled.

    round   server to client    client to server
    1       Invitation          Keys              public keys
    2       KeyList             Shares            secrets, in shares that only one other client can read
    3       ShareList           Masked            the masked sum of weight x values
    4       UnmaskRequest       Unmasking         shares that take the masks off the sum
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from covey.errors import BadValue, CoveyError
from covey.secure.fixed import FixedPoint, Words

MAGIC = b"CVSA"
VERSION = 1
SERVER = 2**32 - 1  # the server's number as a sender
SESSION_BYTES = 16
HEAD = struct.Struct(f"<4sBB{SESSION_BYTES}sI")

Numbers: TypeAlias = tuple[int, ...]
Parts: TypeAlias = dict[int, bytes]


class Refused(CoveyError):
    """A message, or a request in it, that a party does not accept; says why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """What all messages have."""

    kind: ClassVar[int] = 0
    session: bytes
    sender: int = SERVER

    def to_bytes(self) -> bytes:
        """The message as bytes."""
        head = HEAD.pack(MAGIC, VERSION, self.kind, self.session, self.sender)
        return head + b"".join(_WRITE[str(f.type)](getattr(self, f.name)) for f in _own(type(self)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The message of this kind that the bytes are."""
        if len(data) < HEAD.size or data[:4] != MAGIC:
            raise Refused(f"{len(data)} bytes are not a message of secure aggregation")
        _, version, kind, session, sender = HEAD.unpack_from(data)
        if version != VERSION:
            raise Refused(f"the message has version {version}; spoken here is {VERSION}")
        if kind != cls.kind:
            raise Refused(f"the message is of kind {kind}; expected was {cls.__name__}, kind {cls.kind}")
        reader = _Reader(data)
        found = {f.name: _READ[str(f.type)](reader) for f in _own(cls)}
        if reader.at != len(data):
            raise Refused(f"{cls.__name__} is {len(data) - reader.at} bytes too long")
        return cls(session=session, sender=sender, **found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Invitation(Message):
    """What is added up, and with whom this client shares its secrets.

    `values` numbers, each in [-clip, clip] in this many `levels`; weights from 0 to `max_weight`; `clients` take part
    in all, `threshold` of a client and its neighbours have to answer. Where `norm` is above 0, clients scale their
    values to at most that length, count the same, and add discrete Gaussian noise of standard deviation `noise`.
    """

    kind = 1
    clients: int
    neighbours: Numbers
    threshold: int
    values: int
    clip: float
    levels: int
    max_weight: float
    norm: float = 0.0
    noise: float = 0.0

    def check(self) -> FixedPoint:
        """The numbers that are added up; refuses terms under which the sum would be wrong or show too much."""
        group = len(self.neighbours) + 1
        if len(set(self.neighbours)) + 1 != group or not 2 <= group <= self.clients:
            raise Refused(
                f"{group - 1} neighbours of {self.clients} clients; a client needs from 1 to all others, once"
            )
        if not group < 2 * self.threshold <= 2 * group:
            raise Refused(
                f"threshold is {self.threshold}; allowed is more than half and at most all of the {group} clients "
                "that share secrets"
            )
        if self.values < 1 or not 0 < self.max_weight < float("inf"):
            raise Refused(f"{self.values} values of weights up to {self.max_weight:g}; both have to be above 0")
        if not (0 <= self.norm < float("inf") and 0 <= self.noise < float("inf")) or (self.noise and not self.norm):
            raise Refused(
                f"norm {self.norm:g} and noise {self.noise:g}; both are numbers from 0 up, no noise without norm"
            )
        try:
            fixed = FixedPoint(self.clip, self.levels)
        except BadValue as error:
            raise Refused(str(error)) from None
        if not fixed.room(self.clients):
            raise Refused(f"{self.clients} clients x {self.levels} levels do not fit into 32 bits")
        return fixed


@dataclass(frozen=True, kw_only=True, eq=False)
class Keys(Message):
    """A client's public keys: one to seal shares with, one to agree on masks with."""

    kind = 2
    sealing: bytes
    masking: bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyList(Message):
    """The public keys of a client's neighbours."""

    kind = 3
    sealing: Parts
    masking: Parts


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares(Message):
    """A client's shares of its secrets, each sealed for one neighbour; and what its self-mask can be told by."""

    kind = 4
    commitment: bytes
    sealed: Parts = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareList(Message):
    """The sealed shares that a client's neighbours have for it."""

    kind = 5
    sealed: Parts = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Masked(Message):
    """A client's masked vector: its weight, how many of its values were clipped, weight x values."""

    kind = 6
    vector: Words = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnmaskRequest(Message):
    """Which of a client's neighbours, and it itself, were heard, and which were lost after sharing their secrets."""

    kind = 7
    heard: Numbers
    lost: Numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Unmasking(Message):
    """Shares of the self-masks of those who were heard, and of the masking keys of those who were lost."""

    kind = 8
    self_masks: Parts = field(repr=False)
    masking_keys: Parts = field(repr=False)


def _own(kind: type[Message]) -> list[Any]:
    return [f for f in fields(kind) if f.name not in ("session", "sender")]


class _Reader:
    """Takes fields off bytes; never more than there are."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, HEAD.size

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise Refused(f"the message of {len(self.data)} bytes is cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        return int(struct.unpack("<Q", self.take(8))[0])

    def short(self) -> int:
        return int(struct.unpack("<I", self.take(4))[0])

    def real(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])

    def bytes(self) -> bytes:
        return self.take(self.short())

    def words(self) -> Words:
        return np.frombuffer(self.take(4 * self.short()), dtype="<u4").astype(np.uint32)

    def numbers(self) -> Numbers:
        return tuple(self.words().tolist())

    def parts(self) -> Parts:
        count = self.short()
        found = {self.short(): self.bytes() for _ in range(min(count, len(self.data)))}
        if len(found) != count:
            raise Refused("the message names a client twice")
        return found


def _words(value: Words) -> bytes:
    return struct.pack("<I", len(value)) + value.astype("<u4").tobytes()


def _bytes(value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + value


def _parts(value: Parts) -> bytes:
    return struct.pack("<I", len(value)) + b"".join(struct.pack("<I", k) + _bytes(part) for k, part in value.items())


_WRITE: dict[str, Callable[[Any], bytes]] = {
    "int": lambda value: struct.pack("<Q", value),
    "float": lambda value: struct.pack("<d", value),
    "bytes": _bytes,
    "Words": _words,
    "Numbers": lambda value: _words(np.array(value, dtype=np.uint32)),
    "Parts": _parts,
}
_READ: dict[str, Callable[[_Reader], Any]] = {
    "int": _Reader.number,
    "float": _Reader.real,
    "bytes": _Reader.bytes,
    "Words": _Reader.words,
    "Numbers": _Reader.numbers,
    "Parts": _Reader.parts,
}
