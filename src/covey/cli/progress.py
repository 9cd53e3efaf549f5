"""What is going on, from the first second: live bars in a terminal or a notebook, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from covey.cli.console import plain, visible
from covey.report.amounts import size

if TYPE_CHECKING:
    from covey.compare.work import Heard
    from covey.loop import Report

    Seen = Report | Heard

WIDE = 110  # columns from which a bar has room for loss and traffic
NARROW = 70  # columns below which it has none for the time
EVERY = 30.0  # seconds between lines where there is no terminal


class Watch:
    """Shows the runs it is told of. It is a callback of runs, too: one bar per run."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = console.is_terminal or console.is_jupyter
        self.begun = time.monotonic()
        width = console.width
        columns = [
            SpinnerColumn("line", finished_text=" "),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20 if width >= WIDE else 10),
            TextColumn("{task.fields[scores]}"),
            *([TimeElapsedColumn()] if width >= NARROW else []),
        ]
        self.progress = Progress(*columns, console=console, disable=not self.live)
        self.latest: dict[str, dict[str, Any]] = {}
        self.wanted = 0  # runs, where it is known
        self.ended: set[str] = set()
        self._tasks: dict[str, TaskID] = {}
        self._waiting: TaskID | None = None
        self._said: dict[str, str] = {"": "starting"}  # by what each run's bar is called; "" is said of none

    def say(self, text: str) -> None:
        """What is being done until the next round is over, as loading data."""
        self._said[""] = text
        if self._waiting is None:
            self._waiting = self.progress.add_task("", total=None, scores="")
        self.progress.update(self._waiting, description=plain(self._cut(text)))

    def begin(self, name: str) -> Callable[[Seen], None]:
        """A run is about to begin, of which the bar is called so; what is given shows its rounds."""
        self.say(f"{name}: loading, grouping, round 1")
        self._said[name] = self._said.pop("")
        assert self._waiting is not None
        self._tasks[name], self._waiting = self._waiting, None
        return lambda report: self._show(name, report)

    def __call__(self, report: Seen) -> None:
        """After every round of a run."""
        run = report.run or "run"
        if run not in self._tasks:
            task = self._waiting if self._waiting is not None else self.progress.add_task("", scores="")
            self._tasks[run], self._waiting = task, None
        self._said.pop("", None)
        self._show(run, report)

    def _show(self, name: str, report: Seen) -> None:
        metrics = self.latest[name] = self.latest.get(name, {}) | report.metrics  # not every round is evaluated
        scores = f"{metrics['round']}/{report.rounds} {self._scores(metrics)}"
        told = _words(metrics, ("accuracy", "loss"))
        if name not in self.ended:
            self._said[name] = f"{name}: round {metrics['round']} of {report.rounds}, {told}".removesuffix(", ")
        shown = {"description": plain(self._cut(name)), "total": report.rounds, "completed": metrics["round"]}
        self.progress.update(self._tasks[name], **shown, scores=scores)

    def over(self, name: str) -> None:
        """That run has ended, maybe before its last round."""
        self.ended.add(name)
        self._said.pop(name, None)
        task = next((task for task in self.progress.tasks if task.id == self._tasks.get(name)), None)
        if task is not None and not task.finished:
            self.progress.update(task.id, total=max(task.completed, 1), completed=max(task.completed, 1))

    def _scores(self, metrics: dict[str, Any]) -> str:
        if self.console.width < WIDE:
            return _words(metrics, ("accuracy",))
        return f"{_words(metrics, ('accuracy', 'loss'))} {size(metrics['traffic_bytes'])}"

    def _cut(self, text: str) -> str:
        most = max(16, self.console.width - (75 if self.console.width >= WIDE else 48))
        return text if len(text) <= most else f"{text[: most - 1]}…"

    def line(self) -> str:
        """Where things stand, on one line."""
        runs = f"{len(self.ended)} of {self.wanted} runs done; " if self.wanted > 1 else ""
        said = list(self._said.values()) or ["on to the next"]
        return f"{time.monotonic() - self.begun:.0f} s: {runs}{visible('; '.join(said))}"


@contextlib.contextmanager
def bars(console: Console | None = None, *, every: float = EVERY) -> Iterator[Watch]:
    """What shows runs while the block lasts: on standard error, so that output stays clean."""
    console = console or Console(stderr=True, emoji=False)
    watch = Watch(console)
    if watch.live:
        with watch.progress:
            yield watch
            if watch._waiting is not None:
                watch.progress.remove_task(watch._waiting)
        return
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(every):
            console.print(watch.line(), markup=False, highlight=False, soft_wrap=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


def _words(metrics: dict[str, Any], names: tuple[str, ...]) -> str:
    return " ".join(f"{name} {metrics[name]:.3f}" for name in names if metrics.get(name) is not None)
