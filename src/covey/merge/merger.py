"""What a merger is, and the table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from covey.registry import Registry

Model: TypeAlias = Any  # a flat vector for those who train, nothing at all for the clock


class Merger(Protocol):
    """Takes models in as they come, so that memory does not grow with their number; then gives one."""

    def add(self, model: Model, weight: float) -> None:
        """Take one more model in."""

    def result(self) -> Model:
        """The merged model."""


MERGES: Registry[Callable[[], Merger]] = Registry("merge")
