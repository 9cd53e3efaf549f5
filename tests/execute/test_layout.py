import pytest
import torch
from tests.narrow import a
from torch import nn

from covey.errors import BadValue
from covey.execute.layout import Layout


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(2, 3)
        self.frozen.requires_grad_(False)
        self.norm = nn.BatchNorm1d(3)
        self.head = nn.Linear(3, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.head(self.drop(self.norm(self.frozen(x))))


def test_parameters_come_first_then_buffers_and_what_is_frozen_stays_out():
    layout = Layout(Net())
    assert list(layout.shapes) == [
        "norm.weight",
        "norm.bias",
        "head.weight",
        "head.bias",
        "norm.running_mean",
        "norm.running_var",
    ]
    assert layout.trained == 3 + 3 + 6 + 2
    assert layout.size == layout.trained + 3 + 3
    assert layout.has_buffers
    assert not Layout(nn.Linear(1, 1)).has_buffers


def test_views_write_through_to_one_model_and_to_a_stack():
    layout = Layout(nn.Linear(2, 1))
    flat = torch.zeros(3)
    layout.views(flat)["bias"].fill_(5)
    assert flat.tolist() == [0, 0, 5]
    stack = torch.arange(6.0).view(2, 3)
    assert layout.params(stack)["weight"].tolist() == [[[0, 1]], [[3, 4]]]


def test_calling_and_loading_run_the_module_on_a_vector():
    module = nn.Linear(2, 1)
    before = module.weight.tolist()
    layout = Layout(module)
    flat = torch.tensor([1.0, 2.0, 3.0])
    x = torch.tensor([[10.0, 100.0]])
    assert layout.call(layout.params(flat), x).item() == 1 * 10 + 2 * 100 + 3
    with layout.loaded(flat) as loaded:
        assert loaded(x).item() == 213
        a(nn.Linear, loaded).bias.data.add_(1)
    assert flat.tolist() == [1, 2, 4]
    assert module.weight.tolist() == before


def test_the_module_comes_back_whole_after_an_error():
    module = nn.Linear(2, 1)
    layout, before = Layout(module), module.weight.clone()
    with pytest.raises(RuntimeError, match="boom"), layout.loaded(torch.zeros(3)):
        raise RuntimeError("boom")
    assert torch.equal(module.weight, before)


def test_training_draws_from_its_seed_and_leaves_the_process_alone():
    layout = Layout(Net().eval())
    flat, x = layout.initial(), torch.ones(4, 2)
    state = torch.get_rng_state()
    outputs = []
    for seed in (1, 1, 2):
        with layout.training(flat.clone(), seed) as (module, params):
            assert module.training
            assert list(params) == layout.parameters
            outputs.append(module(x))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    assert torch.equal(torch.get_rng_state(), state)


def test_the_initial_vector_is_the_modules_own():
    module = nn.Linear(2, 1)
    layout = Layout(module)
    assert torch.equal(layout.initial(), torch.cat([module.weight.reshape(-1), module.bias]).detach())


def test_a_model_without_parameters_is_refused():
    with pytest.raises(BadValue, match="model is 'Flatten'; allowed is one with parameters to train"):
        Layout(nn.Flatten())
