"""Damage at the level of bytes: what a disk, a network or an editor does to a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

TOKENS = [
    b"\0", b"\xff", b"\xfe\xff", b"\n", b"\r", b"\r\n", b'"', b"'", b",", b";", b"\t", b"=", b"[", b"]", b"{", b"}",
    b"<", b">", b"&x;", b"nan", b"inf", b"-", b"1e999", b"99999999999999999999", b"\xef\xbb\xbf", b"\x1b[2J", b"[/x]",
    b"null", b"\xc3\xa9",
]  # fmt: skip
NUMBERS = [b"0", b"-1", b"1", b"1.5", b"nan", b"inf", b"1e400", b"9" * 25, b"x", b""]
NUMBER = re.compile(rb"\d+(\.\d+)?")

Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def damaged(draw: Draw, content: bytes, *, most: int = 4) -> bytes:
    """The content with one to `most` damages."""
    for _ in range(draw(st.integers(1, most))):
        content = draw(st.sampled_from(WAYS))(draw, content)
    return content


def _at(draw: Draw, content: bytes) -> int:
    return int(draw(st.integers(0, len(content))))


def _span(draw: Draw, content: bytes) -> tuple[int, int]:
    begin = _at(draw, content)
    return begin, min(len(content), begin + int(draw(st.sampled_from([1, 1, 2, 4, 16, 200, 4096]))))


def _flip(draw: Draw, content: bytes) -> bytes:
    at = _at(draw, content)
    if at == len(content):
        return content
    return content[:at] + bytes([content[at] ^ (1 << int(draw(st.integers(0, 7))))]) + content[at + 1 :]


def _cut(draw: Draw, content: bytes) -> bytes:
    return content[: _at(draw, content)]


def _drop(draw: Draw, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    return content[:begin] + content[end:]


def _blank(draw: Draw, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    return content[:begin] + b"\0" * (end - begin) + content[end:]


def _twice(draw: Draw, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    return content[:end] + content[begin:]


def _insert(draw: Draw, content: bytes) -> bytes:
    at = _at(draw, content)
    return content[:at] + bytes(draw(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=8)))) + content[at:]


def _number(draw: Draw, content: bytes) -> bytes:
    found = list(NUMBER.finditer(content[:100_000]))
    if not found:
        return content
    begin, end = draw(st.sampled_from(found)).span()
    return content[:begin] + bytes(draw(st.sampled_from(NUMBERS))) + content[end:]


def _swap(draw: Draw, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    middle = (begin + end) // 2
    return content[:begin] + content[middle:end] + content[begin:middle] + content[end:]


WAYS = (_flip, _cut, _drop, _blank, _twice, _insert, _number, _swap)
