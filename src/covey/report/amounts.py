"""Amounts as a person reads them."""

from __future__ import annotations


def size(count: float) -> str:
    """Bytes for a person.

    >>> size(999), size(44_168_000)
    ('999 B', '44.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
