"""What the server does with a merged model: put it in the place of the old one, or take a step towards it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from covey import words
from covey.registry import Registry, own_class


@dataclass(frozen=True, eq=False)
class Moment:
    """When a step is taken: in which round, with which generator, and after how many trainings of this model."""

    round: int
    rng: np.random.Generator
    cohort: int


class ServerStep(Protocol):
    """Turns the old and the merged model into the next one."""

    def step(self, before: Tensor, merged: Tensor, memory: dict[str, Tensor], moment: Moment) -> Tensor:
        """The next model, from the one `before` the round and the `merged` one of this round's answers.

        `memory` is empty at first and kept, in place, from round to round, one for each model; `moment` says when it
        is.
        """


_OWN = "a class with step(before, merged, memory, moment), which gives the next model"

SERVERS: Registry[Callable[..., ServerStep]] = Registry("server step", own_class(_OWN, "step"))


@SERVERS.register("replace", paper="McMahan et al. 2017")
@dataclass(frozen=True)
class Replace:
    """The merged model takes the place of the old one."""

    def step(self, before: Tensor, merged: Tensor, memory: dict[str, Tensor], moment: Moment) -> Tensor:
        """The merged model itself."""
        return merged


def make_server(word: str) -> ServerStep:
    """A server step from a word such as `replace`, `adam:0.1` or `adam:rate=0.1,beta1=0.9`.

    >>> make_server("replace")
    Replace()
    """
    return words.make(SERVERS, word, field="server")
