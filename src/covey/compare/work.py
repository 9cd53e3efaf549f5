"""The runs of a comparison: those that a store has already are not made again, those that were killed go on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any, TypeAlias

from covey.compare.comparison import Cell, Comparison
from covey.compare.fleets import Fleets
from covey.errors import RunFailed
from covey.experiment import Experiment


@dataclass(frozen=True)
class Done:
    """A run that is over: its name in the store, what it came to and its rounds, or why it failed.

    Where no runs are compared but groupings or prices, `summary` holds the figures and there is no name.
    """

    cell: Cell
    run: str | None
    summary: dict[str, Any] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None
    fresh: bool = True  # made now, not found in the store


@dataclass(frozen=True)
class Heard:
    """What another process tells of a round it has made."""

    run: str
    rounds: int
    metrics: dict[str, Any]


Told: TypeAlias = "SimpleQueue[tuple[int, Heard | None] | None]"
"""What processes tell: which run (its place) has begun, or made a round; None at the end of all."""
Watcher = Callable[[Any], bool | None]
"""Sees the rounds of one run, a `Report` each; a `Heard` where another process makes the run, which it cannot stop."""
Begins = Callable[[Cell], "Sequence[Watcher]"]
"""Told which run begins; gives those who watch it."""
Ends = Callable[[Done], None]


def carry_out(
    comparison: Comparison,
    out: str | Path,
    *,
    jobs: int = 1,
    begins: Begins = lambda cell: (),
    ends: Ends = lambda done: None,
) -> tuple[list[Done], float | None]:
    """Every run of a comparison, kept in the store in `out`, and the amount of the budget that was equal for all.

    Where the comparison gives no amount, it is what the first entry spends with the first seed. With several jobs runs
    are made at once, each in a process of its own. `begins` is called with every run that is made now, `ends` with
    every run that is over.
    """
    amount = comparison.terms.amount
    if comparison.terms.budget == "rounds":
        return list(_all(comparison.cells(), out, jobs, begins, ends)), None
    known: list[Done] = []
    if amount is None:
        first = comparison.cells()[0]
        known = list(_all([first], out, 1, begins, ends))
        if known[0].failure is not None:
            raise RunFailed(f"{first.entry.name}, whose spending is the budget, failed: {known[0].failure}")
        amount = float(known[0].rounds[-1][comparison.metric])
    rest = comparison.cells(amount)[len(known) :]
    return [*known, *_all(rest, out, jobs, begins, ends)], amount


def _all(cells: Sequence[Cell], out: str | Path, jobs: int, begins: Begins, ends: Ends) -> Iterator[Done]:
    """The runs in their order; `ends` hears of each as it is over."""
    if jobs > 1 and len(cells) > 1:
        yield from _at_once(cells, out, jobs, begins, ends)
        return
    fleets = Fleets()
    for cell in cells:
        done = _one(cell, out, fleets, begins)
        ends(done)
        yield done


def _at_once(cells: Sequence[Cell], out: str | Path, jobs: int, begins: Begins, ends: Ends) -> Iterable[Done]:
    context, threads = get_context("spawn"), max(1, (os.cpu_count() or 1) // jobs)
    told: Told = context.SimpleQueue()
    faults: list[Exception] = []
    ear = threading.Thread(target=_listen, args=(told, cells, begins, faults), daemon=True)
    ear.start()
    try:
        with ProcessPoolExecutor(jobs, context, _prepare, (threads, told)) as pool:
            asked = {pool.submit(_alone, number, cell, str(out)): number for number, cell in enumerate(cells)}
            found: dict[int, Done] = {}
            try:
                for future in as_completed(asked):
                    found[asked[future]] = done = future.result()
                    ends(done)
            except BrokenProcessPool:
                raise RunFailed(
                    "a process that made runs was ended from outside, perhaps for want of memory; the same command "
                    "goes on with what is missing, with fewer --jobs"
                ) from None
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        told.put(None)
        ear.join()
    if faults:
        raise faults[0]
    return [found[number] for number in range(len(cells))]


def _listen(told: Told, cells: Sequence[Cell], begins: Begins, faults: list[Exception]) -> None:
    """Pass on what the processes tell, until all is told; they would wait for ever for one who stops listening."""
    watchers: dict[int, Sequence[Watcher]] = {}
    while (news := told.get()) is not None:
        number, heard = news
        try:
            if heard is None:
                watchers[number] = begins(cells[number])
            else:
                for watch in watchers.get(number, ()):
                    watch(heard)
        except Exception as error:
            faults.append(error)


_told: Told | None = None  # in a process that makes runs for another
_fleets = Fleets()  # of the runs that this process has made


def _prepare(threads: int, told: Told) -> None:
    import torch

    global _told
    _told = told
    torch.set_num_threads(threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Nobody waits for what this process makes any more; the run goes on with the next command."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _alone(number: int, cell: Cell, out: str) -> Done:
    assert _told is not None
    tell = _told.put

    def begins(_: Cell) -> list[Watcher]:
        tell((number, None))
        return [lambda report: tell((number, Heard(report.run, report.rounds, report.metrics)))]

    return _one(cell, out, _fleets, begins)


def _one(cell: Cell, out: str | Path, fleets: Fleets, begins: Begins) -> Done:
    """One run: found, gone on with, or made; or whatever else the comparison is of."""
    if cell.work != "runs":
        from covey.compare.works import measured

        begins(cell)
        return Done(cell, None, *measured(cell.work, cell.settings, cell.seed, fleets))
    from covey.experiment.life import resume, start  # torch takes seconds, and to read a comparison needs none
    from covey.store import Store

    experiment = cell.experiment
    usual = {name: field.default for name, field in Experiment.model_fields.items()}  # not known when it was stored
    config = experiment.model_dump(mode="json")
    found = None
    with Store(out) as store:
        for record in store.runs():
            if record.status == "finished" and usual | record.config == config:
                return Done(cell, record.run, record.summary, store.rounds(record.run), fresh=False)
            if record.status == "interrupted" and record.config == config:
                found = record.run
    callbacks = begins(cell)
    try:
        fleet = fleets.get(experiment)
        if found is None:
            found, summary = start(experiment, out, callbacks, fleet=fleet)
        else:
            found, summary = resume(found, out, callbacks, allow_code=True, fleet=fleet)  # the settings are ours
    except RunFailed as error:
        return Done(cell, found, failure=str(error))
    with Store(out, read_only=True) as store:
        return Done(cell, found, summary, store.rounds(found))
