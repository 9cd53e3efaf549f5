from math import sqrt

import numpy as np
import pytest
import torch
from tests.narrow import a
from tests.tiny import model_after, random_fleet, small_network

from covey.errors import BadValue
from covey.merge import Adagrad, Adam, Moment, Yogi, make_server

TAU = 1e-3
NOW = Moment(1, np.random.default_rng(0), 1)


def two_steps(server) -> tuple[float, float]:
    """From 1 with changes of 0.2 and then -0.1."""
    memory: dict[str, torch.Tensor] = {}
    first = server.step(torch.tensor([1.0]), torch.tensor([1.2]), memory, NOW)
    second = server.step(first, first - 0.1, memory, NOW)
    return first.item(), second.item()


M1 = 0.1 * 0.2  # b1 x 0 + (1 - b1) D
M2 = 0.9 * M1 + 0.1 * -0.1


def expected(v1: float, v2: float, rate: float) -> tuple[float, float]:
    first = 1 + rate * M1 / (sqrt(v1) + TAU)
    return first, first + rate * M2 / (sqrt(v2) + TAU)


def test_adagrad_by_hand():
    v1 = TAU**2 + 0.2**2
    v2 = v1 + 0.1**2
    assert two_steps(Adagrad(0.5)) == pytest.approx(expected(v1, v2, 0.5), rel=1e-5)


def test_adam_by_hand():
    v1 = 0.99 * TAU**2 + 0.01 * 0.2**2
    v2 = 0.99 * v1 + 0.01 * 0.1**2
    assert two_steps(Adam(0.5)) == pytest.approx(expected(v1, v2, 0.5), rel=1e-5)


def test_yogi_by_hand():
    v1 = TAU**2 + 0.01 * 0.2**2  # v < D^2, so the sign is -1
    v2 = v1 + 0.01 * 0.1**2  # 0.000401 < 0.01: again
    assert two_steps(Yogi(0.5)) == pytest.approx(expected(v1, v2, 0.5), rel=1e-5)
    memory = {"m": torch.zeros(1), "v": torch.ones(1)}
    Yogi().step(torch.zeros(1), torch.full((1,), 0.5), memory, NOW)
    assert memory["v"].item() == pytest.approx(1 - 0.01 * 0.25)  # v > D^2: down


def test_no_change_no_step():
    for server in (Adagrad(), Adam(), Yogi()):
        assert server.step(torch.ones(3), torch.ones(3), {}, NOW).tolist() == [1, 1, 1]


@pytest.mark.parametrize("spec", ["adam:0", "adagrad:-1", "yogi:fast", "replace:2"])
def test_a_bad_rate_is_named(spec):
    with pytest.raises(ValueError, match=r"(server|rate).* is .*; allowed is"):
        make_server(spec)


@pytest.mark.parametrize(
    ("spec", "field"),
    [("adam:tau=0", "tau"), ("adam:beta1=1", "beta1"), ("yogi:beta2=1", "beta2"), ("adagrad:beta2=-0.1", "beta2")],
)
def test_constants_out_of_range_are_named(spec, field):
    with pytest.raises(BadValue, match=f"server {field} is"):
        make_server(spec)


def test_constants_at_the_lower_end_are_allowed():
    assert make_server("adam:beta1=0,beta2=0") == Adam(beta1=0.0, beta2=0.0)


def test_the_usual_constants_are_those_of_the_paper():
    assert [(s.rate, s.beta1, s.beta2, s.tau) for s in (Adagrad(), Adam(), Yogi())] == [
        (0.1, 0.9, 0.99, 1e-3), (0.01, 0.9, 0.99, 1e-3), (0.01, 0.9, 0.99, 1e-3),
    ]  # fmt: skip


def test_replace_is_fedavg():
    fleet, settings = random_fleet((7, 4, 9)), {"batch": 3, "lr": 0.2, "rounds": 2}
    plain = model_after("fedavg", fleet, small_network(), **settings)
    assert torch.equal(model_after("fedavg", fleet, small_network(), server="replace", **settings), plain)
    assert not torch.allclose(model_after("fedavg", fleet, small_network(), server="adam", **settings), plain)


def test_batch_statistics_are_merged_and_not_stepped():
    def network() -> torch.nn.Module:
        model = small_network()
        a(torch.nn.Sequential, model.features).append(torch.nn.BatchNorm1d(6))
        return model

    fleet, settings = random_fleet((8, 8, 8)), {"batch": 4, "lr": 0.1}
    merged = model_after("fedavg", fleet, network(), **settings)
    stepped = model_after("fedavg", fleet, network(), server="adam:0.1", **settings)
    assert torch.equal(stepped[-12:], merged[-12:])  # running mean and variance of six units come last
    assert not torch.allclose(stepped[:-12], merged[:-12])
