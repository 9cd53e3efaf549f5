"""The fleet and the data set of the last run, which are often the next one's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covey.experiment import Experiment

if TYPE_CHECKING:
    from covey.data import Dataset
    from covey.fleet import Fleet

OF_FLEET = ("data", "clients", "partition", "edges", "samples", "windows", "pool", "test_fraction", "seed")


class Fleets:
    """Fleets by their settings; the last one is kept, and the last data set that was read."""

    def __init__(self) -> None:
        self.last: tuple[tuple[Any, ...], Fleet] | None = None
        self.read: tuple[str, Dataset] | None = None

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
