"""A device's part in a secure aggregation, carried over several messages and processes.

Every message may reach a new process. So the device keeps 32 secret bytes and what it was sent, and goes through the
steps again: all its secrets follow from those bytes. It answers every step once: what it has answered is kept, too.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict

from covey.flower.records import BadRecord, read_config
from covey.secure import Client, Refused
from covey.secure.shamir import Entropy

ROUND = "secure"  # the record that carries the bytes of covey.secure, both ways
STATE = "secure"  # the record of the device's own state


def join(message: Message, context: Context) -> Message:
    """Round 1: accept the invitation, give public keys. What was kept of an earlier session is forgotten."""
    sent = _sent(message.content)
    state: dict[str, Any] = {"number": sent["number"], "seed": secrets.token_bytes(32), "messages": [sent["data"]]}
    answer = _client(state).join(sent["data"])
    context.state[STATE] = ConfigRecord(state)
    return _reply(message, answer)


def share(message: Message, context: Context) -> Message:
    """Round 2: shares of the secrets, sealed for the neighbours."""
    sent = _sent(message.content)
    client, state = _again(context.state, 1)
    answer = client.share(sent["data"])
    _keep(context.state, state, sent["data"])
    return _reply(message, answer)


def masked(records: RecordDict, kept: RecordDict, update: np.ndarray[Any, Any]) -> RecordDict:
    """Round 3: the update of a training, masked; the model itself stays here."""
    sent = _sent(records)
    client, state = _again(kept, 2)
    weight = float(sent["weight"])
    answer = client.mask(sent["data"], update, weight)
    _keep(kept, {**state, "weight": weight, "values": len(update)}, sent["data"])
    return RecordDict({ROUND: ConfigRecord({"data": answer})})


def unmask(message: Message, context: Context) -> Message:
    """Round 4: shares of those who were heard, or lost."""
    sent = _sent(message.content)
    client, state = _again(context.state, 3)
    answer = client.unmask(sent["data"])
    _keep(context.state, state, sent["data"])
    return _reply(message, answer)


def _sent(records: RecordDict) -> dict[str, Any]:
    sent = read_config(records, ROUND)
    if not isinstance(sent.get("data"), bytes):
        raise BadRecord("it holds no message of a secure aggregation")
    return sent


def _reply(message: Message, answer: bytes) -> Message:
    return Message(RecordDict({ROUND: ConfigRecord({"data": answer})}), reply_to=message)


def _keep(kept: RecordDict, state: dict[str, Any], data: bytes) -> None:
    kept[STATE] = ConfigRecord({**state, "messages": [*state["messages"], data]})


def _client(state: dict[str, Any]) -> Client:
    return Client(state["number"], entropy=_drawn_from(state["seed"]))


def _again(kept: RecordDict, answered: int) -> tuple[Client, dict[str, Any]]:
    """The party as it was after so many steps; refuses where it has answered more, or fewer."""
    if STATE not in kept.config_records:
        raise Refused("this device takes part in no secure aggregation")
    state = dict(kept.config_records[STATE])
    messages: list[bytes] = list(state["messages"])  # type: ignore[arg-type]
    if len(messages) != answered:
        raise Refused(f"this device has answered {len(messages)} rounds of the aggregation, not {answered}")
    client = _client(state)
    steps: list[Callable[[bytes], bytes]] = [client.join, client.share]
    if answered == 3:  # what was masked does not matter to what follows, and is not kept
        zero, weight = np.zeros(int(state["values"]), dtype=np.float32), float(state["weight"])  # type: ignore[arg-type]
        steps.append(lambda data: client.mask(data, zero, weight))
    for step, data in zip(steps, messages, strict=False):
        step(data)
    return client, state


def _drawn_from(seed: bytes) -> Entropy:
    """Bytes that follow from a secret seed: SHA-256 of it and a counter."""
    count = 0

    def draw(size: int) -> bytes:
        nonlocal count
        found = b""
        while len(found) < size:
            found += hashlib.sha256(seed + count.to_bytes(8, "little")).digest()
            count += 1
        return found[:size]

    return draw
