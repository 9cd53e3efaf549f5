"""covey from Python: `covey.run` and `covey.resume`, in a script or a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from covey.algorithms import ALGORITHMS, Algorithm
from covey.errors import BadValue, UnknownName
from covey.execute.layout import Layout
from covey.experiment import Experiment, life
from covey.experiment.assembly import make_fleet
from covey.experiment.settings import GIVEN
from covey.fleet import Fleet
from covey.loop import Callback
from covey.models import build_model
from covey.network.price import Price, mean_price
from covey.rehearse import rehearse
from covey.report.curves import curves
from covey.store import Store

if TYPE_CHECKING:
    import pandas as pd

SCORES = ("accuracy", "own_accuracy")
OF_THE_FLEET = ("data", "clients", "partition", "edges", "samples", "windows", "test_fraction")


@dataclass(frozen=True, eq=False)
class Run:
    """A run that is over: its summary, the metrics of every round, and its models as flat vectors."""

    name: str
    summary: dict[str, Any]
    rounds: list[dict[str, Any]]
    models: list[Tensor]
    events: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    groups: list[list[int]] | None = None  # who trains with whom, where the algorithm keeps groups
    model_of: list[int] = field(default_factory=list)  # which model each client calls its own

    @property
    def accuracy(self) -> float:
        """Global test accuracy at the end; not a number where there is nothing to test on."""
        found = self.summary["accuracy"]
        return math.nan if found is None else float(found)

    def frame(self) -> pd.DataFrame:
        """The metrics of every round as a pandas DataFrame, a row per round; pandas is not installed with covey."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise BadValue("frame", "without pandas", "a frame where pandas is installed: pip install pandas") from None
        return pd.json_normalize(self.rounds, sep="_").set_index("round")

    def load_into(self, module: nn.Module, model: int = 0) -> nn.Module:
        """Give a module of the run's architecture the run's weights; `model` is which of the run's models."""
        if not isinstance(module, nn.Module):
            raise BadValue("module", module, "a torch.nn.Module, such as the one the run was started with")
        if not isinstance(model, int) or not 0 <= model < len(self.models):
            raise BadValue("model", model, f"a number from 0 to {len(self.models) - 1}, the models of the run")
        layout, weights = Layout(module), self.models[model]
        if layout.size != len(weights):
            found = f"{type(module).__name__} of {layout.size:,} numbers"
            raise BadValue("module", found, f"one of {len(weights):,}, as the run's model is")
        module.load_state_dict(layout.views(weights), strict=False)
        return module

    def module(self, model: int = 0) -> nn.Module:
        """The network that the settings name, with the run's weights."""
        data = make_fleet(Experiment(**self.settings)).data
        assert data is not None
        dtype = torch.from_numpy(data.x[:1]).dtype
        made = build_model(self.settings["model"], data.shape, data.classes, self.settings["seed"], dtype=dtype)
        return self.load_into(made, model)

    def state_dict(self, model: int = 0) -> dict[str, Tensor]:
        """The weights by name, as torch knows them."""
        return dict(self.module(model).state_dict())

    def evaluate(self, x: Any, y: Any, *, model: int = 0, module: nn.Module | None = None) -> dict[str, float]:
        """Accuracy and loss of a model on samples of your own.

        `module` is the network where the run's was an object; else the settings say which.
        """
        network = (self.module(model) if module is None else self.load_into(module, model)).eval()
        inputs, labels = torch.as_tensor(x), torch.as_tensor(y).long()
        inputs = inputs.float() if inputs.is_floating_point() else inputs
        if len(inputs) != len(labels) or not len(labels):
            raise BadValue(
                "y", f"{len(labels)} labels", f"one for each of {len(inputs)} samples, of which there are some"
            )
        with torch.no_grad():
            scores = torch.cat([network(part) for part in torch.split(inputs, 1000)])
        right = (scores.argmax(dim=-1) == labels).float().mean()
        return {"accuracy": float(right), "loss": float(nn.functional.cross_entropy(scores, labels))}

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
    data: str | None = None,
    clients: int | None = None,
    partition: str | None = None,
    edges: int | None = None,
    samples: int | None = None,
    windows: int | None = None,
    pool: str | None = None,
    test_fraction: float | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    lr: float | None = None,
    batch: int | None = None,
    epochs: int | None = None,
    momentum: float | None = None,
    weight_decay: float | None = None,
    optimiser: Literal["sgd", "adam"] | None = None,
    decay: float | None = None,
    decay_every: int | None = None,
    augment: str | None = None,
    local: str | None = None,
    merge: str | None = None,
    client_merge: str | None = None,
    server: str | None = None,
    attack: str | None = None,
    dropout: float | None = None,
    quorum: float | None = None,
    target_accuracy: float | None = None,
    target_own_accuracy: float | None = None,
    prices: str | None = None,
    budget: float | None = None,
    distances: str | None = None,
    network: str | None = None,
    link: str | None = None,
    trunk: str | None = None,
    device: str | None = None,
    server_device: str | None = None,
    stragglers: str | None = None,
    day: float | None = None,
    group_operation: str | None = None,
    inside_edges: Literal["counted", "free"] | None = None,
    stop_at_seconds: float | None = None,
    stop_at_traffic: float | None = None,
    evaluate_every: int | None = None,
    score_every: Literal["round", "epoch"] | None = None,
    score_on: Literal["test", "train"] | None = None,
    checkpoint_every: int | None = None,
    executor: str | None = None,
    address: str | None = None,
    patience: float | None = None,
    mode: Literal["auto", "one-by-one", "stacked", "compiled"] | None = None,
    stack: int | None = None,
    accelerator: Literal["cpu", "cuda", "mps", "auto"] | None = None,
    **options: Any,
) -> Run:
    """Train an algorithm on a fleet and wait for the end.

    algorithm: an object, a name (see: covey list algorithms), or a whole experiment
    fleet: the clients; without one, `data`, `clients`, `partition` and `edges` say which
    model: a name, or a module of your own
    out: folder of a store that keeps the run, so that `resume` can go on with it; without it nothing is written
    callbacks: each sees a `Report` after every round and may return True to stop
    options: the algorithm's own settings, where it is named and not an object

    The others are the settings of `Experiment`, whose defaults and meaning `covey run --help` shows; None is not given.

    >>> import covey
    >>> done = covey.run("fedavg", data="digits", clients=4, rounds=2, lr=0.2, mode="one-by-one")
    >>> done.summary["rounds"], done.accuracy > 0.3
    (2, True)
    """
    given = locals()
    settings = {name: given[name] for name in Experiment.model_fields if given.get(name) is not None}
    settings = {name: value for name, value in settings.items() if name not in ("algorithm", "model", "options")}
    settings |= options
    _check(algorithm, fleet, model, settings)
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
    allow_code: bool = False,
) -> Run:
    """Go on with a run that was killed; without a name, the latest unfinished one.

    out: folder of the store that keeps it
    algorithm, fleet, model: the objects it was started with, where it was started with any
    callbacks: each sees a `Report` after every round and may return True to stop

    A run whose
    settings name code (`./mine.py:Pairs`) needs `allow_code`: the store may be a stranger's.
    """
    parts: dict[str, Any] = {"algorithm": algorithm, "fleet": fleet, "module": model}
    found = life.resume(name, out, callbacks, allow_code=allow_code, **parts)
    return _read(found[0], out)


def load(name: str, out: str | Path = "runs") -> Run:
    """A run from a store: its settings, rounds, groups and models, also of one that is not over.

    >>> import covey, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = covey.run("fedavg", clients=4, rounds=2, mode="one-by-one", out=folder)
    ...     found = covey.load(made.name, folder)
    >>> found.settings["clients"], found.accuracy == made.accuracy, list(found.state_dict())
    (4, True, ['head.weight', 'head.bias'])
    """
    return _read(name, out, read_only=True)


def price(algorithm: str | Experiment, fleet: Fleet | None = None, **settings: Any) -> Price:
    """What a round costs on a network, the mean over the rounds, without training.

    algorithm: a name, or a whole experiment
    fleet: the clients; without one, the settings say which
    settings: those of `run`, `network` among them

    >>> cost = price("fedavg", clients=4, rounds=2, network="star")
    >>> cost.seconds > cost.compute_seconds > 0
    True
    """
    own = algorithm.model_dump() if isinstance(algorithm, Experiment) else {"algorithm": algorithm}
    return mean_price(rehearse(Experiment.make({**own, **settings}), fleet=fleet).prices)


def _check(algorithm: object, fleet: object, model: object, settings: dict[str, Any]) -> None:
    """Refuse objects that are none of what `run` takes, and settings that an object given beside them makes idle."""
    if not isinstance(algorithm, Algorithm | str | Experiment):
        raise BadValue("algorithm", algorithm, "a name, an Experiment, or an Algorithm such as FedAvg()")
    if fleet is not None and not isinstance(fleet, Fleet):
        raise BadValue("fleet", fleet, "a covey.Fleet")
    if model is not None and not isinstance(model, nn.Module | str):
        raise BadValue("model", model, "a name, or a torch.nn.Module such as Net() makes it")
    for name in settings:
        if fleet is not None and name in OF_THE_FLEET:
            raise BadValue(name, settings[name], "left out beside a fleet, which has its own")
        if isinstance(algorithm, Algorithm) and name not in Experiment.model_fields:
            known = [field for field in Experiment.model_fields if field not in ("algorithm", "options")]
            raise UnknownName("setting", name, known)
        if isinstance(algorithm, Algorithm) and name in ("algorithm", "options"):
            raise BadValue(name, settings[name], "left out beside an algorithm, which has its own settings")


def _described(algorithm: Algorithm) -> dict[str, Any]:
    """The settings that make this algorithm again; one of a user's own gets a name that makes no other."""
    for entry in ALGORITHMS:
        if entry.thing is type(algorithm):
            return {"algorithm": entry.name, "options": TypeAdapter(type(algorithm)).dump_python(algorithm)}
    name = type(algorithm).__name__.lower()
    return {"algorithm": f"own-{name}" if name in ALGORITHMS else name}


def _read(name: str, out: str | Path, *, read_only: bool = False) -> Run:
    with Store(out, read_only=read_only) as store:
        record, rounds = store.get(name), store.rounds(name)
        data = store.checkpoint(name).data
        so_far = {key: value for row in rounds for key, value in row.items()}
        unfinished = {"accuracy": None, **so_far, "rounds": len(rounds), "status": record.status}
        groups = data["state"].get("groups")
        return Run(
            name,
            record.summary or unfinished,
            rounds,
            data["models"],
            store.events(name),
            record.config,
            [[int(i) for i in members] for members in groups] if isinstance(groups, list) else None,
            [int(k) for k in data["home"]],
        )
