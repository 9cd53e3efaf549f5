"""covey from Python: `covey.run` and `covey.resume`, in a script or a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from torch import Tensor, nn

from covey.algorithms import ALGORITHMS, Algorithm
from covey.execute.layout import Layout
from covey.experiment import Experiment, life
from covey.experiment.settings import GIVEN
from covey.fleet import Fleet
from covey.loop import Callback
from covey.report.curves import curves
from covey.store import Store

SCORES = ("accuracy", "own_accuracy")


@dataclass(frozen=True, eq=False)
class Run:
    """A run that is over: its summary, the metrics of every round, and its models as flat vectors."""

    name: str
    summary: dict[str, Any]
    rounds: list[dict[str, Any]]
    models: list[Tensor]
    events: list[dict[str, Any]]

    @property
    def accuracy(self) -> float:
        """Global test accuracy at the end; not a number where there is nothing to test on."""
        found = self.summary["accuracy"]
        return math.nan if found is None else float(found)

    def load_into(self, module: nn.Module, model: int = 0) -> nn.Module:
        """Give a module of the run's architecture the run's weights."""
        with_views = Layout(module).views(self.models[model])
        module.load_state_dict(with_views, strict=False)
        return module

    def plot(self, path: str | Path) -> None:
        """Draw accuracy over rounds and over traffic."""
        curves({self.name: self.rounds}, Path(path))

    def __repr__(self) -> str:
        scores = [f"{name}={self.summary[name]:.4f}" for name in SCORES if self.summary.get(name) is not None]
        rounds = f"{self.summary['rounds']} rounds"
        return f"Run({', '.join([self.name, rounds, *scores])})"


def run(
    algorithm: Algorithm | str | Experiment,
    fleet: Fleet | None = None,
    *,
    model: str | nn.Module | None = None,
    out: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> Run:
    """Train an algorithm on a fleet and wait for the end.

    `settings` are those of `Experiment` (`rounds`, `lr`, `seed`, …) and, with an algorithm's name, the algorithm's own;
    without a fleet they say which data and how many clients. `out` keeps the run in a store, so that `resume` can go on
    with it, and without it nothing is written; callbacks see a `Report` after every round and may return True to stop.

    >>> import covey
    >>> done = covey.run("fedavg", data="digits", clients=4, rounds=2, lr=0.2, mode="one-by-one")
    >>> done.summary["rounds"], done.accuracy > 0.3
    (2, True)
    """
    parts: dict[str, Any] = {"fleet": fleet}
    if isinstance(model, nn.Module):
        parts["module"] = model
        settings["model"] = type(model).__name__
    elif model is not None:
        settings["model"] = model
    if isinstance(algorithm, Experiment):
        wanted = Experiment.make({**algorithm.model_dump(), **settings})
    elif isinstance(algorithm, str):
        wanted = Experiment.make({**settings, "algorithm": algorithm})
    else:
        parts["algorithm"] = algorithm
        wanted = Experiment.make(settings).model_copy(update=_described(algorithm))
    if fleet is not None and fleet.data is not None:
        wanted = wanted.model_copy(update={"data": fleet.data.name, "clients": fleet.clients, "partition": GIVEN})
    if out is not None:
        return _read(life.start(wanted, out, callbacks, **parts)[0], out)
    kept, summary, models = life.try_out(wanted, callbacks, **parts)
    return Run(kept.run, summary, kept.rounds, models, kept.events)


def resume(
    name: str | None = None,
    *,
    out: str | Path = "runs",
    algorithm: Algorithm | None = None,
    fleet: Fleet | None = None,
    model: nn.Module | None = None,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Go on with a run that was killed; without a name, the latest unfinished one.

    A run that was started with objects (a fleet of one's own, a module) needs the same objects again.
    """
    found = life.resume(name, out, callbacks, algorithm=algorithm, fleet=fleet, module=model)
    return _read(found[0], out)


def _described(algorithm: Algorithm) -> dict[str, Any]:
    """The settings that make this algorithm again; one of a user's own gets a name that makes no other."""
    for entry in ALGORITHMS:
        if entry.thing is type(algorithm):
            return {"algorithm": entry.name, "options": TypeAdapter(type(algorithm)).dump_python(algorithm)}
    name = type(algorithm).__name__.lower()
    return {"algorithm": f"own-{name}" if name in ALGORITHMS else name}


def _read(name: str, out: str | Path) -> Run:
    with Store(out) as store:
        models = store.checkpoint(name).data["models"]
        return Run(name, store.get(name).summary, store.rounds(name), models, store.events(name))
