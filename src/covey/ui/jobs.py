"""Runs that the page starts: each is a `covey` process of its own, which goes on when the page is closed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from covey.errors import BadValue
from covey.registry import refuse_code
from covey.store.names import is_name, make_name

MOST = 8  # under way at a time
PATIENCE = 5.0  # seconds for a process to end
STOPPED = 130  # the exit code of a command that was stopped
WORD = re.compile(r"[a-z][a-z0-9-]{0,60}")
SETTING = re.compile(r"[a-z][a-z0-9_.]{0,60}")
FILES = ("network", "prices", "distances", "group_operation", "data", "device", "server_device", "executor", "model")
"""Settings that may name a file: from the page they are names only."""


@dataclass
class Job:
    """A process that makes a run; `code` is how it ended, `error` the last line it said if it failed."""

    run: str
    process: subprocess.Popen[bytes]
    code: int | None = None
    error: str = ""

    def ends(self, seconds: float) -> bool:
        """Whether it has ended, or does so soon: one that was stopped has a little to do still."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def watch(self, said: IO[bytes]) -> None:
        """Wait for the end, in a thread of its own."""
        code = self.process.wait()
        with said:
            said.seek(max(0, said.seek(0, os.SEEK_END) - 4000))
            lines = said.read().decode(errors="replace").strip().splitlines() or ["it ended without a word"]
        self.error = lines[-1].removeprefix("covey: ") if code not in (0, STOPPED, -signal.SIGINT) else ""
        self.code = code


class Jobs:
    """The processes that this page has started."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, algorithm: str, settings: dict[str, Any], name: str | None, taken: set[str]) -> str:
        """Begin a run; gives its name."""
        if not WORD.fullmatch(algorithm):
            raise BadValue("algorithm", algorithm, "a name; see: covey list algorithms")
        checked = check_settings(settings)
        if name is not None and not is_name(name):
            raise BadValue("name", name, "letters, digits, dots and dashes, beginning with a letter or digit")
        with self._lock:
            taken = taken | set(self._jobs)
            if name is None:
                usual = make_name(f"{algorithm}-{settings.get('data', 'digits')}")
                name = next(f"{usual}-{k}" for k in range(1, 1_000_000) if f"{usual}-{k}" not in taken)
            elif name in taken:
                raise BadValue("name", name, f"one that no run in {self.out.name} has")
            words = [f"--set={key}={value}" for key, value in checked.items()]
            self._begin(name, ["run", algorithm, f"--name={name}", *words])
        return name

    def resume(self, run: str) -> None:
        """Go on with a run that was stopped."""
        with self._lock:
            if run in self._jobs and not self._jobs[run].ends(PATIENCE):
                raise BadValue("resume", run, "a run that is not under way")
            self._begin(run, ["resume", run])

    def stop(self, run: str) -> None:
        """Ask a run to end; it can be gone on with."""
        job = self._jobs.get(run)
        if job is None or job.code is not None:
            raise BadValue(
                "stop", run, "a run that was started from this page and is under way; stop others where they run"
            )
        job.process.send_signal(signal.SIGINT)

    def standing(self) -> list[dict[str, Any]]:
        """How every process stands."""
        return [{"run": job.run, "code": job.code, "error": job.error} for job in list(self._jobs.values())]

    def _begin(self, run: str, words: list[str]) -> None:
        under_way = sum(job.code is None for job in self._jobs.values())
        if under_way >= MOST:
            raise BadValue("runs", under_way + 1, f"at most {MOST} that are under way at a time")
        said = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as the process
        command = [sys.executable, "-m", "covey", *words, f"--out={self.out}"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        self._jobs[run] = job = Job(run, process)
        threading.Thread(target=job.watch, args=(said,), daemon=True).start()


def check_settings(settings: dict[str, Any]) -> dict[str, str]:
    """Settings as words of a command; none names code or a file.

    >>> check_settings({"rounds": 3, "link": "10MB/s,1ms"})
    {'rounds': '3', 'link': '10MB/s,1ms'}
    """
    checked = {}
    for key, value in settings.items():
        if not SETTING.fullmatch(key):
            raise BadValue("setting", key, "the name of a setting; see: covey run --help")
        if not isinstance(value, str | int | float | bool) or len(str(value)) > 200:
            raise BadValue(key, value, "a number or a short text")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        is_path = "/" in text or "\\" in text or text.startswith(".") or Path(text).suffix in (".toml", ".json", ".csv")
        if (key in FILES and is_path) or "\n" in text or "\0" in text:
            raise BadValue(key, text, "a name; files are for the command line")
        checked[key] = text
    refuse_code(checked, "the page")
    return checked
