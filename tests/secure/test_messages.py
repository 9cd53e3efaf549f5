"""Messages survive the way over the wire, and what is not one of them is refused with the reason."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.secure import Refused, messages

SESSION = bytes(range(16))
EXAMPLES = [
    messages.Invitation(
        session=SESSION, clients=3, neighbours=(1, 2), threshold=2, values=5, clip=8.0, levels=2**20, max_weight=64.0
    ),
    messages.Keys(session=SESSION, sender=3, sealing=b"a" * 32, masking=b"b" * 32),
    messages.KeyList(session=SESSION, sealing={1: b"x", 2: b""}, masking={1: b"y"}),
    messages.Shares(session=SESSION, sender=3, commitment=b"c", sealed={9: b"sealed"}),
    messages.ShareList(session=SESSION, sealed={}),
    messages.Masked(session=SESSION, sender=3, vector=np.array([0, 1, 2**32 - 1], dtype=np.uint32)),
    messages.UnmaskRequest(session=SESSION, heard=(0, 7), lost=()),
    messages.Unmasking(session=SESSION, sender=3, self_masks={1: b"s"}, masking_keys={2: b"k"}),
]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda m: type(m).__name__)
def test_a_message_comes_back_as_it_went(message):
    back = type(message).from_bytes(message.to_bytes())
    assert type(back) is type(message)
    for name, value in vars(message).items():
        assert np.array_equal(getattr(back, name), value), name


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda m: type(m).__name__)
def test_a_message_that_is_cut_or_lengthened_is_refused(message):
    data = message.to_bytes()
    for length in range(len(data)):
        with pytest.raises(Refused):
            type(message).from_bytes(data[:length])
    with pytest.raises(Refused, match="1 bytes too long"):
        type(message).from_bytes(data + b"!")


def test_kinds_and_versions_are_told_apart():
    data = EXAMPLES[1].to_bytes()
    with pytest.raises(Refused, match="expected was Masked"):
        messages.Masked.from_bytes(data)
    with pytest.raises(Refused, match="version 2"):
        messages.Keys.from_bytes(data[:4] + b"\2" + data[5:])
    with pytest.raises(Refused, match="not a message"):
        messages.Keys.from_bytes(b"PK" + data[2:])
    assert len({type(message).kind for message in EXAMPLES}) == len(EXAMPLES)


def test_a_client_named_twice_is_refused():
    once = messages.ShareList(session=SESSION, sealed={1: b"a"}).to_bytes()
    entry = once[-9:]
    twice = once[:-13] + (2).to_bytes(4, "little") + entry + entry
    with pytest.raises(Refused, match="twice"):
        messages.ShareList.from_bytes(twice)


@given(st.binary(max_size=200), st.sampled_from(EXAMPLES))
def test_bytes_of_any_kind_are_read_or_refused(tail, message):
    data = message.to_bytes()[: messages.HEAD.size] + tail
    with contextlib.suppress(Refused):
        type(message).from_bytes(data)


def test_no_text_of_a_message_shows_shares_or_vectors():
    for message in EXAMPLES:
        assert "sealed" not in repr(message)
        assert "self_masks" not in repr(message)
        assert "vector" not in repr(message)
