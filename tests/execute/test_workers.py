import threading
from typing import Any

import numpy as np
import pytest
import torch
from tests.execute.test_choose import Dropping, Recurrent
from tests.execute.test_trainers import close, jobs_of, memory_of, task_of
from torch import nn

from covey.errors import BadValue
from covey.execute import choose
from covey.execute.backend import make_backend
from covey.execute.effects import Job
from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.trainers import Memory, OneByOne
from covey.execute.walk import Brief, walk
from covey.execute.workers import SideBySide
from covey.fleet import FleetData
from covey.local import Adam, make_rule
from covey.plan import Star, Train


class Images(nn.Module):
    """Takes the order of its tensors as it comes."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4 * 36, 3)

    def forward(self, x):
        return self.head(self.conv(x).relu().flatten(1))


class Viewing(Images):
    """`view` as many write it, which takes channels first only."""

    def forward(self, x):
        return self.head(self.conv(x).relu().view(-1, 4 * 36))


class Counting(nn.Module):
    """Notes on which thread, and on how many of torch's, it runs."""

    seen: set = set()

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        Counting.seen.add((threading.current_thread().name, torch.get_num_threads()))
        return self.head(x)


def pictures(sizes=(3, 10, 17, 24, 5, 40)):
    rng, total = np.random.default_rng(0), sum(sizes)
    x, y = rng.standard_normal((total, 3, 8, 8), dtype=np.float32), rng.integers(0, 3, total)
    parts = tuple(np.split(np.arange(total), np.cumsum(sizes)[:-1]))
    return FleetData("pictures", x, y, x[:5], y[:5], parts, (np.zeros(0, dtype=np.int64),) * len(sizes), 3)


def side_by_side(monkeypatch, task, workers, rounds=2):
    """The model after some rounds of all clients, trained by so many workers, and what was said."""
    monkeypatch.setattr(choose, "FILLS_A_CORE", 0.0)
    monkeypatch.setattr(choose, "KEEPS_A_WORKER_BUSY", 0.0)
    executor = LocalExecutor(task, workers=workers)
    model, sizes = task.layout.initial(), task.deck.sizes.tolist()
    shared = {name: torch.full_like(model, 0.01) for name in task.rule.remembers}
    for round in range(1, rounds + 1):
        brief = Brief(round=round, rate=0.1, epochs=2, shared=shared)
        (model,) = walk(Star(Train(i) for i in range(len(sizes))), [model], sizes, executor, brief=brief).models
    return model, executor


@pytest.mark.parametrize("rule", ["sgd", "scaffold", "fedprox:0.1", "fedmmd"])
@pytest.mark.parametrize("module", [Images, Viewing])
def test_the_model_is_the_same_to_the_bit_however_many_workers_there_are(module, rule, monkeypatch):
    models = []
    for workers in (1, 2, 8):
        torch.manual_seed(1)
        task = make_task(module(), pictures(), Training(batch=4, momentum=0.5), make_rule(rule))
        models.append(side_by_side(monkeypatch, task, workers)[0])
    assert torch.equal(models[0], models[1])
    assert torch.equal(models[0], models[2])


def test_recurrent_models_are_trained_side_by_side(monkeypatch):
    models, trainers = [], []
    for workers in (1, 2, 8):
        torch.manual_seed(1)
        model, executor = side_by_side(monkeypatch, task_of(Recurrent(), optimiser=Adam()), workers)
        models.append(model)
        trainers.append({type(trainer) for trainer in executor.chooser._trainers.values()})
    assert torch.equal(models[0], models[1])
    assert torch.equal(models[0], models[2])
    assert trainers == [{OneByOne}, {SideBySide}, {SideBySide}]


@pytest.mark.parametrize(("module", "last"), [(Images, True), (Viewing, False)])
def test_images_are_trained_on_channels_last_where_the_model_takes_them(module, last, monkeypatch):
    torch.manual_seed(1)
    task = make_task(module(), pictures(), Training(batch=4))
    _, executor = side_by_side(monkeypatch, task, 2)
    refused = "the model does not take images in the order channels last, which would be faster"
    assert executor.news() == ([] if last else [refused])
    jobs = jobs_of(task)
    trained = executor.chooser.trainer(executor.chooser.choose(jobs)).train(jobs, memory_of(task))
    alone = OneByOne(task).train(jobs, memory_of(task))
    for one, other in zip(trained, alone, strict=True):
        assert one.job == other.job
        close(one.model, other.model)


def test_models_that_draw_at_random_are_trained_one_at_a_time_and_say_so(monkeypatch):
    models = []
    for workers in (1, 2):
        torch.manual_seed(1)
        model, executor = side_by_side(monkeypatch, task_of(Dropping()), workers)
        models.append(model)
    assert torch.equal(*models)
    assert executor.news() == ["clients are trained one at a time, for the model draws at random (dropout)"]


def test_workers_have_a_thread_each_and_leave_no_trace(monkeypatch):
    Counting.seen.clear()
    task = task_of(Counting())
    state, threads = torch.default_generator.get_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        side_by_side(monkeypatch, task, 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    names = {name for name, _ in Counting.seen if name.startswith("covey")}
    assert {count for name, count in Counting.seen if name in names} == {1}
    assert names == {"covey_0", "covey_1"}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("covey")]
    assert torch.equal(torch.default_generator.get_state(), state)


def test_only_a_few_results_are_ahead():
    task = task_of(sizes=[8] * 40)
    trainer = SideBySide(task, 2)
    begun = []
    train_one = OneByOne.train_one
    results: Any = trainer.train(jobs_of(task), Memory((), task.layout.size))  # a generator

    def noted(*given):
        begun.append(given[1])
        return train_one(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OneByOne, "train_one", noted)
        next(results)
        results.close()
    assert len(begun) <= 5


def test_a_failure_of_a_worker_is_raised():
    task = task_of()
    jobs = jobs_of(task)
    broken = [*jobs[:3], Job(3, torch.zeros(7)), *jobs[4:]]
    with pytest.raises(RuntimeError):
        list(SideBySide(task, 2).train(broken, Memory((), task.layout.size)))


def test_a_client_that_trains_twice_at_once_begins_both_times_with_what_it_remembered():
    task = task_of(rule="scaffold", sizes=[8, 8])
    job = jobs_of(task)[0]
    memory = memory_of(task)
    for trainer in (OneByOne(task), SideBySide(task, 2)):
        found = []
        for done in trainer.train([job, job], memory):
            memory.put(0, {name: torch.full_like(v, 9.0) for name, v in memory.of(0).items()})
            found.append(done.model)
        assert torch.equal(*found)


def test_how_many_workers_there_are_is_a_setting_of_the_executor():
    with pytest.raises(BadValue, match="workers of local is -1; allowed is a whole number from 0 up"):
        make_backend("local:workers=-1")
