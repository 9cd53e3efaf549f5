"""What data from a file has to look like, said as data.

A shape is a type (a bool is no int; an int is a float, too), None, `[shape]` for a list of such, `[shape, shape, …]`
for a list of just these, `{"name": shape, …}` for exactly these names, `{type: shape}` for any number of such keys, or
`(shape, shape, …)` for one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Shape = Any


def fit(value: Any, shape: Shape, name: str = "it") -> None:
    """Refuse a value that has not that shape with a ValueError that names the place.

    >>> fit({"models": [3]}, {"models": [str]})
    Traceback (most recent call last):
    ValueError: its models/0 is an int, not a str
    """
    fault = _fault(value, shape, "")
    if fault is not None:
        where, what = fault
        raise ValueError(f"its {where.removeprefix('/')} {what}" if where else f"{name} {what}")


def _fault(value: Any, shape: Shape, where: str) -> tuple[str, str] | None:
    """Where the value first departs from the shape, and how."""
    if isinstance(shape, tuple):
        faults = [_fault(value, one, where) for one in shape]
        return None if None in faults else (where, f"is {_kind(value)} and none of what it may be")
    if not _is(value, shape):
        wanted = shape if isinstance(shape, type) or shape is None else type(shape)
        return where, f"is {_kind(value)}, not {_name(wanted)}"
    if isinstance(shape, list) and len(shape) > 1:
        if len(value) != len(shape):
            return where, f"has {len(value)} members, not {len(shape)}"
        pairs = enumerate(zip(value, shape, strict=True))
        return _first(_fault(member, inner, f"{where}/{number}") for number, (member, inner) in pairs)
    if isinstance(shape, list):
        return _first(_fault(member, shape[0], f"{where}/{number}") for number, member in enumerate(value))
    if isinstance(shape, dict) and all(isinstance(key, str) for key in shape):
        for key in shape:
            if key not in value:
                return where, f"has no {key}"
        for key in value:
            if key not in shape:
                return where, f"has an unknown {key}"
        return _first(_fault(value[key], inner, f"{where}/{key}") for key, inner in shape.items())
    if isinstance(shape, dict):
        ((kind, inner),) = shape.items()
        for key, member in value.items():
            if not _is(key, kind):
                return where, f"has a key that is {_kind(key)}, not {_name(kind)}"
            if fault := _fault(member, inner, f"{where}/{key}"):
                return fault
    return None


def _first(faults: Iterator[tuple[str, str] | None]) -> tuple[str, str] | None:
    return next((fault for fault in faults if fault is not None), None)


def _is(value: Any, shape: Shape) -> bool:
    kind = shape if isinstance(shape, type) else type(shape)
    if isinstance(value, bool):
        return kind in (bool, object)
    return isinstance(value, (int, float) if kind is float else kind)


def _kind(value: Any) -> str:
    return _name(None if value is None else type(value))


def _name(kind: type | None) -> str:
    if kind is None:
        return "None"
    return f"{'an' if kind.__name__[0] in 'aeiou' else 'a'} {kind.__name__}"
