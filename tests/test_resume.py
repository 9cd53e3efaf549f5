"""Runs that are killed, for real, and go on to the model of one that was not."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from covey.checkpoint import Checkpoint
from covey.experiment import Experiment, life
from covey.store import Store

SETTINGS = {"clients": 8, "samples": 20, "epochs": 2, "lr": 0.1, "momentum": 0.5, "dropout": 0.1}
FEDAVG = {"algorithm": "fedavg", "sample": 0.8, "mode": "stacked", "model": "2nn", "rounds": 40, **SETTINGS}
CHAINS = {"groups": 3, "chains": 2}
RINGS = {"algorithm": "rings", **CHAINS, "mode": "one-by-one", "model": "softmax-regression", "rounds": 40, **SETTINGS}
RINGS |= {"augment": "crop:1+flip"}
SECURE = {"algorithm": "group-fel", "merge": "secure", "min_size": 3, **SETTINGS, "clients": 12, "rounds": 30}
SECURE |= {"mode": "one-by-one", "model": "softmax-regression", "group_rounds": 2, "edges": 1}
TO_BE_THE_SAME = ("model_sha256", "accuracy", "own_accuracy", "loss", "traffic", "trainings", "rounds", "models")


def covey(*words):
    """A covey of its own, that can be killed."""
    command = [sys.executable, "-m", "covey", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def rounds_in(folder):
    """How many rounds the store knows, read from beside."""
    try:
        with sqlite3.connect(f"file:{folder / 'covey.db'}?mode=ro", uri=True) as db:
            found = db.execute("SELECT max(round) FROM rounds").fetchone()[0] or 0
        db.close()
    except sqlite3.Error:
        return 0
    return found


def killed(process, folder, rounds, delay):
    """Kill it `delay` seconds after `rounds` more rounds; whether it was still running."""
    begun = rounds_in(folder)
    while process.poll() is None and rounds_in(folder) < begun + rounds:
        time.sleep(0.002)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("settings", "times"), [(FEDAVG, 2), (RINGS, 1), (SECURE, 1)], ids=["fedavg", "rings", "secure"]
)
def test_killed_at_random_moments(tmp_path, settings, times):
    whole = life.start(Experiment.make(settings), tmp_path / "whole")[1]
    pace = whole["wall_seconds"] / whole["rounds"]
    chance = random.Random(times)
    words = [f"--set={key}={value}" for key, value in settings.items() if key != "algorithm"]
    folder = tmp_path / "killed"
    process = covey("run", settings["algorithm"], *words, "--out", folder)
    kills = 0
    while kills < times and killed(process, folder, chance.randint(1, 10), chance.uniform(0, 2 * pace)):
        kills += 1
        process = covey("resume", "--out", folder, "--json")
    out, error = process.communicate()
    assert (process.returncode, error) == (0, "")
    summary = json.loads(out.splitlines()[-1])
    assert kills == times
    assert {key: summary[key] for key in TO_BE_THE_SAME} == {key: whole[key] for key in TO_BE_THE_SAME}
    with Store(folder) as store:
        assert [row["round"] for row in store.rounds(summary["run"])] == list(range(1, settings["rounds"] + 1))
        resumed = [event["round"] for event in store.events(summary["run"]) if event["kind"] == "resumed"]
    assert len(resumed) == kills
    assert 0 < resumed[0] <= resumed[-1] < settings["rounds"]


class Killed(Exception):
    """Stands for a kill that must come at an exact moment."""


def cut(tmp_path, moment, settings):
    """A run that ends at that moment of its third round; `moment` is called in place of the store's `add_round`."""
    really = Store.add_round

    def add_round(self, run, round, metrics, checkpoint):
        if round == 3:
            moment(self, run, round, metrics, checkpoint)
            raise Killed
        really(self, run, round, metrics, checkpoint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "add_round", add_round)
        with pytest.raises(Killed):
            life.start(Experiment.make(settings), tmp_path)


def before_the_checkpoint(store, run, round, metrics, checkpoint):
    pass


def halfway_through_the_checkpoint(store, run, round, metrics, checkpoint):
    content = checkpoint.encode()
    store.path(run, round).with_suffix(".part").write_bytes(content[: len(content) // 2])


def before_it_has_its_name(store, run, round, metrics, checkpoint):
    store.path(run, round).with_suffix(".part").write_bytes(checkpoint.encode())


def before_the_database_knows(store, run, round, metrics, checkpoint):
    store._save(run, round, checkpoint)


def after_the_disk_has_lost_half_of_it(store, run, round, metrics, checkpoint):
    content = checkpoint.encode()
    store.path(run, round).write_bytes(content[: len(content) // 2] + b"\0" * (len(content) - len(content) // 2))
    store._write("INSERT INTO rounds VALUES (?, ?, ?)", run, round, json.dumps(metrics | {"checkpoint": True}))


MOMENTS = [
    before_the_checkpoint,
    halfway_through_the_checkpoint,
    before_it_has_its_name,
    before_the_database_knows,
    after_the_disk_has_lost_half_of_it,
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
@pytest.mark.parametrize("checkpoint_every", [1, 2])
def test_killed_at_an_exact_moment(tmp_path, moment, checkpoint_every):
    settings = {**RINGS, "rounds": 5, "samples": 10, "checkpoint_every": checkpoint_every}
    if checkpoint_every == 2 and moment is not before_the_checkpoint:
        settings["rounds"] = 3  # the last round has a checkpoint, whatever its number
    whole = life.start(Experiment.make(settings), tmp_path / "whole")[1]
    cut(tmp_path / "cut", moment, settings)
    name, summary = life.resume(None, tmp_path / "cut")
    assert {key: summary[key] for key in TO_BE_THE_SAME} == {key: whole[key] for key in TO_BE_THE_SAME}
    with Store(tmp_path / "cut") as store:
        assert [row["round"] for row in store.rounds(name)] == list(range(1, settings["rounds"] + 1))
        assert Checkpoint.load(store.latest(name)).data["round"] == settings["rounds"]
        assert not list((tmp_path / "cut" / name).glob("*.part"))


def test_killed_between_the_last_round_and_the_end(tmp_path):
    """The run had reached its target, and must not go on to another round."""
    settings = {**RINGS, "samples": 10, "target_accuracy": 0.01}
    whole = life.start(Experiment.make(settings), tmp_path / "whole")[1]
    assert whole["rounds"] < settings["rounds"]

    def mark(self, run, status, summary):
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "mark", mark)
        with pytest.raises(Killed):
            life.start(Experiment.make(settings), tmp_path / "cut")
    summary = life.resume(None, tmp_path / "cut")[1]
    assert {key: summary[key] for key in TO_BE_THE_SAME} == {key: whole[key] for key in TO_BE_THE_SAME}


def test_a_run_that_was_made_and_never_owned_begins(tmp_path):
    """Killed between its entry in the database and everything else."""
    settings = {**RINGS, "rounds": 2, "samples": 10}
    whole = life.start(Experiment.make(settings), tmp_path / "whole")[1]
    with Store(tmp_path / "cut") as store:
        store.create("rings-digits", Experiment.make(settings).model_dump())
    assert life.resume(None, tmp_path / "cut")[1]["model_sha256"] == whole["model_sha256"]
