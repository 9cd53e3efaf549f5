from dataclasses import replace
from types import MethodType
from typing import Any

import pytest
import torch
from tests.execute.test_trainers import close, jobs_of, memory_of, network, task_of, trained
from tests.tiny import small_network
from torch import Tensor, nn
from torch.fx import GraphModule

from covey.execute.trace import _join_products_and_updates, tensors, trace
from covey.execute.trainers import OneByOne, Stacked
from covey.local import Sgd, make_rule


class TwoFactors(nn.Module):
    """x (A B): the gradient of either factor is a product with the other, which its own update changes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.b = nn.Parameter(torch.randn(5, 3))
        self.a = nn.Parameter(torch.randn(4, 5))

    def forward(self, x: Tensor) -> Tensor:
        return x @ (self.a @ self.b)


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu_(self.first(x)))


def operations(step, *arguments, compiled=False):
    forward: Any = trace(step, arguments, compiled=compiled)  # a method of the traced line
    line = forward.__self__
    return [str(node.target) for node in line.graph.nodes if node.op == "call_function"]


def close_models(found, wanted):
    close(torch.stack([done.model for done in found]), torch.stack([done.model for done in wanted]))


@pytest.mark.parametrize("module", [network, TwoFactors, InPlace])
def test_plain_steps_equal_the_specification(module):
    task = task_of(module(), optimiser=Sgd())
    jobs = jobs_of(task, rates=(0.5,))
    close_models(trained(Stacked(task, 4), jobs), trained(OneByOne(task), jobs))


def test_clients_that_start_from_one_model_leave_it_as_it_was():
    task = task_of(optimiser=Sgd())
    model = task.layout.initial()
    kept = model.clone()
    jobs = [type(job)(job.client, model, None, 1.0, 0) for job in jobs_of(task)]
    close_models(trained(Stacked(task, 6), jobs), trained(OneByOne(task), jobs))
    assert torch.equal(model, kept)


def test_the_gradient_of_a_matrix_is_never_written_down():
    def step(p: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        p.addcmul_(rate.view(-1, 1, 1), torch.bmm(d.mT, x), value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.0])
    found = operations(step, p, x, d, rate)
    assert "aten.baddbmm_.default" in found
    assert "aten.bmm.default" not in found
    wanted = p - rate.view(-1, 1, 1) * (d.mT @ x)
    trace(step, (p, x, d, rate), compiled=False)(p, x, d, rate)
    torch.testing.assert_close(p, wanted)


def test_a_product_of_what_is_changed_before_the_update_stays_where_it_is():
    def step(p: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        gradient = torch.bmm(d.mT, x)
        x.view(-1).zero_()
        p.addcmul_(rate.view(-1, 1, 1), gradient, value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.2])
    assert "aten.baddbmm_.default" not in operations(step, p, x, d, rate)


def test_a_gradient_that_others_read_stays():
    def step(p: Tensor, v: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        gradient = torch.bmm(d.mT, x)
        v.add_(gradient)
        p.addcmul_(rate.view(-1, 1, 1), gradient, value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.2])
    assert "aten.bmm.default" in operations(step, p, torch.zeros_like(p), x, d, rate)


def test_views_to_the_same_shape_go():
    def step(p: Tensor) -> None:
        p.add_(p.view(2, 3).expand(2, 3).transpose(0, 1).transpose(0, 1))

    p = torch.randn(2, 3)
    assert operations(step, p) == ["aten.add_.Tensor"]


def test_tracing_changes_nothing():
    def step(p: dict[str, Tensor], q: None, r: Tensor) -> None:
        p["w"].add_(r)

    w, r = torch.ones(2), torch.ones(2)
    run = trace(step, ({"w": w}, None, r), compiled=False)
    assert w.tolist() == [1, 1]
    run(*tensors(({"w": w}, None, r)))
    assert w.tolist() == [2, 2]


def test_the_joining_is_what_the_stacked_trainer_runs(monkeypatch):
    joined = []

    def join(line):
        _join_products_and_updates(line)
        joined.append(line)

    monkeypatch.setattr("covey.execute.trace._join_products_and_updates", join)
    task = task_of(optimiser=Sgd(), sizes=[8, 8])
    trained(Stacked(task, 2), jobs_of(task))
    (line,) = joined
    targets = [node.target for node in line.graph.nodes]
    assert targets.count(torch.ops.aten.baddbmm_.default) == 2  # the two matrices of the network


JOINED = [
    ("sgd", Sgd(momentum=0.9)),
    ("sgd", Sgd(weight_decay=0.01)),
    ("sgd", Sgd(momentum=0.9, weight_decay=0.01)),
    ("fedprox:0.1", Sgd()),
    ("fedprox:0.1", Sgd(momentum=0.9, weight_decay=0.01)),
    ("scaffold", Sgd()),
    ("scaffold", Sgd(momentum=0.9)),
    ("fedmmd", Sgd()),
]


@pytest.mark.parametrize("alike", [False, True], ids=["own starts", "one start"])
@pytest.mark.parametrize("sizes", [[16] * 4, [3, 10, 17, 24]], ids=["full", "ragged"])
@pytest.mark.parametrize(("rule", "optimiser"), JOINED)
def test_rules_and_optimisers_join_products_and_updates(rule, optimiser, sizes, alike):
    task = task_of(rule=rule, optimiser=optimiser, sizes=sizes)
    jobs = jobs_of(
        task, rates=(0.2, 0.1), shared={name: torch.full((task.layout.size,), 0.02) for name in task.rule.remembers}
    )
    if alike:
        jobs = [replace(job, model=jobs[0].model) for job in jobs]
    stacked = Stacked(task, 4)
    close_models(trained(stacked, jobs, memory_of(task)), trained(OneByOne(task), jobs, memory_of(task)))
    (line,) = stacked._steps.values()
    assert isinstance(line, MethodType)
    assert isinstance(line.__self__, GraphModule)
    found = [str(node.target) for node in line.__self__.graph.nodes]
    assert found.count("aten.baddbmm_.default") == 2  # the two matrices


def test_the_fusion_of_streams_is_joined_too():
    fused = make_rule("fedfusion").adapt(small_network(), task_of().x[:1])
    task = task_of(fused, rule="fedfusion", optimiser=Sgd(), sizes=[8, 8])
    stacked = Stacked(task, 2)
    trained(stacked, jobs_of(task))
    (line,) = stacked._steps.values()
    assert isinstance(line, MethodType)
    assert isinstance(line.__self__, GraphModule)
    found = [str(node.target) for node in line.__self__.graph.nodes]
    assert found.count("aten.baddbmm_.default") == sum(p.dim() == 2 for p in fused.parameters())


def test_terms_are_subtracted_where_the_sum_does():
    def step(p: Tensor, x: Tensor, d: Tensor, c: Tensor, e: Tensor, rate: Tensor) -> None:
        p.addcmul_(rate.view(-1, 1, 1), e - (torch.bmm(d.mT, x) - c), value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.3])
    c, e = torch.randn(2, 3, 4), torch.randn(3, 4)
    found = operations(step, p, x, d, c, e, rate)
    assert "aten.baddbmm_.default" in found
    assert not {"aten.bmm.default", "aten.sub.Tensor"} & set(found)
    wanted = p - rate.view(-1, 1, 1) * (e - d.mT @ x + c)
    trace(step, (p, x, d, c, e, rate), compiled=False)(p, x, d, c, e, rate)
    torch.testing.assert_close(p, wanted)


def test_a_term_that_is_changed_before_the_update_stays_in_the_sum():
    def step(p: Tensor, x: Tensor, d: Tensor, c: Tensor, rate: Tensor) -> None:
        direction = torch.bmm(d.mT, x) + c
        c.zero_()
        p.addcmul_(rate.view(-1, 1, 1), direction, value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.3])
    c = torch.randn(2, 3, 4)
    wanted = p - rate.view(-1, 1, 1) * (d.mT @ x + c)
    trace(step, (p, x, d, c, rate), compiled=False)(p, x, d, c, rate)
    torch.testing.assert_close(p, wanted)


def test_a_sum_that_reads_what_is_updated_is_added_up_first():
    def step(p: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        p.addcmul_(rate.view(-1, 1, 1), torch.bmm(d.mT, x) + p + p.view(2, 3, 4), value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.3])
    wanted = p - rate.view(-1, 1, 1) * (d.mT @ x + 2 * p)
    trace(step, (p, x, d, rate), compiled=False)(p, x, d, rate)
    torch.testing.assert_close(p, wanted)


@pytest.mark.parametrize("rows", [1, 2], ids=["one for all", "one each"])
def test_a_pull_moves_the_parameter_without_writing_down_how_far_it_is(rows):
    def step(p: Tensor, q: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        p.addcmul_(rate.view(-1, 1, 1), torch.bmm(d.mT, x) + 0.5 * (p - q), value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.0])
    q = torch.randn(rows, 3, 4)
    found = operations(step, p, q, x, d, rate)
    assert {"aten.lerp_.Tensor", "aten.baddbmm_.default"} <= set(found)
    assert not {"aten.sub.Tensor", "aten.bmm.default"} & set(found)
    wanted = p - rate.view(-1, 1, 1) * (d.mT @ x + 0.5 * (p - q))
    trace(step, (p, q, x, d, rate), compiled=False)(p, q, x, d, rate)
    torch.testing.assert_close(p, wanted)


@pytest.mark.parametrize("what", ["p", "q"])
def test_a_pull_of_what_is_changed_before_the_update_is_added_as_it_was(what):
    def step(p: Tensor, q: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        direction = torch.bmm(d.mT, x) + 0.5 * (p - q)
        (p if what == "p" else q).zero_()
        p.addcmul_(rate.view(-1, 1, 1), direction, value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.3])
    q = torch.randn(2, 3, 4)
    wanted = (0 if what == "p" else 1) * p - rate.view(-1, 1, 1) * (d.mT @ x + 0.5 * (p - q))
    trace(step, (p, q, x, d, rate), compiled=False)(p, q, x, d, rate)
    torch.testing.assert_close(p, wanted)


def test_of_two_pulls_the_second_is_added_as_it_was():
    def step(p: Tensor, q: Tensor, r: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        p.addcmul_(rate.view(-1, 1, 1), torch.bmm(d.mT, x) + 0.5 * (p - q) - 0.25 * (p - r), value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.3])
    q, r = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    wanted = p - rate.view(-1, 1, 1) * (d.mT @ x + 0.5 * (p - q) - 0.25 * (p - r))
    trace(step, (p, q, r, x, d, rate), compiled=False)(p, q, r, x, d, rate)
    torch.testing.assert_close(p, wanted)


def test_a_pull_towards_the_parameter_s_own_memory_stays_in_the_sum():
    def step(p: Tensor, x: Tensor, d: Tensor, rate: Tensor) -> None:
        p.addcmul_(rate.view(-1, 1, 1), torch.bmm(d.mT, x) + 0.5 * (p - p[:, :1]), value=-1)

    p, x, d, rate = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 3), torch.tensor([0.1, 0.3])
    wanted = p - rate.view(-1, 1, 1) * (d.mT @ x + 0.5 * (p - p[:, :1]))
    trace(step, (p, x, d, rate), compiled=False)(p, x, d, rate)
    torch.testing.assert_close(p, wanted)
