"""Names of runs, which name folders, too, and locks, which a process lets go of by dying."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

NAME = re.compile(r"\w(?:[\w.-]*[\w-])?")
LONGEST = 200  # bytes; file systems take 255, and a number comes after it
PATIENCE = 0.2  # seconds to wait for somebody who only looks, see `is_held`
OPENING = 60  # seconds to wait for others who open the store


def is_name(text: object) -> bool:
    """Whether a run may be called that; a name out of a stranger's database is never a path to somewhere else.

    >>> is_name("fedavg-digits-1"), is_name("../../home"), is_name("a/b"), is_name(".."), is_name("")
    (True, False, False, False, False)
    """
    return isinstance(text, str) and NAME.fullmatch(text) is not None and len(text.encode()) <= LONGEST + 10


def make_name(text: str) -> str:
    """The text as a name.

    >>> make_name("fedavg-my data/../2")
    'fedavg-my-data-..-2'
    """
    name = re.sub(r"[^\w.-]+", "-", text).lstrip(".-")
    return name.encode()[:LONGEST].decode(errors="ignore").rstrip(".") or "run"


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is in such a block."""
    try:
        with FileLock(path, timeout=OPENING):
            yield
    except Timeout:
        raise OSError(f"another process has held {path.name} for {OPENING} seconds") from None


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock for the length of the block; raises `filelock.Timeout` when another process has it."""
    with FileLock(path).acquire(timeout=PATIENCE, poll_interval=0.02):
        yield


def is_held(path: Path) -> bool | None:
    """Whether somebody holds that lock; None where that cannot be found out, as in a folder that cannot be written."""
    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(timeout=PATIENCE / 5, poll_interval=0.01):
            return False
    except Timeout:
        return True
    except OSError:
        return None
