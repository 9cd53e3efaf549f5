"""TensorBoard: one folder of event files a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covey.track.base import TRACKERS, Tracker, needs, told


@TRACKERS.register("tensorboard")
@dataclass
class TensorBoard(Tracker):
    """Event files for TensorBoard, in a folder of the run's name inside `dir`."""

    dir: str = "tensorboard"

    def __post_init__(self) -> None:
        needs("tensorboard")
        self._writer: Any = None

    def begin(self, run: str) -> None:
        """Open the run's folder."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(Path(self.dir) / (run or "run")))
        table = [
            "| setting | value |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in told(self.settings).items()),
        ]
        if self.settings:
            self._writer.add_text("settings", "\n".join(table))

    def take(self, round: int, values: Mapping[str, float]) -> None:
        """One point a number."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, round)
        self._writer.flush()  # so that a killed run is seen as far as it came

    def end(self, ok: bool) -> None:
        """Close the files."""
        self._writer.close()
