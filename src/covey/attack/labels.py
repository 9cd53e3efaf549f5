"""Label flipping: attackers train on wrong labels.

Tolpegin et al., "Data Poisoning Attacks Against Federated Learning Systems", ESORICS 2020: samples of the class
`source` get the label `target`. Without a source every label y becomes classes - 1 - y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey.attack.base import ATTACKS, Attack, Trial
from covey.errors import BadValue
from covey.fleet import FleetData


@ATTACKS.register("label-flip", paper="Tolpegin et al. 2020")
@dataclass(frozen=True)
class LabelFlip(Attack):
    """Attackers call `source` samples `target`; without them, every label y becomes the y-th from the end.

    It works as often as a test sample whose label was flipped gets the false label.
    """

    source: int | None = None
    target: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.source is None) != (self.target is None) or (self.source is not None and self.source == self.target):
            raise BadValue("label-flip", (self.source, self.target), "two different labels, or neither")

    def poison(self, data: FleetData, attackers: Sequence[int], rng: np.random.Generator) -> FleetData:
        """The attackers' training labels, flipped."""
        y = data.y.copy()
        for client in attackers:
            y[data.train_of[client]] = self._flipped(y[data.train_of[client]], data.classes)
        return replace(data, y=y)

    def trial(self, data: FleetData) -> Trial:
        """Test samples whose label was flipped, with the false label."""
        wanted = self._flipped(data.test_y, data.classes)
        changed = wanted != data.test_y
        if not changed.any():
            raise BadValue("source of label-flip", self.source, "a label that test samples have")
        return Trial(data.test_x[changed], wanted[changed])

    def _flipped(self, y: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
        if self.source is None or self.target is None:
            return classes - 1 - y
        for name, label in (("source", self.source), ("target", self.target)):
            if not 0 <= label < classes:
                raise BadValue(f"{name} of label-flip", label, f"a label from 0 to {classes - 1}")
        return np.where(y == self.source, self.target, y)
