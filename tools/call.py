"""One covey in a process of its own: forked, so that it starts at once; bounded in time and memory, so that it ends."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from covey.cli.main import main

SMALL = {"clients": 4, "samples": 12, "rounds": 1, "model": "softmax-regression", "mode": "one-by-one"}
SECONDS = 20
GIGABYTES = 4.0


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (below 0, the signal that ended it), what it said, how long it took."""

    code: int
    out: str
    err: str
    seconds: float


def load_everything() -> None:
    """Do once what covey does, so that no input waits for imports of its own; nothing but imports stays behind."""
    torch.set_num_threads(1)
    unread = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as place,
        contextlib.chdir(place),
        contextlib.redirect_stdout(unread),
        contextlib.redirect_stderr(unread),
    ):
        Path("fleet.csv").write_text("client,a,b\n" + "".join(f"c{i},{i},2\n" for i in range(6)))
        small = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
        for words in (
            ["compare", "fedavg", *small, "--mode=stacked"],
            ["run", "ihc-fl", *small, "--network=star", "--server=adam"],
            ["group", "fleet.csv", "--method=all", "--network=star", "--groups=auto"],
        ):
            sys.argv = ["covey", *words]
            with contextlib.suppress(SystemExit):
                main()
    gc.collect()
    gc.freeze()  # or every fork would copy all of memory at its first collection


def call(words: Sequence[str], folder: Path, **limits: Any) -> Ended:
    """`covey *words` in that folder; limits as in `forked`."""

    def covey() -> None:
        sys.argv = ["covey", *words]
        main()

    return forked(covey, folder, **limits)


def forked(
    what: Callable[[], Any],
    folder: Path,
    *,
    seconds: int = SECONDS,
    work: int = SECONDS,
    gigabytes: float = GIGABYTES,
    kill_after: float | None = None,
) -> Ended:
    """Do something in a fork of this process, in that folder; what it says goes to files beside the folder.

    An alarm ends it after so many `seconds`, whatever it is doing, and so many seconds of `work` of its own do so too,
    however busy the machine is. It gets so many `gigabytes` on top of what this process has. `kill_after` so many
    seconds it is ended by SIGKILL, if it has not ended by then.
    """
    said = [folder.with_name(f"{folder.name}.{name}") for name in ("out", "err")]
    for path in said:
        path.write_bytes(b"")  # there, even if the fork is ended before it says anything
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(what, folder, said, seconds, work, gigabytes)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(pid, signal.SIGKILL)  # if it has ended, it is still there to be waited for, and nothing happens
    status = os.waitpid(pid, 0)[1]
    out, err = (path.read_text(encoding="utf-8", errors="replace") for path in said)
    return Ended(os.waitstatus_to_exitcode(status), out, err, time.monotonic() - began)


def _become(what: Callable[[], Any], folder: Path, said: list[Path], seconds: int, work: int, gigabytes: float) -> None:
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        limit = _mapped() + int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (work, work + 1))
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
