"""Every tracker takes down a real run; what it kept is read back with its own package."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

import covey
from covey.cli.main import main
from covey.errors import BadData, BadValue
from covey.track import TRACKERS, MLflow, TensorBoard, Tracker, WandB, base, make_tracker

SMALL: dict[str, Any] = {"clients": 4, "samples": 20, "rounds": 3, "mode": "one-by-one"}


def scores(run):
    return [row["accuracy"] for row in run.rounds]


def test_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]

    with TensorBoard(str(tmp_path)) as board:
        run = covey.run("fedavg", callbacks=[board], **SMALL)
    kept = EventAccumulator(str(tmp_path / run.name)).Reload()
    points = kept.Scalars("accuracy")
    assert [point.step for point in points] == [1, 2, 3]
    assert [point.value for point in points] == pytest.approx(scores(run))
    assert kept.Scalars("traffic/client-cloud")[-1].value == run.rounds[-1]["traffic"]["client-cloud"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_mlflow(tmp_path):
    with MLflow(uri=str(tmp_path / "ml"), experiment="digits") as tracker:
        tracker.settings = {"lr": 0.1, "options": {"beta": 3}, "network": None}
        run = covey.run("fedavg", callbacks=[tracker], **SMALL)
    from mlflow.tracking import MlflowClient

    client = MlflowClient((tmp_path / "ml").as_uri())
    found = client.get_experiment_by_name("digits")
    assert found is not None
    (kept,) = client.search_runs([found.experiment_id])
    assert (kept.info.run_name, kept.info.status) == (run.name, "FINISHED")
    assert kept.data.params == {"lr": "0.1", "beta": "3"}
    history = client.get_metric_history(kept.info.run_id, "accuracy")
    assert [(point.step, point.value) for point in history] == list(enumerate(scores(run), start=1))


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_weights_and_biases_offline(tmp_path):
    with WandB(dir=str(tmp_path)) as tracker:
        run = covey.run("fedavg", callbacks=[tracker], **SMALL)
    (kept,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    until = time.monotonic() + 60
    while b"accuracy" not in (content := kept.read_bytes()) and time.monotonic() < until:
        time.sleep(0.2)  # a process of its own writes the file
    assert b"accuracy" in content
    assert all(f"{score:.6g}"[:7].encode() in content for score in scores(run))


class Noted(Tracker):
    """Keeps what it is told."""

    def __init__(self):
        self.said = []

    def begin(self, run):
        self.said.append(("begin", run))

    def take(self, round, values):
        self.said.append((round, values["accuracy"]))

    def end(self, ok):
        self.said.append(("end", ok))


def test_a_tracker_of_ones_own_tells_of_one_run_after_another():
    tracker = Noted()
    with tracker:
        first = covey.run("fedavg", callbacks=[tracker], **SMALL)
        covey.run("ring", callbacks=[tracker], **SMALL | {"rounds": 1})
    told = [("begin", first.name), *enumerate(scores(first), start=1), ("end", True)]
    assert tracker.said[:5] == told
    assert [kind for kind, _ in tracker.said[5:]] == ["begin", 1, "end"]


def test_a_run_that_fails_ends_badly():
    tracker = Noted()

    def stop(report):
        raise KeyError

    with pytest.raises(KeyError), tracker:
        covey.run("fedavg", callbacks=[tracker, stop], **SMALL)
    assert tracker.said[-1] == ("end", False)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [f"--{name}={value}" for name, value in SMALL.items()]
    monkeypatch.setattr("sys.argv", ["covey", "run", "fedavg", *words, "--track", "tensorboard:dir=boards", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr().err
    assert list(Path("boards/fedavg-digits-1").glob("events.out.tfevents*"))


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("tensorbord", "track|tracker is 'tensorbord'"),
        ("wandb:mode=never", "mode of wandb is 'never'"),
        ("mlflow:a=1", "a"),
    ],
)
def test_a_word_that_names_none(word, sentence):
    with pytest.raises(BadValue, match=sentence):
        make_tracker(word, {})


@pytest.mark.parametrize("name", TRACKERS.names)
def test_without_its_package_a_tracker_says_what_to_install(monkeypatch, name):
    monkeypatch.setattr(base, "find_spec", lambda package: None)
    with pytest.raises(BadData, match=rf"needs {name}, which is not here; install covey\[{name}\]"):
        make_tracker(name, {})


def test_nothing_is_left_in_the_environment():
    assert "WANDB_MODE" not in os.environ
