"""Live bars for a person, silence for a pipe."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from covey.loop import Callback, Report


@contextlib.contextmanager
def bars(console: Console | None = None) -> Iterator[Callback]:
    """A callback that shows one bar a run: round, accuracy, loss, traffic, time left. Quiet when not a terminal."""
    console = console or Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[scores]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not (console.is_terminal or console.is_jupyter),
    )
    tasks: dict[str, TaskID] = {}
    latest: dict[str, dict[str, Any]] = {}

    def show(report: Report) -> None:
        if report.run not in tasks:
            tasks[report.run] = progress.add_task(report.run or "run", total=report.rounds, scores="")
        metrics = latest[report.run] = latest.get(report.run, {}) | report.metrics  # not every round is evaluated
        scores = " ".join(f"{name} {metrics[name]:.3f}" for name in ("accuracy", "loss") if name in metrics)
        scores = f"{scores} {size(metrics['traffic_bytes'])}"
        progress.update(tasks[report.run], completed=metrics["round"], scores=scores)

    with progress:
        yield show


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
