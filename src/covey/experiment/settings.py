"""The settings of a run: from keyword arguments, a TOML file or the command line. Nothing here imports torch."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey.errors import BadData, BadValue, UnknownName, first_fault
from covey.fleet import CLIENTS, EDGES, PARTITION
from covey.registry import refuse_code
from covey.words import split

ON_NETWORK = ("link", "trunk", "device", "server_device", "stragglers", "day", "group_operation", "inside_edges")
OF_COMPARISONS = ("comparison", "paper", "figures", "picture", "scale")  # tables of a file that a run has no use for
BY_FILE = ("index", "counts")  # partitions that say themselves who there is
LATER = ("stack", "accelerator", "inside_edges", "augment")  # settings that stores of the first version do not have
GIVEN = "given"  # the partition of a run whose fleet was handed over as an object


class Experiment(BaseModel):
    """The settings of a run. The text beside a setting is its help on the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    algorithm: str = Field("fedavg", description="which algorithm; see: covey list algorithms")
    options: dict[str, Any] = Field(default_factory=dict, description="the algorithm's own settings")
    data: str = Field("digits", description="a data set (see: covey data), FILE.npz, FILE.csv:label=COLUMN or FOLDER/")
    clients: int = Field(CLIENTS, ge=0, description="number of clients; 0 is all that data or partition know of")
    partition: str = Field(
        PARTITION, description="how data is split over clients (see: covey list partitions), or index:FILE"
    )
    edges: int | None = Field(
        None,
        ge=1,
        description=f"edge servers the clients are attached to; {EDGES} unless given, or fewer for fewer clients",
    )
    samples: int | None = Field(None, ge=1, description="samples a client has at most")
    windows: int | None = Field(
        None, ge=1, description="split the day into this many parts; each client is awake in one of them"
    )
    pool: str | None = Field(
        None, description="split train and test samples anew, as train:validation:test, such as 3:1:1"
    )
    test_fraction: float = Field(0.2, ge=0, lt=1, description="share of a client's samples kept for its own test")
    model: str = Field("softmax-regression", description="network, or package.module:Class; see: covey list models")
    rounds: int = Field(20, ge=1, le=10**9, description="global rounds")
    seed: int = Field(0, ge=0, description="seed of every random number")
    lr: float = Field(0.1, gt=0, le=1e30, description="clients' learning rate")
    batch: int = Field(10, ge=0, description="batch size; 0 is all of a client's samples")
    epochs: int = Field(1, ge=1, description="local epochs")
    momentum: float = Field(0.0, ge=0, lt=1, description="clients' momentum")
    weight_decay: float = Field(0.0, ge=0, le=1e30, description="clients' weight decay")
    optimiser: Literal["sgd", "adam"] = Field("sgd", description="clients' optimiser, sgd or adam")
    decay: float = Field(
        1.0, gt=0, le=1, description="factor that the learning rate is multiplied by every decay_every rounds"
    )
    decay_every: int = Field(1, ge=1, description="rounds between two such multiplications")
    augment: str = Field(
        "none",
        description="random views of what clients train on, such as crop:4+flip; see: covey list augmentations",
    )
    local: str | None = Field(None, description="local rule, such as fedprox:0.01; the algorithm's own unless given")
    merge: str | None = Field(None, description="how models become one; the algorithm's own unless given")
    client_merge: str | None = Field(None, description="how clients' own models become one; as merge unless given")
    server: str | None = Field(None, description="server step, such as adam:0.1; the algorithm's own unless given")
    attack: str | None = Field(None, description="clients that attack, such as backdoor:0.1; see: covey list attacks")
    dropout: float = Field(0.0, ge=0, lt=1, description="chance that a training fails")
    quorum: float = Field(0.0, ge=0, le=1, description="share of a round's trainings below which it is tried again")
    target_accuracy: float | None = Field(None, gt=0, le=1, description="stop when the global accuracy reaches this")
    target_own_accuracy: float | None = Field(
        None, gt=0, le=1, description="stop when the mean accuracy on clients' own test data reaches this"
    )
    prices: str | None = Field(
        None, description="prices of the metric `cost` (Group-FEL, Eq. 5): cifar-secure, or a profile"
    )
    budget: float | None = Field(None, gt=0, description="stop when the cost reaches this; prices cifar-secure if none")
    distances: str | None = Field(
        None,
        description="costs of sending models between clients: hops, hops:NETWORK, similar or plane; metric `link_cost`",
    )
    network: str | None = Field(
        None, description="network whose transfers and devices give a simulated time, such as fat-tree:10, or a file"
    )
    link: str | None = Field(None, description="its links, 10MB/s,1ms unless given")
    trunk: str | None = Field(None, description="its links between switches; as the others unless given")
    device: str | None = Field(None, description="what clients run on, or a mix; phone-5gflops unless given")
    server_device: str | None = Field(None, description="what servers merge on; they take no time unless given")
    stragglers: str | None = Field(None, description="clients that are slow, as share:slowdown, such as 0.1:5")
    day: float | None = Field(None, gt=0, description="length in seconds of the day that `windows` splits")
    group_operation: str | None = Field(
        None, description="what clients do when models are merged, such as secure-aggregation, or a profile"
    )
    inside_edges: Literal["counted", "free"] | None = Field(
        None, description="transfers inside an edge: counted, or free, as FedAvg-IC's simulator has them"
    )
    stop_at_seconds: float | None = Field(None, gt=0, description="stop when this many simulated seconds have passed")
    stop_at_traffic: float | None = Field(None, gt=0, description="stop when this many bytes have been sent")
    evaluate_every: int = Field(1, ge=1, description="rounds between evaluations")
    score_every: Literal["round", "epoch"] = Field(
        "round", description="when models are scored: after rounds, or epoch: the clients' mean inside rounds as well"
    )
    score_on: Literal["test", "train"] = Field(
        "test", description="what models are scored on: test samples, or train: what clients train on as well"
    )
    checkpoint_every: int = Field(1, ge=1, description="rounds between checkpoints")
    executor: str = Field("local", description="where clients train; see: covey list executors")
    address: str | None = Field(
        None, description="where an executor's cluster is: auto or host:port; with ray, one is started here without it"
    )
    patience: float | None = Field(
        None, gt=0, description="seconds without any answer after which trainings under way count as lost"
    )
    mode: Literal["auto", "one-by-one", "stacked", "compiled"] = Field("auto", description="how clients are trained")
    stack: int | None = Field(
        None,
        ge=2,
        description="clients in a stack, where they are stacked; a rule's number unless given; see: covey tune",
    )
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = Field(
        "cpu", description="where clients are trained and models scored: cpu, cuda, mps, or auto: the best there is"
    )

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
            if name == "grouping" and name not in known and str(options[name]).startswith("file:"):
                takers = "star-stars, star-rings, ring-stars, stars, rings or group-fel"
                raise BadValue("algorithm", algorithm, f"one that takes groups from a file, as {takers}")
            if name not in known:
                raise UnknownName("setting", name, [*(n for n in cls.model_fields if n != "options"), *known])
        make_algorithm(algorithm, options)
        own |= _who(own)
        try:
            return cls(**own, options={**entry.settings, **options})  # a run says what its preset stood for
        except ValidationError as error:
            raise first_fault(error, "settings") from None

    @classmethod
    def again(cls, kept: dict[str, Any]) -> Experiment:
        """The experiment that a store kept; its database may have been edited since."""
        for name in cls.model_fields:
            if name not in kept and name not in LATER:
                raise BadData(f"the settings that the store kept lack {name}; they are not those the run began with")
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
        for name in OF_COMPARISONS:
            found.pop(name, None)
        return cls.make({**found, **given})


def _who(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is not given and follows from data or partition, which may know who there is."""
    data, partition = given.get("data"), given.get("partition")
    found: dict[str, Any] = {}
    if partition is None and isinstance(data, str) and _says_whose(data):
        found["partition"] = partition = "natural"
        found["clients"] = 0
    if isinstance(partition, str) and split(partition)[0] in BY_FILE:
        found["clients"] = 0
    return {name: value for name, value in found.items() if name not in given}


def _says_whose(data: str) -> bool:
    """Whether this is a file or folder of data that says who owns what."""
    from covey.data.own import is_own, own_data

    return is_own(data) and own_data(data).owned


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


def parse_set(pairs: Sequence[str] | None) -> dict[str, Any]:
    """`key=value` pairs; a value is a number, true, false or a list where it reads as one in TOML, else text.

    >>> parse_set(["rounds=3", "partition=dirichlet:0.1", "tau-2=5"])
    {'rounds': 3, 'partition': 'dirichlet:0.1', 'tau_2': 5}
    """
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise BadValue("set", pair, "key=value")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # not TOML, or a number or nesting beyond what Python reads
            value = text
        settings[key.strip().replace("-", "_")] = value
    return settings
