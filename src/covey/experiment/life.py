"""The life of a run: it is started with a store or without, it may be killed, it is resumed, it ends."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from covey.checkpoint import Checkpoint
from covey.data.own import is_own, own_data
from covey.errors import BadValue, RunFailed
from covey.experiment.assembly import assemble
from covey.experiment.settings import Experiment
from covey.loop import Callback, Loop
from covey.progress import Progress
from covey.registry import refuse_code
from covey.store import RunRecord, Store
from covey.store.rows import VERSIONS
from covey.store.runs import LIMITS


@dataclass
class Kept:
    """Keeps a run in memory: its name, the metrics of every round, what happened. Nothing is written."""

    run: str
    rounds: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def add_round(self, round: int, metrics: dict[str, Any], data: dict[str, Any] | None) -> None:
        """One more round is done."""
        self.rounds.append(metrics)

    def add_event(self, round: int, kind: str, text: str) -> None:
        """Something happened."""
        self.events.append({"round": round, "kind": kind, "text": text})


@dataclass(frozen=True)
class Stored:
    """Keeps a run in a store."""

    store: Store
    run: str

    def add_round(self, round: int, metrics: dict[str, Any], data: dict[str, Any] | None) -> None:
        """One more round is done; with all that the next depends on, there is a checkpoint of it."""
        self.store.add_round(self.run, round, metrics, None if data is None else Checkpoint(data))

    def add_event(self, round: int, kind: str, text: str) -> None:
        """Something happened."""
        self.store.add_event(self.run, round, kind, text)


def try_out(
    experiment: Experiment, callbacks: Sequence[Callback] = (), **parts: Any
) -> tuple[Kept, dict[str, Any], list[Tensor]]:
    """Run an experiment without a store; gives what was kept, the summary and the models. `parts` as in `assemble`."""
    kept = Kept(f"{_usual(experiment)}-1")
    loop = assemble(experiment, recorder=kept, **parts)
    with contextlib.closing(loop.executor):
        progress = loop.begin()
        ended = loop.go(progress, callbacks)
    return kept, _summary(kept.run, experiment, ended), progress.models


def start(
    experiment: Experiment,
    out: str | Path,
    callbacks: Sequence[Callback] = (),
    *,
    name: str | None = None,
    labels: Sequence[tuple[str, str]] = (),
    **parts: Any,
) -> tuple[str, dict[str, Any]]:
    """Run an experiment with a store; gives the run's name and summary.

    `name` is the run's unless it is to have one made for it, `labels` are tags and notes as (kind, text), `parts` are
    given to `assemble`.
    """
    with Store(out) as store:
        run = store.create(name or _usual(experiment), experiment.model_dump(), numbered=name is None)
        for kind, text in labels:
            store.add_event(run, 0, kind, text)
        store.add_event(run, 0, VERSIONS, versions())
        with store.owned(run), contextlib.ExitStack() as ending:
            try:
                loop = assemble(experiment, recorder=Stored(store, run), **parts)
                ending.enter_context(contextlib.closing(loop.executor))
                progress = loop.begin()
            except BaseException:  # what is wrong with the settings shows here, and then there is no run
                store.discard(run)
                raise
            return run, _go(loop, store, progress, experiment, callbacks)


def _usual(experiment: Experiment) -> str:
    """What a run is called unless told; data of one's own by its file."""
    data = own_data(experiment.data).path.stem if is_own(experiment.data) else experiment.data
    return f"{experiment.algorithm}-{data}"


def resume(
    run: str | None,
    out: str | Path,
    callbacks: Sequence[Callback] = (),
    *,
    rounds: int | None = None,
    allow_code: bool = False,
    **parts: Any,
) -> tuple[str, dict[str, Any]]:
    """Go on where a run was killed; without a name, the latest unfinished one. `parts` are given to `assemble`.

    With `rounds` the run ends after this many, also one that was finished; what else was to stop it no longer does. A
    run whose settings name code (`./mine.py:Pairs`) is refused unless `allow_code`: the store may be a stranger's.
    """
    with Store(out) as store:
        record = store.unfinished() if run is None else store.get(run)
        with store.owned(record.run):
            if record.status == "finished" and rounds is None:
                return record.run, record.summary
            if not allow_code:
                refuse_code(record.config, record.run)
            if rounds is not None:
                record = _extended(store, record, rounds)
            experiment = Experiment.again(record.config)
            loop = assemble(experiment, recorder=Stored(store, record.run), **parts)
            with contextlib.closing(loop.executor):
                found = store.rewind(record.run, loop.check)
                progress = loop.begin() if found is None else loop.restore(found[1].data)
                progress.done &= rounds is None
                store.mark(record.run, "running", {})
                store.add_event(record.run, progress.round, "resumed", f"after round {progress.round}")
                if versions() not in [event["text"] for event in store.events(record.run) if event["kind"] == VERSIONS]:
                    store.add_event(record.run, progress.round, VERSIONS, versions())
                return record.run, _go(loop, store, progress, experiment, callbacks)


def versions() -> str:
    """What runs are made with here."""
    own = vars(import_module("covey"))["__version__"]
    system = f"{platform.system()} {platform.machine()}"
    return f"covey {own}, Python {platform.python_version()}, torch {torch.__version__}, {system}"


def _extended(store: Store, record: RunRecord, rounds: int) -> RunRecord:
    """The run with another number of rounds, which must be more than it has."""
    has = max((row["round"] for row in store.rounds(record.run)), default=0)
    if rounds <= has:
        raise BadValue("rounds", rounds, f"a number above {has}, which run {record.run} has")
    store.amend(record.run, dict.fromkeys(LIMITS) | {"rounds": rounds})
    return store.get(record.run)


def _go(
    loop: Loop, store: Store, progress: Progress, experiment: Experiment, callbacks: Sequence[Callback]
) -> dict[str, Any]:
    try:
        ended = loop.go(progress, callbacks)
    except RunFailed:
        with contextlib.suppress(RunFailed):  # a full disk takes no note of it either
            store.mark(loop.run, "failed", {})
        raise
    summary = _summary(loop.run, experiment, ended)
    store.mark(loop.run, "finished", summary)
    return summary


def _summary(run: str, experiment: Experiment, ended: dict[str, Any]) -> dict[str, Any]:
    return {"run": run, "algorithm": experiment.algorithm, "status": "finished", **ended}
