"""Batch normalisation in stacks: the same as one by one, whatever the padding."""

import pytest
import torch
from tests.execute.test_trainers import SIZES, close, jobs_of, memory_of, task_of, trained
from torch import nn

from covey.execute import norms
from covey.execute.choose import Chooser
from covey.execute.trainers import OneByOne, Stacked
from covey.local import Adam, Sgd
from covey.models.base import TwoPart

EVEN = [16, 16, 16]
BATCH = 7  # of SIZES none leaves a batch of one sample


class Imaging(nn.Module):
    """Four numbers seen as an image of 2 x 2: statistics over samples and pixels, and over samples.

    No bias before a norm: its gradient is nothing but rounding, which Adam makes as large as any other.
    """

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 2, padding=1, bias=False), nn.BatchNorm2d(3, momentum=0.3, affine=False)
        self.head, self.last = nn.Linear(27, 3, bias=False), nn.BatchNorm1d(3)

    def forward(self, x):
        return self.last(self.head(self.norm(self.conv(x.view(-1, 1, 2, 2))).flatten(1)))


def two_parts():
    torch.manual_seed(1)
    return TwoPart(nn.Sequential(nn.Linear(4, 6, bias=False), nn.BatchNorm1d(6), nn.Tanh()), nn.Linear(6, 3))


def check_stacks(module, rule="sgd", optimiser=None, sizes=SIZES):
    """Stacks do what one by one does; by how much that moves the statistics of every client."""
    task = task_of(module, batch=BATCH, sizes=sizes, optimiser=optimiser or Sgd(), rule=rule)
    jobs = jobs_of(task, epochs=(2, 1), rates=(0.1, 0.05))
    wanted = trained(OneByOne(task), jobs, memory_of(task))
    for chunk in (1, 4, len(sizes)):
        for one, stacked in zip(wanted, trained(Stacked(task, chunk), jobs, memory_of(task)), strict=True):
            close(stacked.model, one.model)
            assert stacked.steps == one.steps
            assert stacked.memory.keys() == one.memory.keys()
            for name in one.memory:
                close(stacked.memory[name], one.memory[name])
    statistics = slice(task.layout.trained, None)
    return [done.model[statistics] - job.model[statistics] for done, job in zip(wanted, jobs, strict=True)]


@pytest.mark.parametrize("sizes", [SIZES, EVEN], ids=["ragged", "even"])
@pytest.mark.parametrize("optimiser", [Sgd(momentum=0.9, weight_decay=0.01), Adam()], ids=["momentum", "adam"])
def test_every_client_has_statistics_of_its_own(sizes, optimiser):
    torch.manual_seed(2)
    moved = check_stacks(Imaging(), optimiser=optimiser, sizes=sizes)
    assert all(float(change.abs().min()) > 0 for change in moved)


@pytest.mark.parametrize("optimiser", [Sgd(), Adam()], ids=["sgd", "adam"])
@pytest.mark.parametrize("rule", ["fedprox:0.5", "scaffold", "fedmmd"])
def test_rules_that_look_at_the_received_model_or_remember(rule, optimiser):
    check_stacks(two_parts(), rule=rule, optimiser=optimiser)


def test_statistics_that_are_not_kept_leave_padding_out_too():
    torch.manual_seed(3)
    assert not any(map(len, check_stacks(nn.Sequential(nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 3)))))


def test_a_network_that_is_nothing_but_a_norm():
    check_stacks(nn.BatchNorm1d(4))


def test_the_network_itself_is_left_alone():
    module = Imaging()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    task = task_of(module, batch=BATCH)
    trained(Stacked(task, 3), jobs_of(task))
    assert type(module.norm) is nn.BatchNorm2d
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


class Counting(nn.Module):
    """Keeps a number of its own."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        return self.head(x)


class OwnNorm(nn.BatchNorm1d):
    def forward(self, input):
        return super().forward(2 * input)


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (Counting(), "it has a buffer that may change as it trains, seen"),
        (nn.Sequential(nn.BatchNorm1d(4, momentum=None), nn.Linear(4, 3)), "it averages batch statistics over all"),
        (nn.Sequential(OwnNorm(4), nn.Linear(4, 3)), "it has a batch normalisation of its own"),
    ],
)
def test_other_statistics_do_not_stack_and_say_why(module, why):
    task = task_of(module, batch=BATCH)
    chooser = Chooser(task, "stacked")
    assert isinstance(chooser.trainer(chooser.choose(jobs_of(task))), OneByOne)
    (said,) = chooser.news
    assert why in said


def test_without_norms_the_network_is_not_copied():
    module = nn.Linear(4, 3)
    assert norms.with_norms(module)[0] is module
