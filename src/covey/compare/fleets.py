"""The fleet and the data set of the last run, which are often the next one's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from covey.experiment import Experiment

if TYPE_CHECKING:
    from covey.data import Dataset
    from covey.fleet import Fleet

Made = TypeVar("Made")
OF_FLEET = ("data", "clients", "partition", "edges", "samples", "windows", "pool", "test_fraction", "seed")


class Fleets:
    """Fleets by their settings; the last one is kept, and the last data set that was read."""

    def __init__(self) -> None:
        self.last: tuple[tuple[Any, ...], Fleet] | None = None
        self.read: tuple[str, Dataset] | None = None
        self.made: tuple[Any, Any] | None = None

    def get(self, experiment: Experiment) -> Fleet:
        """The fleet of these settings."""
        from covey.data import load
        from covey.experiment.assembly import make_fleet

        asked = tuple(getattr(experiment, name) for name in OF_FLEET)
        if self.last is None or self.last[0] != asked:
            if self.read is None or self.read[0] != experiment.data:
                self.last = self.read = None  # before the next one is read, for the memory they take
                self.read = experiment.data, load(experiment.data)
            self.last = asked, make_fleet(experiment, self.read[1])
        return self.last[1]

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What was made for this key, if it was the last one; else it is made now."""
        if self.made is None or self.made[0] != key:
            self.made = key, make()
        found: Made = self.made[1]
        return found
