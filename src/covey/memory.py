"""How much memory there is, so that what does not fit is refused before it starts."""

from __future__ import annotations

import os
from pathlib import Path


def free_memory() -> float | None:
    """Bytes that this process may still take: of the machine, of its container, of its own limit; None if unknown."""
    known = [each for each in (_machine(), _container(), _own_limit()) if each is not None]
    return min(known) if known else None


def gigabytes(count: float) -> str:
    """Bytes for people.

    >>> gigabytes(4.31e9), gigabytes(31e6)
    ('4.3 GB', '31 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _machine() -> float | None:
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        return float(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # not Linux: all that is built in
        try:
            return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, OSError, ValueError):
            return None


def _container() -> float | None:
    folder = Path("/sys/fs/cgroup")
    try:
        return float((folder / "memory.max").read_text()) - float((folder / "memory.current").read_text())
    except (OSError, ValueError):  # no such limit
        return None


def _own_limit() -> float | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0.0, float(limit - pages * os.sysconf("SC_PAGE_SIZE")))
    except (ImportError, OSError, ValueError):
        return None
