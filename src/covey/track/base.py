"""What every tracker does: begin with a run's first round, take down every round, end well or badly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from covey import words
from covey.errors import BadData
from covey.loop import Report
from covey.registry import Registry, own_class


class Tracker(ABC):
    """A callback that sends a run's rounds elsewhere.

    One of your own has `begin`, `take` and `end`. `settings` are the run's, where whoever made the tracker knows them.
    """

    settings: Mapping[str, Any] = {}
    run: str | None = None  # the one that is being told of

    @abstractmethod
    def begin(self, run: str) -> None:
        """A run begins; `self.settings` may be told."""

    @abstractmethod
    def take(self, round: int, values: Mapping[str, float]) -> None:
        """A round is over; values are numbers, as `accuracy` or `traffic/client-cloud`."""

    @abstractmethod
    def end(self, ok: bool) -> None:
        """The run is over."""

    def __call__(self, report: Report) -> None:
        """After every round; a tracker that is used for several runs tells of one after another."""
        if report.run != self.run:
            self.close()
            self.begin(report.run)
            self.run = report.run
        self.take(int(report.metrics["round"]), values_of(report.metrics))

    def close(self, ok: bool = True) -> None:
        """The run that is being told of is over; of none, nothing happens."""
        if self.run is not None:
            self.run = None
            self.end(ok)

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close(ok=kind is None)


_OWN = "a class with begin(run), take(round, values) and end(ok), as covey.track.Tracker has them"

TRACKERS: Registry[Callable[..., Tracker]] = Registry("tracker", own_class(_OWN, "take", Tracker))


def make_tracker(word: str, settings: Mapping[str, Any]) -> Tracker:
    """A tracker from a word such as `tensorboard:boards`, for a run with these settings."""
    made = words.make(TRACKERS, word, field="track")
    object.__setattr__(made, "settings", settings)
    return made


def values_of(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among a round's metrics, tiers of traffic one by one.

    >>> values_of({"round": 3, "accuracy": 0.5, "traffic": {"client-cloud": 8}, "loss": None})
    {'accuracy': 0.5, 'traffic/client-cloud': 8.0}
    """
    found: dict[str, float] = {}
    for name, value in metrics.items():
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, number in parts:
            if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
                found[f"{name}/{part}" if part else name] = float(number)
    found.pop("round", None)
    return found


def told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that say nothing, the algorithm's own beside the others."""
    options = settings.get("options")
    flat = {**settings, **(options if isinstance(options, Mapping) else {})}
    return {name: value for name, value in flat.items() if name != "options" and value is not None}


def needs(package: str) -> None:
    """Refuse a tracker whose package is not installed, before a run begins; the extra has the package's name."""
    if find_spec(package) is None:
        raise BadData(f"this tracker needs {package}, which is not here; install covey[{package}]")
