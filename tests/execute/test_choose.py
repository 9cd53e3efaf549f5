import warnings

import pytest
import torch
from tests.execute.test_trainers import jobs_of, task_of
from torch import nn

from covey.errors import BadValue
from covey.execute import choose
from covey.execute.choose import Chooser, Way
from covey.execute.trainers import OneByOne

LONG = choose.STACKING_PAYS  # rounds of runs that are not short


class Recurrent(nn.Module):
    """Reads the four numbers of a sample as a sequence."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.lstm(x[:, :, None])[0][:, -1])


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
@pytest.mark.parametrize(
    ("module", "reason"),
    [(Recurrent, "performance drop"), (Dropping, "random"), (Branching, "item")],
)
def test_what_does_not_vectorise_is_trained_one_by_one_and_says_why_once(module, reason, mode):
    task = task_of(module(), batch=5, sizes=[7, 9, 10, 12])
    task.layout.module.eval()  # as evaluation leaves it
    chooser = Chooser(task, mode, LONG)
    for _ in range(2):
        assert isinstance(chooser.trainer(chooser.choose(jobs_of(task))), OneByOne)
    (said,) = chooser.news
    assert said.startswith("clients are trained one by one, for the model cannot be stacked: ")
    assert reason in said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_warnings_of_other_kinds_do_not_stand_in_the_way():
    task = task_of(Grumbling())
    assert Chooser(task).obstacle(jobs_of(task)[0]) is None


class Convolving(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv1d(1, 2, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.conv(x[:, None]).flatten(1))


def chosen(task, *, mode="auto", rounds=LONG, jobs=None, workers=1):
    return Chooser(task, mode, rounds, workers).choose(jobs_of(task) if jobs is None else jobs)


def test_short_runs_are_over_before_stacking_would_begin():
    task = task_of()
    steps = sum(map(task.steps, jobs_of(task)))
    enough = -(-choose.STACKING_PAYS // steps)
    assert chosen(task, rounds=enough - 1) == Way("one-by-one", 1)
    assert chosen(task, rounds=enough).mode == "stacked"
    assert chosen(task, rounds=1, mode="stacked").mode == "stacked"


def test_small_steps_are_stacked():
    assert chosen(task_of(), workers=2) == Way("stacked", 6)


def test_a_lone_client_is_not_stacked():
    task = task_of()
    assert chosen(task, jobs=jobs_of(task)[:1], workers=2) == Way("one-by-one", 1)


def test_work_is_the_operations_of_a_clients_step():
    # forward 2 (4 x 6 + 6 x 3) = 84; backward as much again by the weights, and 2 x 6 x 3 by the second layer's input
    assert Chooser(task_of(batch=8)).work == 8 * (84 + 84 + 36)


def test_large_steps_are_trained_side_by_side(monkeypatch):
    task = task_of(batch=8)
    monkeypatch.setattr(choose, "FILLS_A_CORE", Chooser(task).work)
    assert chosen(task, workers=3) == Way("one-by-one", 1, workers=1)  # they do not keep a worker busy
    monkeypatch.setattr(choose, "KEEPS_A_WORKER_BUSY", Chooser(task).work + 1)
    assert chosen(task, workers=3) == Way("one-by-one", 1, workers=1)
    monkeypatch.setattr(choose, "KEEPS_A_WORKER_BUSY", Chooser(task).work)
    assert chosen(task, workers=3) == Way("one-by-one", 1, workers=3)
    assert chosen(task, workers=3, jobs=jobs_of(task)[:1]) == Way("one-by-one", 1, workers=1)
    assert chosen(task, mode="stacked").mode == "stacked"
    monkeypatch.setattr(choose, "FILLS_A_CORE", Chooser(task).work + 1)
    assert chosen(task).mode == "stacked"


def test_stacks_are_even_and_no_larger_than_the_caches(monkeypatch):
    task = task_of()
    monkeypatch.setattr(choose, "STACK_VALUES", 4 * task.layout.size)
    assert chosen(task).chunk == 3  # six clients in stacks of at most four: three and three
    monkeypatch.setattr(choose, "STACK_VALUES", 1)
    assert chosen(task).chunk == 1
    monkeypatch.setattr(choose, "STACK_VALUES", 10**9)
    monkeypatch.setattr(choose, "LARGEST_STACK", 2)
    assert chosen(task).chunk == 2


def test_long_work_of_convolutions_is_compiled():
    task = task_of(Convolving())
    seconds = sum(map(task.steps, jobs_of(task))) * Chooser(task).work / choose.SPEED
    long = int(choose.COMPILE_PAYS / seconds) + 1
    assert chosen(task, rounds=long).mode == "compiled"
    assert chosen(task, rounds=long // 2).mode == "stacked"
    assert chosen(task, rounds=long, mode="stacked").mode == "stacked"
    assert chosen(task_of(), rounds=10**12).mode == "stacked"  # products of matrices do not gain
    normed = nn.Sequential(Convolving(), nn.BatchNorm1d(3))
    assert chosen(task_of(normed, batch=7), rounds=10**12).mode == "stacked"  # nor does batch norm


def test_convolutions_fill_a_core_sooner_and_compiled_ones_later(monkeypatch):
    task = task_of(Convolving())
    work = Chooser(task).work
    monkeypatch.setattr(choose, "CONVOLUTIONS_FILL_IT", work)
    monkeypatch.setattr(choose, "COMPILED_FILL_IT", work + 1)
    long = 10**12
    assert chosen(task).mode == "one-by-one"
    assert chosen(task, rounds=long).mode == "compiled"
    assert chosen(task, mode="stacked").mode == "stacked"
    assert chosen(task_of()).mode == "stacked"  # of products of matrices more goes into a stack
    monkeypatch.setattr(choose, "CONVOLUTIONS_FILL_IT", work + 1)
    assert chosen(task).mode == "stacked"
    monkeypatch.setattr(choose, "COMPILED_FILL_IT", work)
    assert chosen(task, rounds=long).mode == "one-by-one"


@pytest.mark.parametrize("mode", ["one-by-one", "stacked", "compiled"])
def test_a_mode_that_is_asked_for_is_taken(mode):
    assert chosen(task_of(), mode=mode).mode == mode


def test_choosing_changes_nothing():
    task = task_of(rule="scaffold")
    jobs = jobs_of(task)
    before = [job.model.clone() for job in jobs]
    Chooser(task, rounds=LONG).choose(jobs)
    assert all(torch.equal(job.model, was) for job, was in zip(jobs, before, strict=True))


def test_an_unknown_mode_is_refused():
    with pytest.raises(BadValue, match="mode is 'fast'; allowed is one of auto, one-by-one, stacked, compiled"):
        Chooser(task_of(), "fast")


def test_the_number_of_threads_is_put_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with choose.threads(Way("one-by-one", workers=2)):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with choose.threads(Way("stacked", 8)):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
