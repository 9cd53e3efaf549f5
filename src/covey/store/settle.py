"""Checkpoints reach the disk itself while the next rounds go on; those that are no longer needed go when they have."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from covey.errors import RunFailed
from covey.store.files import files_in, to_disk


class Settler:
    """One thread that waits for the disk. `log` is what the database wrote last, and goes to the disk, too."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._under_way: Future[None] | None = None
        self._newest: Path | None = None
        self._settled: Path | None = None

    def soon(self, path: Path) -> None:
        """Bring this checkpoint to the disk, unless another is still under way: then a later one's turn will do."""
        self._newest = path
        if self._under_way is None or self._under_way.done():
            self.wait()
            self._under_way = self._thread.submit(self.settle, path)

    def now(self) -> None:
        """Bring the newest checkpoint to the disk before anything else happens."""
        self.wait()
        if self._newest is not None and self._newest != self._settled:
            self._under_way = self._thread.submit(self.settle, self._newest)
            self.wait()

    def wait(self) -> None:
        """Wait for what is under way, and say if it could not be done."""
        under_way, self._under_way = self._under_way, None
        try:
            if under_way is not None:
                under_way.result()
        except OSError as error:
            self._newest = None
            raise RunFailed(f"checkpoints do not reach the disk of {self.log.parent} ({error.strerror})") from None

    def forget(self) -> None:
        """Leave the newest checkpoint as it is; it is about to be taken back."""
        self.wait()
        self._newest = self._settled = None

    def close(self) -> None:
        """Let what is under way come to its end."""
        self._thread.shutdown()

    def settle(self, path: Path) -> None:
        """Bring a checkpoint and what the database says to the disk, then drop those before the one before it."""
        to_disk(path)
        to_disk(path.parent)
        with contextlib.suppress(FileNotFoundError):  # a database that was taken away, which the next write notices
            to_disk(self.log)
        files = list(files_in(path.parent).values())
        for old in files[: max(0, files.index(path) - 1)]:
            old.unlink(missing_ok=True)
        self._settled = path
