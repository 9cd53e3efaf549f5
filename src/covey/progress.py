"""Where a run stands, and what a checkpoint holds of it: plain data and tensors, checked before a run goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from covey.algorithms import State
from covey.plan import Place
from covey.shape import fit


@dataclass
class Progress:
    """Where a run stands: everything that the next round depends on."""

    models: list[Tensor]
    home: NDArray[np.int64]
    where: list[Place | None]
    state: State = field(default_factory=dict)
    shared: dict[str, Tensor] = field(default_factory=dict)
    server: dict[int, dict[str, Tensor]] = field(default_factory=dict)
    round: int = 0
    seconds: float = 0.0
    trainings: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    traffic: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: dict[str, Any] = field(default_factory=dict)
    done: bool = False


SHAPE = {
    "models": [Tensor],
    "home": np.ndarray,
    "where": [(None, [str, int])],
    "state": dict,
    "shared": {str: Tensor},
    "server": {int: {str: Tensor}},
    "round": int,
    "seconds": float,
    "trainings": int,
    "spent": {str: float},
    "traffic": [[str, str, int]],
    "last": {str: float},
    "done": bool,
    "executor": dict,
}
"""What a checkpoint holds: `Progress` as plain data, and the executor's state."""


def pack(progress: Progress) -> dict[str, Any]:
    """Everything in it as plain data and tensors."""
    return {
        **vars(progress),
        "where": [list(place) if place else None for place in progress.where],
        "traffic": [[*pair, count] for pair, count in progress.traffic.items()],
    }


def unpack(data: Mapping[str, Any]) -> Progress:
    """The inverse of `pack`."""
    where = [Place(*place) if place else None for place in data["where"]]
    traffic = Counter({(a, b): count for a, b, count in data["traffic"]})
    return Progress(**{**data, "where": where, "traffic": traffic})


def check(data: Mapping[str, Any], *, size: int, clients: int, remembers: Collection[str]) -> None:
    """Refuse, with a ValueError, data that is not of a run's shape.

    size: values in a model
    clients: clients of the fleet
    remembers: what the local rule's server side remembers, by name
    """
    fit(dict(data), SHAPE)
    models, home, shared = data["models"], data["home"], data["shared"]
    if data["round"] < 0:
        raise ValueError(f"its round is {data['round']}")
    if not models or not all(_is_vector(model, size) for model in models):
        raise ValueError(f"its models are not vectors of {size} numbers")
    if home.shape != (clients,) or home.dtype.kind != "i":
        raise ValueError(f"it does not say which model each of {clients} clients has")
    if len(home) and not (home.min() >= 0 and home.max() < len(models)):
        raise ValueError("it names models that are not there")
    if len(data["where"]) != len(models):
        raise ValueError("it does not say where every model is")
    if not all(place is None or place[0] in ("cloud", "edge", "client") for place in data["where"]):
        raise ValueError("it names places that are none")
    if set(shared) != set(remembers) or not all(_is_vector(v, size) for v in shared.values()):
        raise ValueError("what its server remembers is not what this local rule does")


def _is_vector(model: object, size: int) -> bool:
    return isinstance(model, Tensor) and model.dtype == torch.float32 and model.shape == (size,)
