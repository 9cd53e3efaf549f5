"""Training elsewhere than on the processor, on torch's `meta` device: no tensor is made or left anywhere else.

`meta` has shapes and no numbers. Joining or adding tensors of two devices raises there; products of matrices and
indexing do not, so that `OnePlace` looks at what every operation is given.
"""

import pytest
import torch
from tests.narrow import samples
from tests.tiny import random_fleet, small_network
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import covey
from covey.errors import BadValue
from covey.execute import evaluate, layout, trainers
from covey.execute.device import find_device
from covey.execute.effects import Job
from covey.execute.evaluate import LocalEvaluator
from covey.execute.local import Training, make_task
from covey.execute.trainers import Memory, OneByOne, Stacked
from covey.local import RULES, make_rule

META = torch.device("meta")
MOVES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
SIZES = (7, 4, 9, 2)


class OnePlace(TorchDispatchMode):
    """Refuses operations whose tensors are in several places; a single number may come along from anywhere."""

    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = {t.device.type for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.dim()}
        assert len(found) <= 1 or func in MOVES, f"{func} of tensors in {sorted(found)}"
        self.seen += "meta" in found
        return func(*args, **(kwargs or {}))


@pytest.fixture
def elsewhere(monkeypatch):
    """What is brought home from `meta` has no numbers: zeros in its place."""

    def zeros(tensor):
        return torch.zeros(tensor.shape, dtype=tensor.dtype)

    for module in (layout, trainers, evaluate):
        monkeypatch.setattr(module, "to_host", zeros)


class Images(nn.Module):
    """A convolution, batch statistics and an LSTM, on images of 2 x 2."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 2, padding=1), nn.BatchNorm2d(3)
        self.lstm, self.head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x):
        rows = self.norm(self.conv(x.reshape(-1, 1, 2, 2))).flatten(2).transpose(1, 2)
        return self.head(self.lstm(rows)[0][:, -1])


def train(trainer_of, rule, optimiser, module):
    fleet = random_fleet(SIZES)
    training = Training(batch=3, optimiser=optimiser, momentum=0.9 if optimiser == "sgd" else 0.0, weight_decay=0.01)
    task = make_task(module, samples(fleet), training, make_rule(rule), META)
    assert {tensor.device for tensor in (task.x, task.y, *task.layout.module.parameters())} == {META}
    model = torch.zeros(task.layout.size)
    shared = {name: torch.zeros(task.layout.size) for name in task.rule.remembers}
    jobs = [Job(client, model, epochs=2, rate=0.1, key=7, shared=shared) for client in range(len(SIZES))]
    with OnePlace() as place:
        done = list(trainer_of(task).train(jobs, Memory(task.rule.remembers, task.layout.size)))
    assert place.seen > 20
    assert sorted(trained.job for trained in done) == [0, 1, 2, 3]
    assert {trained.steps for trained in done} == {6, 4, 2}  # two epochs of 3, 2, 3 and 1 batches
    for trained in done:
        for tensor in (trained.model, *trained.memory.values()):
            assert (tensor.device.type, tensor.shape) == ("cpu", (task.layout.size,))


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("rule", [*RULES.names, "fedfusion:single"])
@pytest.mark.parametrize("trainer", [OneByOne, lambda task: Stacked(task, 3)], ids=["one-by-one", "stacked"])
def test_a_wave_is_trained_in_one_place(elsewhere, trainer, rule, optimiser):
    train(trainer, rule, optimiser, small_network())


def test_images_statistics_and_sequences(elsewhere):
    train(lambda task: OneByOne(task, channels_last=True), "sgd", "sgd", Images())


def test_models_are_scored_in_one_place(elsewhere):
    fleet = random_fleet(SIZES)
    data = samples(fleet)
    task = make_task(small_network(), data, Training(batch=3), device=META)
    evaluator, model = LocalEvaluator(task.layout, data), torch.zeros(task.layout.size)
    with OnePlace() as place:
        assert evaluator.losses([model, model], [0, 2]).shape == (2, 2)
        assert evaluator.gradients(model, [1, 3]).shape == (2, task.layout.trained)
        evaluator.scores([model], torch.zeros(4, dtype=torch.int64).numpy())
    assert place.seen > 20


def test_a_tensor_left_behind_is_noticed():
    with OnePlace(), pytest.raises(AssertionError, match=r"mm.default of tensors in"):
        torch.mm(torch.zeros(2, 2, device=META), torch.zeros(2, 2))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_an_accelerator_that_is_not_there():
    assert find_device("auto") == find_device("cpu") == torch.device("cpu")
    with pytest.raises(BadValue, match=r"accelerator is 'cuda'; allowed is cpu or auto: torch .* finds no other here"):
        covey.run("fedavg", data="digits", clients=4, rounds=1, accelerator="cuda")


def test_an_executor_that_trains_on_processors_alone(monkeypatch):
    monkeypatch.setattr("covey.experiment.assembly.find_device", lambda word: META)
    with pytest.raises(BadValue, match="accelerator is 'auto'; allowed is cpu with executor ray"):
        covey.run("fedavg", data="digits", clients=4, rounds=1, accelerator="auto", executor="ray")
