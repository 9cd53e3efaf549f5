"""MLflow: a run of an experiment, on any tracking server or in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covey.errors import BadData
from covey.track.base import TRACKERS, Tracker, needs, told

LONGEST = 500  # letters of a setting's value that MLflow keeps everywhere
MOST = 100  # settings in one request


@TRACKERS.register("mlflow")
@dataclass
class MLflow(Tracker):
    """A run in MLflow, at the tracking server `uri` (a folder or an address), in the experiment of that name."""

    uri: str = "mlruns"
    experiment: str = "covey"

    def __post_init__(self) -> None:
        needs("mlflow")
        self._client: Any = None
        self._id = ""

    def begin(self, run: str) -> None:
        """Begin a run there, with the settings as its parameters."""
        from mlflow.entities import Param
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        uri = self.uri
        if "://" not in uri:
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow wants to be asked for folders
            uri = Path(uri).absolute().as_uri()
        try:
            self._client = MlflowClient(tracking_uri=uri)
            found = self._client.get_experiment_by_name(self.experiment)
            number = found.experiment_id if found else self._client.create_experiment(self.experiment)
            self._id = self._client.create_run(number, run_name=run or None).info.run_id
            params = [Param(name, str(value)[:LONGEST]) for name, value in told(self.settings).items()]
            self._client.log_batch(self._id, params=params[:MOST])
        except MlflowException as error:
            raise BadData(f"MLflow at {self.uri} cannot be used ({str(error).splitlines()[0]})") from None

    def take(self, round: int, values: Mapping[str, float]) -> None:
        """One point a number."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        self._client.log_batch(self._id, metrics=[Metric(name, value, now, round) for name, value in values.items()])

    def end(self, ok: bool) -> None:
        """Say how it ended."""
        self._client.set_terminated(self._id, "FINISHED" if ok else "FAILED")
