"""What an algorithm is: hyper-parameters and three methods, of which only `plan` is required."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass

from covey.errors import BadValue, UnknownName, first_fault
from covey.fleet import Fleet
from covey.plan import Place, Plan
from covey.registry import Registry, WrongKind

if TYPE_CHECKING:
    from torch import Tensor

State: TypeAlias = dict[str, Any]
"""What an algorithm remembers: numbers, texts, arrays, tensors, and lists or dictionaries of them."""


class Asked(Protocol):
    """Whoever can be asked about models: clients for their losses and gradients, or a server that has their data."""

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The mean training loss of every model on every one of these clients: clients x models."""

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """Every client's full-data gradient at that model: clients x parameters."""


@dataclass
class Outcome:
    """What a round left behind, for `learn`.

    `models` are the run's models now, `before` those the round began with, and `home[i]` says which of them client i
    calls its own. `learn` may put other models and homes in their place: cluster means after a first stage, a copy for
    each half of a cluster that splits. `where[k]` is the place of model k; a model that `learn` made is at no place, so
    that nobody is charged for sending it, unless `learn` says where. What `learn` asks of clients beyond the plan and
    sends as models or the like goes into `traffic`. Round 0 is the run's start: the initial model, before anybody has
    trained.
    """

    round: int
    fleet: Fleet
    models: list[Tensor]
    before: list[Tensor]
    home: NDArray[np.int64]
    where: list[Place | None] = field(default_factory=list)
    trained: list[int] = field(default_factory=list)
    lost: list[tuple[int, str]] = field(default_factory=list)
    updates: dict[int, Tensor] = field(default_factory=dict)
    traffic: Counter[tuple[str, str]] = field(default_factory=Counter)
    asked: Asked | None = None
    views: Callable[[Tensor], dict[str, Tensor]] | None = None

    def gradients(self, model: int = 0) -> NDArray[np.float32]:
        """Every client's full-data gradient at that model: clients x parameters."""
        return self._asked().gradients(self.models[model], range(self.fleet.clients))

    def losses(self, clients: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Every client's training loss with every model: clients x models."""
        return self._asked().losses(self.models, range(self.fleet.clients) if clients is None else clients)

    def layers(self, model: Tensor) -> dict[str, Tensor]:
        """The named tensors that lie in a model, in the module's order; writing to them writes to it."""
        if self.views is None:
            raise BadValue("outcome", "without the model's layout", "one of a run that trains")
        return self.views(model)

    def shuffled(self, model: Tensor, rng: np.random.Generator) -> Tensor:
        """Another model of the same kind: the values inside every tensor in random order."""
        other = model.clone()
        for part in self.layers(other).values():
            values = part.view(-1).numpy()
            values[:] = rng.permutation(values)
        return other

    def _asked(self) -> Asked:
        if self.asked is None:
            raise BadValue("outcome", "nobody to ask", "one of a run whose clients can be asked")
        return self.asked


T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: type[T]) -> type[T]:
    """A frozen dataclass of keyword-only hyper-parameters that are checked, from Python and from the command line."""
    config = ConfigDict(arbitrary_types_allowed=True)
    made: Any = pydantic_dataclass(frozen=True, kw_only=True, config=config)(cls)
    made.__init__ = _in_one_sentence(made.__init__, cls.__name__)
    return cast("type[T]", made)


def _in_one_sentence(init: Callable[..., None], owner: str) -> Callable[..., None]:
    """That `__init__`, with the first fault it finds as one of covey's own errors."""

    @wraps(init)
    def sentence(self: Any, *given: Any, **named: Any) -> None:
        for name in named.keys() - set(setting_names(type(self))):
            raise UnknownName(f"setting of {owner}", name, setting_names(type(self)))
        try:
            init(self, *given, **named)
        except ValidationError as error:
            raise first_fault(error, owner) from None

    return sentence


@settings
class Algorithm(ABC):
    """A federated algorithm: makes the plan of every round, and may learn from what came of it.

    `keeps_updates`: `learn` wants every client's update (trained minus received model) in `outcome.updates`.
    """

    keeps_updates: ClassVar[bool] = False

    @property
    def sketch(self) -> str:
        """The plan of a round in short, for `covey list`."""
        return ""

    def prepare(self, fleet: Fleet, rng: np.random.Generator) -> Fleet:
        """The fleet as this algorithm trains it (Astraea augments its data); asked once, before anything else."""
        return fleet

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """What is remembered at first."""
        return {}

    @abstractmethod
    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Plan:
        """The plan of that round for that fleet, given what is remembered (`state`); rounds count from 1."""

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """What is remembered from now on: `state`, and what the `outcome` of a round has taught.

        Called after every round, and with an outcome of round 0 before the first.
        """
        return state

    def parts(self) -> dict[str, str]:
        """What it is made with unless the run says otherwise: `local`, `merge`, `server`, `prices`, `distances`."""
        return {}


def own_algorithm(thing: object) -> type[Algorithm]:
    """The algorithm that a class of a user's with `plan` is; fields it annotates are its settings."""
    if not isinstance(thing, type) or not callable(getattr(thing, "plan", None)):
        raise WrongKind("a class with plan(round, fleet, state, rng), which gives the round's plan")
    if issubclass(thing, Algorithm):
        return thing if "__dataclass_fields__" in vars(thing) else settings(thing)
    own = {} if is_dataclass(thing) else inspect.get_annotations(thing)
    body = {"__doc__": thing.__doc__, "__module__": thing.__module__, "__annotations__": own}
    body |= {name: vars(thing)[name] for name in own if name in vars(thing)}
    try:
        return settings(type(thing.__name__, (thing, Algorithm), body))
    except TypeError as error:
        raise WrongKind(f"a class that can be a frozen dataclass ({error})") from error


ALGORITHMS: Registry[type[Algorithm]] = Registry("algorithm", own_algorithm)


def make_algorithm(name: str, options: dict[str, Any] | None = None) -> Algorithm:
    """The algorithm of that name with these hyper-parameters (numbers may come as text).

    >>> make_algorithm("hierfavg", {"tau2": "0"})
    Traceback (most recent call last):
    covey.errors.BadValue: tau2 is '0'; allowed is a number greater than or equal to 1
    """
    entry, options = ALGORITHMS.entry(name), options or {}
    for setting in entry.fixed:
        meant = entry.settings[setting]
        if options.get(setting, meant) != meant:
            raise BadValue(setting, options[setting], f"{meant!r}, which is what {name!r} stands for")
    return checked(entry.thing, {**entry.settings, **options}, name)


def setting_names(kind: type[Any]) -> list[str]:
    """What an algorithm (or any other class of settings) can be set by; what all its objects share is no setting.

    >>> setting_names(ALGORITHMS["fedavg"])
    ['sample']
    """
    return [f.name for f in fields(kind) if f.init]


def checked(kind: type[T], options: dict[str, Any], owner: str) -> T:
    """Make a validated settings object, or say in one sentence which field is wrong and what it takes."""
    known = setting_names(kind)
    for name in options:
        if name not in known:
            raise UnknownName(f"setting of {owner}", name, known)
    try:
        return TypeAdapter(kind).validate_python(options)
    except ValidationError as error:
        raise first_fault(error, owner) from None
