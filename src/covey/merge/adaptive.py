"""Server steps that adapt: Adagrad, Adam and Yogi on the clients' mean change.

Reddi et al., "Adaptive Federated Optimization", ICLR 2021, Algorithm 2. D is the merged model less the old one,
m <- b1 m + (1 - b1) D, and the new model is w + eta m / (sqrt(v) + tau), without bias correction. v starts at tau^2.
They differ in v: Adagrad v + D^2; Adam b2 v + (1 - b2) D^2; Yogi v - (1 - b2) D^2 sign(v - D^2).

Departure: D is weighted as the plan says (by samples), where Algorithm 2 takes the plain mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.server import SERVERS, Moment


@dataclass(frozen=True)
class Adaptive(ABC):
    """The step that the three share: `rate` is eta, `beta1` and `beta2` are b1 and b2."""

    rate: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("rate", "tau"):
            if not getattr(self, name) > 0:
                raise BadValue(f"server {name}", getattr(self, name), "a number above 0")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise BadValue(f"server {name}", getattr(self, name), "a number from 0 up and below 1")

    def step(self, before: Tensor, merged: Tensor, memory: dict[str, Tensor], moment: Moment) -> Tensor:
        """The next model; `memory` holds m and v."""
        change = merged - before
        m = memory.get("m", torch.zeros_like(before))
        v = memory.get("v", torch.full_like(before, self.tau**2))
        memory["m"] = self.beta1 * m + (1 - self.beta1) * change
        memory["v"] = self.second(v, change.square())
        return before + self.rate * memory["m"] / (memory["v"].sqrt() + self.tau)

    @abstractmethod
    def second(self, v: Tensor, square: Tensor) -> Tensor:
        """The next v, of the squared change."""


@SERVERS.register("adagrad", paper="Reddi et al. 2021")
@dataclass(frozen=True)
class Adagrad(Adaptive):
    """Steps divided by the root of all squared changes so far."""

    def second(self, v: Tensor, square: Tensor) -> Tensor:
        """V + D^2."""
        return v + square


@SERVERS.register("adam", paper="Reddi et al. 2021")
@dataclass(frozen=True)
class Adam(Adaptive):
    """Steps divided by the root of a moving mean of squared changes."""

    rate: float = 0.01

    def second(self, v: Tensor, square: Tensor) -> Tensor:
        """b2 v + (1 - b2) D^2."""
        return self.beta2 * v + (1 - self.beta2) * square


@SERVERS.register("yogi", paper="Reddi et al. 2021")
@dataclass(frozen=True)
class Yogi(Adaptive):
    """As Adam, but v moves by steps that do not depend on how far off it is."""

    rate: float = 0.01

    def second(self, v: Tensor, square: Tensor) -> Tensor:
        """V - (1 - b2) D^2 sign(v - D^2)."""
        return v - (1 - self.beta2) * square * torch.sign(v - square)
