"""The settings of a run: from keyword arguments, a TOML file or the command line. Nothing here imports torch."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey.errors import BadData, BadValue, UnknownName, first_fault
from covey.registry import refuse_code

ON_NETWORK = ("link", "trunk", "device", "server_device", "stragglers", "day", "group_operation")
GIVEN = "given"  # the partition of a run whose fleet was handed over as an object


class Experiment(BaseModel):
    """The settings of a run. The text beside a setting is its help on the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    algorithm: str = Field("fedavg", description="which algorithm; see: covey list algorithms")
    options: dict[str, Any] = Field(default_factory=dict, description="the algorithm's own settings")
    data: str = Field("digits", description="data set; see: covey data")
    clients: int = Field(50, ge=0, description="number of clients; 0 takes all the data set has (natural partition)")
    partition: str = Field("dirichlet:0.1", description="how data is split over clients; see: covey list partitions")
    edges: int | None = Field(
        None, ge=1, description="edge servers the clients are attached to; 5 if there are so many"
    )
    samples: int | None = Field(None, ge=1, description="at most so many samples a client")
    windows: int | None = Field(None, ge=1, description="parts of the day in which clients are awake, one each")
    test_fraction: float = Field(0.2, ge=0, lt=1, description="share of a client's samples kept for its own test")
    model: str = Field("softmax-regression", description="network, or package.module:Class; see: covey list models")
    rounds: int = Field(20, ge=1, description="global rounds")
    seed: int = Field(0, ge=0, description="seed of every random number")
    lr: float = Field(0.1, gt=0, le=1e30, description="clients' learning rate")
    batch: int = Field(10, ge=0, description="batch size; 0 is all of a client's samples")
    epochs: int = Field(1, ge=1, description="local epochs")
    momentum: float = Field(0.0, ge=0, lt=1, description="clients' momentum")
    weight_decay: float = Field(0.0, ge=0, le=1e30, description="clients' weight decay")
    optimiser: Literal["sgd", "adam"] = Field("sgd", description="clients' optimiser, sgd or adam")
    decay: float = Field(1.0, gt=0, le=1, description="factor of the learning rate")
    decay_every: int = Field(1, ge=1, description="rounds after which the factor is applied")
    local: str | None = Field(None, description="local rule, such as fedprox:0.01; the algorithm's own unless given")
    merge: str | None = Field(None, description="how models become one; the algorithm's own unless given")
    client_merge: str | None = Field(None, description="how clients' own models become one; as merge unless given")
    server: str | None = Field(None, description="server step, such as adam:0.1; the algorithm's own unless given")
    attack: str | None = Field(None, description="clients that attack, such as backdoor:0.1; see: covey list attacks")
    dropout: float = Field(0.0, ge=0, lt=1, description="chance that a training fails")
    quorum: float = Field(0.0, ge=0, le=1, description="share of a round's trainings below which it is tried again")
    target_accuracy: float | None = Field(None, gt=0, le=1, description="stop when the global accuracy reaches this")
    prices: str | None = Field(
        None, description="prices of the metric `cost` (Group-FEL, Eq. 5): cifar-secure, or a profile"
    )
    budget: float | None = Field(None, gt=0, description="stop when the cost reaches this; prices cifar-secure if none")
    distances: str | None = Field(
        None, description="costs of sending models between clients: hops, hops:NETWORK or similar; metric `link_cost`"
    )
    network: str | None = Field(None, description="network to keep the time on, such as fat-tree:10, or a file")
    link: str | None = Field(None, description="its links, 10MB/s,1ms unless given")
    trunk: str | None = Field(None, description="its links between switches; as the others unless given")
    device: str | None = Field(None, description="what clients run on, or a mix; phone-5gflops unless given")
    server_device: str | None = Field(None, description="what servers merge on; they take no time unless given")
    stragglers: str | None = Field(None, description="clients that are slow, as share:slowdown, such as 0.1:5")
    day: float | None = Field(None, gt=0, description="seconds of the day in whose windows clients are awake")
    group_operation: str | None = Field(
        None, description="what clients do when models meet, as secure-aggregation, or a profile"
    )
    stop_at_seconds: float | None = Field(
        None, gt=0, description="stop when so many seconds have passed on the network"
    )
    stop_at_traffic: float | None = Field(None, gt=0, description="stop when so many bytes have been sent")
    evaluate_every: int = Field(1, ge=1, description="rounds between evaluations")
    checkpoint_every: int = Field(1, ge=1, description="rounds between checkpoints")
    executor: str = Field("local", description="where clients train; see: covey list executors")
    patience: float | None = Field(
        None, gt=0, description="seconds without any answer after which trainings under way count as lost"
    )
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
        from covey.algorithms import ALGORITHMS, make_algorithm
        from covey.algorithms.base import setting_names

        algorithm = str(own.get("algorithm", "fedavg"))
        entry = ALGORITHMS.entry(algorithm)
        known = setting_names(entry.thing)
        for name in options:
            if name not in known:
                raise UnknownName("setting", name, [*(n for n in cls.model_fields if n != "options"), *known])
        make_algorithm(algorithm, options)
        try:
            return cls(**own, options={**entry.settings, **options})  # a run says what its preset stood for
        except ValidationError as error:
            raise first_fault(error, "settings") from None

    @classmethod
    def again(cls, kept: dict[str, Any]) -> Experiment:
        """The experiment that a store kept; its database may have been edited since."""
        try:
            return cls(**kept)
        except ValidationError as error:
            raise first_fault(error, "settings") from None

    @classmethod
    def read(cls, path: str | Path, settings: dict[str, Any] | None = None, *, allow_code: bool = False) -> Experiment:
        """From a TOML file, with some settings in place of the file's.

        A file that names code (`model = "./mine.py:Net"`) is refused unless `allow_code`.
        """
        given = settings or {}
        found = read_toml(path, given, allow_code=allow_code)
        if "runs" in found or "sweep" in found:
            raise BadData(
                f"experiment {path} holds several runs; use covey compare {path}, or --only and the name of one"
            )
        found.pop("comparison", None)
        return cls.make({**found, **given})


def read_toml(path: str | Path, given: Mapping[str, Any], *, allow_code: bool) -> dict[str, Any]:
    """What a TOML file of settings holds; what is `given` beside it takes the place of the file's.

    A file may come from a stranger: one that names code (`model = "./mine.py:Net"`) is refused unless `allow_code`.
    """
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadData(f"experiment {path} cannot be read ({error.strerror})") from None
    except RecursionError:
        raise BadData(f"experiment {path} is not TOML that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise BadData(f"experiment {path} is not TOML: {error}") from None
    if not allow_code:
        refuse_code({name: value for name, value in found.items() if name not in given}, str(path))
    return found
