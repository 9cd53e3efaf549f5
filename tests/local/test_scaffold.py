from math import exp

import pytest
import torch
from tests.narrow import a
from tests.tiny import fleet_of, loop_of, model_after, random_fleet, small_network, two_weights

from covey.execute.local import LocalExecutor


def sigma(z: float) -> float:
    return 1 / (1 + exp(-z))


def test_two_rounds_by_hand():
    # Client 0 holds x = 1 with label 0, client 1 holds x = 2 with label 1; logits (a x, -a x); two steps of rate 0.5.
    def gradient_0(a: float) -> float:
        return -(1 - sigma(2 * a))

    def gradient_1(a: float) -> float:
        return 2 * sigma(4 * a)

    def two_steps(gradient, a: float, correction: float) -> float:
        for _ in range(2):
            a = a - 0.5 * (gradient(a) + correction)
        return a

    y0, y1 = two_steps(gradient_0, 0.0, 0.0), two_steps(gradient_1, 0.0, 0.0)
    x1 = (y0 + y1) / 2
    c0, c1 = (0 - y0) / (2 * 0.5), (0 - y1) / (2 * 0.5)  # c_i - c + (x - y) / (H eta), with c_i = c = 0
    c = (c0 + c1) / 2
    x2 = (two_steps(gradient_0, x1, c - c0) + two_steps(gradient_1, x1, c - c1)) / 2

    fleet = fleet_of([[(1.0, 0)], [(2.0, 1)]])
    settings = {"local": "scaffold", "lr": 0.5, "epochs": 2}
    assert model_after("fedavg", fleet, two_weights(), rounds=1, **settings)[0].item() == pytest.approx(x1, rel=1e-5)
    assert model_after("fedavg", fleet, two_weights(), rounds=2, **settings)[0].item() == pytest.approx(x2, rel=1e-5)


def test_the_first_round_is_fedavg_and_the_second_is_not():
    fleet = random_fleet((7, 4, 9))
    settings = {"batch": 3, "lr": 0.2, "epochs": 3}
    first = model_after("fedavg", fleet, small_network(), **settings)
    assert torch.equal(model_after("fedavg", fleet, small_network(), local="scaffold", **settings), first)
    second = model_after("fedavg", fleet, small_network(), rounds=2, **settings)
    changed = model_after("fedavg", fleet, small_network(), rounds=2, local="scaffold", **settings)
    assert (changed - second).norm() > 0.01 * (second - first).norm()


@pytest.mark.parametrize("settings", [{"sample": 0.5}, {"sample": 1.0}])
def test_the_servers_variate_is_the_mean_of_the_clients(settings):
    loop = loop_of(
        "fedavg", random_fleet((7, 4, 9, 3)), small_network(), local="scaffold", rounds=5, batch=3, lr=0.1, **settings
    )
    progress = loop.begin()
    loop.go(progress)
    memory = a(LocalExecutor, loop.executor).memory
    mean = torch.stack([memory.of(client)["variate"] for client in range(4)]).mean(dim=0)
    torch.testing.assert_close(progress.shared["variate"], mean, rtol=1e-4, atol=1e-6)
    assert mean.norm() > 0.01


def test_group_rounds_renew_the_variates_every_time():
    loop = loop_of(
        "group-fel",
        random_fleet((7, 4, 9, 3)),
        small_network(),
        **{"local": "scaffold", "min_size": 2, "sample": 1.0, "group_rounds": 3, "batch": 3, "lr": 0.1, "rounds": 2},
    )
    progress = loop.begin()
    loop.go(progress)
    memory = a(LocalExecutor, loop.executor).memory
    mean = torch.stack([memory.of(client)["variate"] for client in range(4)]).mean(dim=0)
    torch.testing.assert_close(progress.shared["variate"], mean, rtol=1e-4, atol=1e-6)
