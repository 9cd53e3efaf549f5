"""The server's side: a Flower ServerApp whose main loop is a run of covey with devices as its clients."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import nn

from covey.algorithms import Algorithm
from covey.errors import BadData, BadValue, CoveyError, RunFailed, first_fault
from covey.experiment import Experiment, life
from covey.experiment.assembly import algorithm_of
from covey.experiment.settings import GIVEN, parse_set, read_toml
from covey.fleet import Fleet, FleetData
from covey.flower.client import make_module
from covey.flower.crew import Crew, labels_of
from covey.flower.executor import Devices
from covey.flower.post import Post
from covey.flower.records import Terms
from covey.flower.secure import Sessions
from covey.loop import Report
from covey.ragged import Ragged
from covey.shape import fit
from covey.store import Store

log = logging.getLogger("flwr")

OF_FLEETS = ("data", "clients", "partition", "edges", "samples", "windows")  # the devices are what they are
OF_SIMULATIONS = (
    "executor",
    "mode",
    "stack",
    "accelerator",
    "attack",
    "dropout",
    "patience",
    "score_on",
    "score_every",
)


class Deployment(BaseModel):
    """The settings of a run on devices that are not an experiment's, in `[tool.flwr.app.config]` or `--run-config`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    set: str = Field("", description="any other settings, as in 'beta=3 merge=secure'")
    experiment: str = Field("", description="a TOML file with the experiment's settings")
    out: str = Field("runs", description="folder of the run store, on the server")
    run: str = Field("", description="the run's name; with resume, which one")
    resume: bool = Field(False, description="go on with a run that was killed")
    nodes: int = Field(2, ge=1, description="devices to wait for before the run begins")
    wait: float = Field(300.0, gt=0, description="seconds to wait for them; then the run begins with who is there")
    deadline: float = Field(600.0, gt=0, description="seconds a device has for one message")
    label_noise: float = Field(0.0, ge=0, description="epsilon of the noise on label counts; 0 is none")


@dataclass(frozen=True, eq=False)
class Headquarters:
    """What an app does on the server: the network, and the server's own test set, where it has one."""

    model: Callable[[], nn.Module] | None
    classes: int
    test: Callable[[], tuple[Any, Any]] | None
    tests: bool  # whether devices keep test samples of their own

    def main(self, grid: Grid, context: Context) -> None:
        """Run, or go on with a run; what is wrong is one sentence in the log."""
        try:
            run, summary = self.go(grid, context.run_config)
        except CoveyError as error:
            log.error("covey: %s", error)
            raise RunFailed(str(error)) from None
        log.info("covey: run %s has ended: %s", run, {name: summary.get(name) for name in ("rounds", "accuracy")})

    def go(self, grid: Grid, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The whole run; its name and summary."""
        deployment, experiment = read_settings(config)
        post = Post(grid, deployment.deadline)
        crew = Crew(post)
        names: list[str] = []
        if deployment.resume:
            experiment, names, labels = _kept(deployment)
        crew.wait(deployment.nodes, deployment.wait, names)
        if names:
            crew.begin(names)
        if not names:
            if not crew.hellos:
                raise RunFailed(f"no device has come within {deployment.wait:g} s")
            crew.begin()
            labels = labels_of([crew.hellos[name] for name in crew.names])
        _check_algorithm(algorithm_of(experiment))
        assert labels is not None
        fleet = self._fleet(crew, labels)
        experiment = experiment.model_copy(
            update={"data": "devices", "partition": GIVEN, "clients": fleet.clients, "edges": None}
        )
        for text in crew.news():
            log.info("covey: %s", text)
        log.info("covey: %s on %s", experiment.algorithm, fleet)
        assert fleet.data is not None
        module = make_module(self.model, experiment.model, fleet.data.x, self.classes, experiment.seed)
        backend = Devices(post, crew, _terms(experiment), fleet, self.tests, Sessions(post, crew))
        parts: dict[str, Any] = {"fleet": fleet, "module": module, "backend": backend}
        if deployment.resume:
            return life.resume(deployment.run or None, deployment.out, [_tell], allow_code=True, **parts)
        return life.start(experiment, deployment.out, [_tell], name=deployment.run or None, **parts)

    def _fleet(self, crew: Crew, labels: NDArray[np.int64]) -> Fleet:
        """The devices as a fleet: the server knows their counts, and nothing of their samples."""
        known = [crew.hellos[name] for name in crew.names if name in crew.hellos]
        if not known:
            raise RunFailed("none of the run's devices has come")
        shape, dtype = known[0].shape, known[0].dtype
        edges = np.array([crew.hellos[name].edge if name in crew.hellos else 0 for name in crew.names])
        nobody = Ragged.cut(np.arange(0), np.zeros(len(labels), dtype=np.int64))
        x, y = np.zeros((1, *shape), dtype=dtype), np.zeros(1, dtype=np.int64)
        test_x, test_y = (x[:0], y[:0]) if self.test is None else self.test()
        data = FleetData("devices", x, y, test_x, test_y, nobody, nobody, self.classes)
        return Fleet(labels, edge_of=edges, names=tuple(crew.names), data=data)


def read_settings(config: Mapping[str, Any]) -> tuple[Deployment, Experiment]:
    """The settings in an app's configuration: those of `Deployment`, all others an experiment's or its algorithm's.

    >>> deployment, experiment = read_settings({"algorithm": "fedgsp", "rounds": 3, "label-noise": 1.0, "beta": 2})
    >>> deployment.label_noise, experiment.rounds, experiment.options["beta"]
    (1.0, 3, 2)
    """
    given = {name.replace("-", "_"): value for name, value in config.items()}
    own = {name: given.pop(name) for name in Deployment.model_fields if name in given}
    try:
        deployment = Deployment(**own)
    except ValidationError as error:
        raise first_fault(error, "configuration of the app") from None
    given |= parse_set(deployment.set.split())
    for name in (*OF_FLEETS, *OF_SIMULATIONS):
        if name in given:
            raise BadValue(name, given[name], "a setting of simulations; devices are what they are, leave it out")
    if deployment.experiment:
        found = read_toml(Path(deployment.experiment), given, allow_code=True)
        unused = [
            name
            for name in (*OF_FLEETS, "executor", "mode", "stack", "accelerator")
            if found.pop(name, None) is not None
        ]
        if unused:
            log.info("covey: of %s, devices make no use of: %s", deployment.experiment, ", ".join(unused))
        found.pop("comparison", None)
        if "runs" in found or "sweep" in found:
            raise BadData(f"experiment {deployment.experiment} holds several runs; devices run one")
        given = {**found, **given}
    return deployment, Experiment.make(given)


def _kept(deployment: Deployment) -> tuple[Experiment, list[str], NDArray[np.int64] | None]:
    """The settings of a run that was killed, its clients' names and counts; no names where it has no checkpoint."""
    with Store(deployment.out) as store:
        record = store.get(deployment.run) if deployment.run else store.unfinished()
        with store.owned(record.run):
            found = store.rewind(record.run)
    experiment = Experiment.again(record.config)
    if found is None:
        return experiment, [], None
    state = found[1].data["executor"]
    try:
        fit(state, {"memory": dict, "names": {str: str}, "labels": np.ndarray}, "the executor's state")
    except ValueError as error:
        raise BadData(f"run {record.run} was no run on devices ({error})") from None
    return experiment, [state["names"][str(number)] for number in range(len(state["names"]))], state["labels"]


def _terms(experiment: Experiment) -> Terms:
    """What devices are told of the run."""
    words = algorithm_of(experiment).parts()
    local = experiment.local or words.get("local", "sgd")
    told = ("model", "batch", "momentum", "weight_decay", "optimiser", "augment")
    named = {name: getattr(experiment, name) for name in told}
    return Terms(local=local, seed=experiment.seed, **named)


def _check_algorithm(algorithm: Algorithm) -> None:
    if type(algorithm).prepare is not Algorithm.prepare:
        name = type(algorithm).__name__
        raise BadValue("algorithm", name, "one that leaves the data as it is; devices' samples are not seen here")


def _tell(report: Report) -> None:
    scores = {name: round(report.metrics[name], 4) for name in ("accuracy", "own_accuracy") if name in report.metrics}
    log.info("covey: round %s of %s: %s", report.metrics["round"], report.rounds, scores)
