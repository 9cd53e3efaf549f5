"""Sizes, speeds and times as people write them: `25.2MB`, `10MB/s`, `100Mbps`, `1ms`, `5GFLOPS`.

A capital B is a byte and a small b a bit, so `MBps` is eight times `Mbps`. Prefixes are decimal (k, M, G, T); `Ki`,
`Mi`, `Gi` and `Ti` before B are binary. A bare number is taken in the base unit; text needs its unit.
"""

from __future__ import annotations

import math
import re

from covey.errors import BadValue

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_BYTES = {f"{p}B": scale for p, scale in (_DECIMAL | _BINARY).items()}
_BITS = {f"{p}{b}": scale / 8 for p, scale in _DECIMAL.items() for b in ("b", "bit")}

SIZES = _BYTES | _BITS
RATES = {unit + per: scale for unit, scale in SIZES.items() for per in ("/s", "ps")}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
SPEEDS = {f"{p}FLOP{per}": scale for p, scale in _DECIMAL.items() for per in ("S", "s", "/s")}

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)\s*")


def size(text: str | float, field: str = "size") -> float:
    """Bytes.

    >>> size("25.2MB"), size("1MiB"), size(4)
    (25200000.0, 1048576.0, 4.0)
    """
    return _read(text, field, SIZES, "a size from 0 B up, such as 25.2MB or 1MiB", least=0.0)


def rate(text: str | float, field: str = "capacity") -> float:
    """Bytes per second, more than none.

    >>> rate("10MB/s"), rate("100Mbps"), rate("100MBps")
    (10000000.0, 12500000.0, 100000000.0)
    >>> rate("10 parsecs")
    Traceback (most recent call last):
    covey.errors.BadValue: capacity is '10 parsecs'; allowed is a rate above 0, such as 10MB/s (bytes) or 100Mbps (bits)
    """
    allowed = "a rate above 0, such as 10MB/s (bytes) or 100Mbps (bits)"
    return _read(text, field, RATES, allowed, least=math.ulp(0.0))


def seconds(text: str | float, field: str = "latency") -> float:
    """Seconds.

    >>> seconds("1ms"), seconds("2min"), seconds(0.5)
    (0.001, 120.0, 0.5)
    """
    return _read(text, field, TIMES, "a time from 0 s up, such as 1ms or 0.5s", least=0.0)


def speed(text: str | float, field: str = "speed") -> float:
    """Floating-point operations per second, more than none.

    >>> speed("5GFLOPS"), speed("567 GFLOP/s")
    (5000000000.0, 567000000000.0)
    """
    return _read(text, field, SPEEDS, "a speed above 0, such as 5GFLOPS", least=math.ulp(0.0))


def _read(text: str | float, field: str, units: dict[str, float], allowed: str, *, least: float) -> float:
    if isinstance(text, str):
        match = _NUMBER.fullmatch(text)
        if match is None or match[2] not in units:
            raise BadValue(field, text, allowed)
        value = float(match[1]) * units[match[2]]
    else:
        value = float(text)
    if not (math.isfinite(value) and value >= least):
        raise BadValue(field, text, allowed)
    return value
