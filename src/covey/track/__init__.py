"""Other people's dashboards: every round of a run sent to TensorBoard, MLflow or Weights & Biases.

A tracker is a callback of a run and ends with a `with` block:

    with covey.track.TensorBoard("boards") as board:
        covey.run("fedavg", rounds=3, callbacks=[board])

On the command line: `covey run fedavg --track tensorboard:boards`.
"""

from covey.track.base import TRACKERS, Tracker, make_tracker
from covey.track.mlflow import MLflow
from covey.track.tensorboard import TensorBoard
from covey.track.wandb import WandB

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "WandB", "make_tracker"]
