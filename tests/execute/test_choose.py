import json
import warnings

import numpy as np
import pytest
import torch
from tests.execute.test_trainers import jobs_of, task_of
from torch import nn

from covey.errors import BadValue
from covey.execute import choose
from covey.execute.choose import Choice, Chooser
from covey.execute.trainers import OneByOne, Stacked


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COVEY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "choices.json"


class Recurrent(nn.Module):
    """Reads the four numbers of a sample as a sequence."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.lstm(x[:, :, None])[0][:, -1])


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.norm(x))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.drop = nn.Linear(4, 3), nn.Dropout(0.5)

    def forward(self, x):
        return self.head(self.drop(x))


class Grumbling(nn.Module):
    """Warns of something that is none of covey's business."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return self.head(x)


class Branching(nn.Module):
    """Looks at its numbers to decide what to do."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x) if x.sum().item() > 0 else 2 * self.head(x)


@pytest.mark.parametrize("mode", ["auto", "stacked", "compiled"])
@pytest.mark.parametrize("module", [Recurrent, Normed, Dropping, Branching])
def test_what_does_not_vectorise_is_trained_one_by_one(module, mode):
    task = task_of(module(), batch=5, sizes=[7, 9, 10, 12])
    task.layout.module.eval()  # as evaluation leaves it
    chooser = Chooser(task, mode)
    assert isinstance(chooser.trainer(jobs_of(task), 1), OneByOne)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_warnings_of_other_kinds_do_not_stand_in_the_way():
    task = task_of(Grumbling())
    assert Chooser(task).stacks(jobs_of(task)[0])


def made_up(monkeypatch, seconds):
    """Training takes these seconds a client and step, by mode; the choices that were measured."""
    measured = []

    def look_up(self, choice, jobs):
        measured.append(choice)
        return seconds[choice.mode]

    monkeypatch.setattr(Chooser, "_seconds", look_up)
    return measured


@pytest.mark.parametrize("fastest", ["one-by-one", "stacked"])
def test_the_fastest_is_taken(monkeypatch, fastest):
    task = task_of()
    measured = made_up(monkeypatch, {"one-by-one": 2e-5, "stacked": 3e-5} | {fastest: 1e-5})
    assert Chooser(task).choose(jobs_of(task), 1).mode == fastest
    assert {choice.mode for choice in measured} == {"one-by-one", "stacked"}


def test_compiling_is_tried_only_where_the_work_is_long(monkeypatch):
    task = task_of()
    seconds = {"one-by-one": 1e-3, "stacked": 1e-4, "compiled": 1e-5}
    steps = sum(map(task.steps, jobs_of(task)))
    long = int(2 * choose.COMPILE_PAYS / (steps * seconds["stacked"]))
    made_up(monkeypatch, seconds)
    chooser = Chooser(task)
    assert chooser.choose(jobs_of(task), long // 4).mode == "stacked"
    assert Chooser(task).choose(jobs_of(task), 100 * long).mode == "compiled"


@pytest.mark.parametrize("mode", ["one-by-one", "stacked", "compiled"])
def test_a_mode_that_is_asked_for_is_taken(monkeypatch, mode):
    task = task_of()
    made_up(monkeypatch, dict.fromkeys(["one-by-one", "stacked", "compiled"], 1.0))
    assert Chooser(task, mode).choose(jobs_of(task), 1).mode == mode


def test_a_lone_client_is_not_stacked(monkeypatch):
    task = task_of()
    made_up(monkeypatch, {"one-by-one": 1.0, "stacked": 0.5})
    assert Chooser(task).choose(jobs_of(task)[:1], 1).mode == "one-by-one"


def test_stacks_fit_into_memory(monkeypatch):
    task = task_of()
    monkeypatch.setattr(choose, "STACK_VALUES", 3 * task.layout.size)
    made_up(monkeypatch, {"one-by-one": 1.0, "stacked": 0.5})
    assert Chooser(task).choose(jobs_of(task), 1).chunk == 3


def test_a_choice_is_measured_once_and_remembered(monkeypatch, cache):
    task = task_of()
    measured = made_up(monkeypatch, {"one-by-one": 2e-5, "stacked": 1e-5})
    first = Chooser(task).choose(jobs_of(task), 1)
    count = len(measured)
    assert count > 1
    made_up(monkeypatch, {"one-by-one": 1e-9, "stacked": 1.0})
    assert Chooser(task).choose(jobs_of(task), 1) == first
    assert list(json.loads(cache.read_text()).values()) == [[first.mode, first.chunk, first.threads]]


def test_other_waves_batches_rules_and_models_are_measured_anew(cache):
    wave = jobs_of(task_of())
    for task, jobs in [
        (task_of(), wave),
        (task_of(), wave[:2]),
        (task_of(batch=4), wave),
        (task_of(rule="fedprox:0.1"), wave),
        (task_of(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))), wave),
    ]:
        Chooser(task, "one-by-one").choose(jobs, 1)
    assert len(json.loads(cache.read_text())) == 5


class Alike(nn.Module):
    """Looks like Branching and can be stacked."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x)


Alike.__name__ = "Branching"


def test_models_that_look_alike_are_told_apart_by_their_code():
    assert repr(Alike()) == repr(Branching())
    assert choose._fingerprint(task_of(Alike())) == choose._fingerprint(task_of(Alike()))
    assert choose._fingerprint(task_of(Alike())) != choose._fingerprint(task_of(Branching()))


@pytest.mark.parametrize("damage", ["", "{", "[1, 2]", '{"KEY": 3}', '{"KEY": ["stacked"]}'])
def test_a_damaged_cache_is_done_without_and_mended(monkeypatch, cache, damage):
    task = task_of()
    made_up(monkeypatch, {"one-by-one": 2e-5, "stacked": 1e-5})
    key = next(iter(_chosen(task).choices))
    cache.write_text(damage.replace("KEY", key))
    assert _chosen(task).choices[key].mode == "stacked"
    assert json.loads(cache.read_text())[key][0] == "stacked"


def _chosen(task):
    chooser = Chooser(task)
    chooser.choose(jobs_of(task), 1)
    return chooser


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COVEY_CACHE", str(tmp_path / "file" / "below"))
    assert len(_chosen(task_of()).choices) == 1


def test_who_came_first_wins():
    assert choose._remember("key", Choice("stacked", 8, 2)) == Choice("stacked", 8, 2)
    assert choose._remember("key", Choice("one-by-one")) == Choice("stacked", 8, 2)
    assert choose._recall("key") == Choice("stacked", 8, 2)


def test_choices_go_into_a_checkpoint_and_come_back(monkeypatch):
    task = task_of()
    made_up(monkeypatch, {"one-by-one": 2e-5, "stacked": 1e-5})
    first = _chosen(task)
    monkeypatch.setenv("COVEY_CACHE", "/nowhere")
    made_up(monkeypatch, {"one-by-one": 1e-9, "stacked": 1.0})
    second = Chooser(task)
    second.adopt(json.loads(json.dumps(first.export())))
    assert second.choose(jobs_of(task), 1) == first.choose(jobs_of(task), 1)
    assert isinstance(second.trainer(jobs_of(task), 1), Stacked)


def test_measuring_changes_nothing():
    task = task_of(rule="scaffold")
    jobs = jobs_of(task)
    before = [job.model.clone() for job in jobs]
    Chooser(task).choose(jobs, 1)
    assert all(torch.equal(job.model, was) for job, was in zip(jobs, before, strict=True))


def test_an_unknown_mode_is_refused():
    with pytest.raises(BadValue, match="mode is 'fast'; allowed is one of auto, one-by-one, stacked, compiled"):
        Chooser(task_of(), "fast")


def test_the_trainer_runs_on_the_threads_it_was_measured_with(monkeypatch):
    task = task_of()
    chooser = Chooser(task, "one-by-one")
    jobs = jobs_of(task)
    key = next(iter(_keys(chooser, jobs)))
    chooser.adopt({key: ["one-by-one", 1, 2]})
    before = torch.get_num_threads()
    try:
        chooser.trainer(jobs, 1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def _keys(chooser, jobs):
    chooser.choose(jobs, 1)
    return np.array(list(chooser.choices))
