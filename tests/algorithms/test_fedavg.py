import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tests.fakes import small_fleet
from tests.narrow import known, samples
from torch import nn

import covey
from covey.algorithms import FedAvg, make_algorithm
from covey.errors import BadValue
from covey.fleet import Fleet
from covey.plan import Star, Train, clients

FLEET = Fleet(np.ones((20, 2)))


def test_everybody_takes_part_unless_told():
    assert FedAvg().plan(1, FLEET, {}, np.random.default_rng(0)) == Star(Train(i) for i in range(20))


@pytest.mark.parametrize(("sample", "count"), [(0.5, 10), (0.1, 2), (0.01, 1)])
def test_a_share_of_the_clients_is_sampled_anew_every_round(sample, count):
    plans = [FedAvg(sample=sample).plan(1, FLEET, {}, np.random.default_rng(seed)) for seed in range(20)]
    assert {len(plan.children) for plan in plans} == {count}
    assert all(len(clients(plan)) == count for plan in plans)
    assert len({str(plan) for plan in plans}) > 5
    assert set().union(*map(clients, plans)) > clients(plans[0])


@pytest.mark.parametrize("sample", [0, -0.1, 1.5, float("inf"), float("nan")])
def test_a_sample_is_a_share_or_a_number_of_clients(sample):
    with pytest.raises(BadValue, match=f"sample is {sample}; allowed is (a number greater than 0|a share|a finite)"):
        make_algorithm("fedavg", {"sample": sample})


def test_one_step_on_all_the_data_is_gradient_descent():
    """Full batches, one epoch, everybody: the mean by samples of the clients' steps is the step on all samples."""
    fleet = small_fleet([5, 11, 8])
    torch.manual_seed(0)
    module = nn.Linear(4, 3)
    w = torch.nn.utils.parameters_to_vector(module.parameters()).detach().clone()
    run = covey.run(FedAvg(), fleet, model=module, rounds=3, lr=0.5, batch=0, mode="one-by-one")
    data = samples(fleet)
    mine = np.concatenate(data.train_of)
    x, y = torch.from_numpy(data.x[mine]), torch.from_numpy(data.y[mine])
    for _ in range(3):
        leaf = w.clone().requires_grad_()
        F.cross_entropy(x @ leaf[:12].view(3, 4).T + leaf[12:], y).backward()
        w = w - 0.5 * known(leaf.grad)
    assert torch.allclose(run.models[0], w, atol=1e-6)
