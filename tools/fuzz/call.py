"""One covey in a process of its own: forked, so that it starts at once; bounded in time and memory, so that it ends."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covey.cli.main import main

SECONDS = 20
GIGABYTES = 4.0


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (below 0, the signal that ended it), what it said, how long it took."""

    code: int
    out: str
    err: str
    seconds: float


def call(words: tuple[str, ...], folder: Path, *, seconds: int = SECONDS, gigabytes: float = GIGABYTES) -> Ended:
    """`covey *words` in that folder; its output goes to files beside it."""

    def covey() -> None:
        sys.argv = ["covey", *words]
        main()

    return forked(covey, folder, seconds=seconds, gigabytes=gigabytes)


def forked(what: Callable[[], Any], folder: Path, *, seconds: int = SECONDS, gigabytes: float = GIGABYTES) -> Ended:
    """Do something in a fork of this process; the alarm's default is to end it, whatever it is doing."""
    said = [folder.with_name(f"{folder.name}.{name}") for name in ("out", "err")]
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(what, folder, said, seconds, gigabytes)
    status = os.waitpid(pid, 0)[1]
    out, err = (path.read_text(encoding="utf-8", errors="replace") for path in said)
    return Ended(os.waitstatus_to_exitcode(status), out, err, time.monotonic() - began)


def _become(what: Callable[[], Any], folder: Path, said: list[Path], seconds: int, gigabytes: float) -> None:
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        limit = _mapped() + int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(said, start=1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", errors="replace", closefd=False) for n in (1, 2))  # noqa: SIM115
        what()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _mapped() -> int:
    """Bytes of address space this process has already."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
