"""An experiment: everything a run is made of, from keyword arguments, a TOML file or the command line."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey import seeds
from covey.algorithms import ALGORITHMS, Algorithm, make_algorithm
from covey.algorithms.base import first_fault
from covey.errors import BadData, BadValue, RunFailed, UnknownName
from covey.execute.local import LocalExecutor, Training
from covey.execute.walk import Job
from covey.fleet import Fleet
from covey.local import make_rule
from covey.loop import Callback, Limits, Loop, Meter, Progress
from covey.merge import MERGES, make_server
from covey.models import build_model, check_fit
from covey.network.flops import count_flops
from covey.network.price import Meter as NetworkMeter
from covey.network.site import Site, make_site
from covey.store import Store
from covey.theory import PRICES

ON_NETWORK = ("link", "trunk", "device", "server_device", "stragglers", "day", "group_operation")
GIVEN = "given"  # the partition of a run whose fleet was handed over as an object


class Experiment(BaseModel):
    """The settings of a run. The text beside a setting is its help on the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    algorithm: str = Field("fedavg", description="which algorithm; see: covey list algorithms")
    options: dict[str, Any] = Field(default_factory=dict, description="the algorithm's own settings")
    data: str = Field("digits", description="data set; see: covey data")
    clients: int = Field(50, ge=0, description="number of clients; 0 takes all the data set has (natural partition)")
    partition: str = Field("dirichlet:0.3", description="how data is split over clients; see: covey list partitions")
    edges: int | None = Field(
        None, ge=1, description="edge servers the clients are attached to; 5 if there are so many"
    )
    samples: int | None = Field(None, ge=1, description="at most so many samples a client")
    windows: int | None = Field(None, ge=1, description="parts of the day in which clients are awake, one each")
    test_fraction: float = Field(0.2, ge=0, lt=1, description="share of a client's samples kept for its own test")
    model: str = Field("2nn", description="network, or package.module:Class; see: covey list models")
    rounds: int = Field(20, ge=1, description="global rounds")
    seed: int = Field(0, ge=0, description="seed of every random number")
    lr: float = Field(0.05, gt=0, description="clients' learning rate")
    batch: int = Field(10, ge=0, description="batch size; 0 is all of a client's samples")
    epochs: int = Field(1, ge=1, description="local epochs")
    momentum: float = Field(0.0, ge=0, lt=1, description="clients' momentum")
    weight_decay: float = Field(0.0, ge=0, description="clients' weight decay")
    optimiser: Literal["sgd", "adam"] = Field("sgd", description="clients' optimiser, sgd or adam")
    decay: float = Field(1.0, gt=0, le=1, description="factor of the learning rate")
    decay_every: int = Field(1, ge=1, description="rounds after which the factor is applied")
    local: str | None = Field(None, description="local rule, such as fedprox:0.01; the algorithm's own unless given")
    merge: str | None = Field(None, description="how models become one; the algorithm's own unless given")
    server: str | None = Field(None, description="server step, such as adam:0.1; the algorithm's own unless given")
    dropout: float = Field(0.0, ge=0, lt=1, description="chance that a training fails")
    quorum: float = Field(0.0, ge=0, le=1, description="share of a round's trainings below which it is tried again")
    target_accuracy: float | None = Field(None, gt=0, le=1, description="stop when the global accuracy reaches this")
    prices: str | None = Field(None, description="prices of the metric `cost`, such as cifar-secure (Group-FEL, Eq. 5)")
    budget: float | None = Field(None, gt=0, description="stop when the cost reaches this; prices cifar-secure if none")
    network: str | None = Field(None, description="network to keep the time on, such as fat-tree:10, or a file")
    link: str | None = Field(None, description="its links, 10MB/s,1ms unless given")
    trunk: str | None = Field(None, description="its links between switches; as the others unless given")
    device: str | None = Field(None, description="what clients run on, or a mix; phone-5gflops unless given")
    server_device: str | None = Field(None, description="what servers merge on; they take no time unless given")
    stragglers: str | None = Field(None, description="clients that are slow, as share:slowdown, such as 0.1:5")
    day: float | None = Field(None, gt=0, description="seconds of the day in whose windows clients are awake")
    group_operation: str | None = Field(None, description="what clients do when models meet, as secure-aggregation")
    stop_at_seconds: float | None = Field(
        None, gt=0, description="stop when so many seconds have passed on the network"
    )
    evaluate_every: int = Field(1, ge=1, description="rounds between evaluations")
    checkpoint_every: int = Field(1, ge=1, description="rounds between checkpoints")
    mode: Literal["auto", "one-by-one", "stacked", "compiled"] = Field("auto", description="how clients are trained")

    @classmethod
    def make(cls, settings: dict[str, Any]) -> Experiment:
        """Settings by name; a name that is not an experiment's is one of the algorithm's.

        >>> Experiment.make({"algorithm": "fedavg", "sample": 0.5, "rounds": 3}).options
        {'sample': 0.5}
        """
        own = {name: value for name, value in settings.items() if name in cls.model_fields}
        options = own.pop("options", {})
        if not isinstance(options, dict):
            raise BadValue("options", options, "a table of the algorithm's own settings")
        options = {**options, **{name: v for name, v in settings.items() if name not in cls.model_fields}}
        algorithm = str(own.get("algorithm", "fedavg"))
        known = [name for name, f in ALGORITHMS[algorithm].__dataclass_fields__.items() if f.init]
        for name in options:
            if name not in known:
                raise UnknownName("setting", name, [*(n for n in cls.model_fields if n != "options"), *known])
        make_algorithm(algorithm, options)
        try:
            return cls(**own, options=options)
        except ValidationError as error:
            raise first_fault(error, "settings") from None

    @classmethod
    def read(cls, path: str | Path, settings: dict[str, Any] | None = None) -> Experiment:
        """From a TOML file, with some settings in place of the file's."""
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise BadData(f"experiment {path} cannot be read ({error.strerror})") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadData(f"experiment {path} is not TOML: {error}") from None
        return cls.make({**found, **(settings or {})})

    def make_algorithm(self) -> Algorithm:
        """The algorithm with its settings; one that looks at a network is given the run's."""
        takes_network = "network" in ALGORITHMS[self.algorithm].__dataclass_fields__
        given = {"network": self.network} if takes_network and self.network is not None else {}
        return make_algorithm(self.algorithm, given | self.options)

    def make_fleet(self) -> Fleet:
        """The clients with their data."""
        if self.partition == GIVEN:
            raise BadValue("fleet", "one of your own", "given again, as in covey.resume(run, fleet=fleet)")
        return Fleet.load(
            self.data,
            clients=self.clients,
            partition=self.partition,
            edges=self.edges or min(5, self.clients or 5),
            samples=self.samples,
            windows=self.windows,
            test_fraction=self.test_fraction,
            seed=self.seed,
        )

    def make_loop(
        self,
        *,
        algorithm: Algorithm | None = None,
        fleet: Fleet | None = None,
        module: torch.nn.Module | None = None,
        run: str = "",
        store: Store | None = None,
        make_executor: type[LocalExecutor] = LocalExecutor,
        make_meter: Callable[[Site], Meter] = NetworkMeter,
    ) -> Loop:
        """The run loop; parts that are not given are made from the settings."""
        algorithm = algorithm or self.make_algorithm()
        fleet = algorithm.prepare(fleet or self.make_fleet(), seeds.generator(self.seed, 0, "prepare"))
        data = fleet.data
        if data is None:
            raise BadValue("fleet", "one without data", "one with data, as Fleet.load makes it")
        dtype = torch.from_numpy(data.x[:1]).dtype
        if module is None:
            module = build_model(self.model, data.shape, data.classes, self.seed, dtype=dtype)
        else:
            check_fit(module, type(module).__name__, data.shape, data.classes, dtype=dtype)
        parts = {"local": "sgd", "merge": "mean", "server": "replace"}
        parts |= {"prices": "cifar-secure" if self.budget else ""} | algorithm.parts()
        parts |= {name: given for name in parts if (given := getattr(self, name)) is not None}
        MERGES.entry(parts["merge"])
        training = Training(**{name: getattr(self, name) for name in Training.__dataclass_fields__})
        executor = make_executor(
            module,
            data,
            training,
            rule=make_rule(parts["local"]),
            merge=parts["merge"],
            seed=self.seed,
            mode=self.mode,
            fail=self._drop if self.dropout else None,
        )
        limits = Limits(**{name: getattr(self, name) for name in Limits.__dataclass_fields__})
        server = make_server(parts["server"])
        prices = PRICES[parts["prices"]] if parts["prices"] else None
        site = self._site(fleet, executor, parts["local"])
        meter = None if site is None else make_meter(site)
        return Loop(
            algorithm,
            fleet,
            executor,
            server,
            limits,
            seed=self.seed,
            prices=prices,
            meter=meter,
            run=run,
            store=store,
        )

    def _site(self, fleet: Fleet, executor: LocalExecutor, rule: str) -> Site | None:
        """The network the run is timed on."""
        words = {name: getattr(self, name) for name in ON_NETWORK}
        if self.network is None:
            for name in ("stop_at_seconds", *ON_NETWORK):
                if getattr(self, name) is not None:
                    raise BadValue(name, getattr(self, name), "a setting of runs with a network; set network")
            return None
        layout = executor.layout
        return make_site(
            fleet,
            network=self.network,
            flops=count_flops(layout.module, executor.task.x[:1]).training,
            model_bytes=4 * layout.size,
            epochs=self.epochs,
            rule=rule.partition(":")[0],
            seed=self.seed,
            **words,
        )

    def _drop(self, job: Job, round: int, attempt: int) -> str | None:
        draw = seeds.key(self.seed, round, "dropout", attempt, job.client, job.visit) / 2**63
        return "the client dropped out" if draw < self.dropout else None


def start(
    experiment: Experiment, out: str | Path, callbacks: Sequence[Callback] = (), **parts: Any
) -> tuple[str, dict[str, Any]]:
    """Run an experiment with a store; gives the run's name and summary."""
    with Store(out) as store:
        loop = experiment.make_loop(store=store, **parts)
        progress = loop.begin()  # what is wrong with the settings shows here, and then there is no run
        loop.run = store.create(f"{experiment.algorithm}-{experiment.data}", experiment.model_dump())
        with store.owned(loop.run):
            return loop.run, _go(loop, store, progress, experiment, callbacks)


def resume(
    run: str | None, out: str | Path, callbacks: Sequence[Callback] = (), **parts: Any
) -> tuple[str, dict[str, Any]]:
    """Go on where a run was killed; without a name, the latest unfinished one."""
    with Store(out) as store:
        record = store.unfinished() if run is None else store.get(run)
        with store.owned(record.run):
            if record.status == "finished":
                return record.run, record.summary
            experiment = Experiment(**record.config)
            loop = experiment.make_loop(run=record.run, store=store, **parts)
            found = store.rewind(record.run)
            progress = loop.begin() if found is None else loop.restore(found[1])
            store.mark(record.run, "running", {})
            store.add_event(record.run, progress.round, "resumed", f"after round {progress.round}")
            return record.run, _go(loop, store, progress, experiment, callbacks)


def _go(
    loop: Loop, store: Store, progress: Progress, experiment: Experiment, callbacks: Sequence[Callback]
) -> dict[str, Any]:
    try:
        ended = loop.go(progress, callbacks)
    except RunFailed:
        with contextlib.suppress(RunFailed):  # a full disk takes no note of it either
            store.mark(loop.run, "failed", {})
        raise
    summary = {"run": loop.run, "algorithm": experiment.algorithm, "status": "finished", **ended}
    store.mark(loop.run, "finished", summary)
    return summary
