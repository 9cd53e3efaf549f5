"""Weights & Biases, offline unless asked: `wandb sync` sends what was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from covey.track.base import TRACKERS, Tracker, needs, told


@TRACKERS.register("wandb")
@dataclass
class WandB(Tracker):
    """A run in Weights & Biases, in that project; offline it is kept in `dir` until `wandb sync` sends it."""

    project: str = "covey"
    dir: str = "."
    mode: Literal["offline", "online"] = "offline"

    def __post_init__(self) -> None:
        needs("wandb")
        self._run: Any = None

    def begin(self, run: str) -> None:
        """Begin a run there, with the settings as its config."""
        import wandb

        Path(self.dir).mkdir(parents=True, exist_ok=True)
        quiet = wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True, x_disable_stats=True)
        self._run = wandb.init(
            project=self.project,
            name=run or None,
            dir=str(self.dir),
            mode=self.mode,
            config=told(self.settings),
            settings=quiet,
            reinit="finish_previous",
        )

    def take(self, round: int, values: Mapping[str, float]) -> None:
        """One step per round."""
        self._run.log(dict(values), step=round)

    def end(self, ok: bool) -> None:
        """Close it."""
        self._run.finish(exit_code=0 if ok else 1)
