"""What the server does with a merged model: put it in the place of the old one, or take a step towards it."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from covey.errors import BadValue
from covey.registry import Registry


class ServerStep(Protocol):
    """Turns the old and the merged model into the next one."""

    def step(self, before: Tensor, merged: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """The next model; `memory` is empty at first and kept, in place, from round to round."""


SERVERS: Registry[type[ServerStep]] = Registry("server step")


@SERVERS.register("replace", paper="McMahan et al. 2017")
class Replace:
    """The merged model takes the place of the old one."""

    def step(self, before: Tensor, merged: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """The merged model itself."""
        return merged


def make_server(spec: str) -> ServerStep:
    """A server step from `name` or `name:rate`.

    >>> type(make_server("replace")).__name__
    'Replace'
    """
    name, _, text = spec.partition(":")
    kind = SERVERS[name]
    if not text:
        return kind()
    try:
        return kind(float(text))  # type: ignore[call-arg]
    except (TypeError, ValueError):
        raise BadValue("server", spec, f"{name!r}, or {name}:rate where it has one") from None
