from math import exp

import pytest
from tests.tiny import fleet_of, model_after, random_fleet, small_network, two_weights


def sigma(z: float) -> float:
    return 1 / (1 + exp(-z))


def test_two_steps_by_hand():
    # Logits (a, -a) for x = 1, label 0, rate 1: the gradient in a is -(1 - sigma(2a)), and the pull is mu (a - 0).
    first = 0 + (1 - sigma(0))  # no pull yet: 1/2
    second = first + (1 - sigma(2 * first)) - 0.5 * (first - 0)
    model = model_after("fedavg", fleet_of([[(1.0, 0)]]), two_weights(), local="fedprox:0.5", epochs=2)
    assert model.tolist() == pytest.approx([second, -second], rel=1e-6)


@pytest.mark.parametrize(("mode", "tolerance"), [("one-by-one", 0.0), ("stacked", 1e-6)])
def test_mu_0_is_fedavg(mode, tolerance):
    settings = {"batch": 3, "lr": 0.2, "rounds": 3, "epochs": 2, "mode": mode}
    fleet = random_fleet((7, 4, 9))
    with_rule = model_after("fedavg", fleet, small_network(), local="fedprox:0", **settings)
    assert with_rule.tolist() == pytest.approx(
        model_after("fedavg", fleet, small_network(), **settings).tolist(), abs=tolerance, rel=0
    )


def test_a_strong_pull_keeps_clients_near():
    fleet = random_fleet((7, 4, 9))
    start = model_after("fedavg", fleet, small_network(), lr=1e-9)
    settings = {"batch": 3, "lr": 0.2, "epochs": 5}
    free = model_after("fedavg", fleet, small_network(), **settings)
    held = model_after("fedavg", fleet, small_network(), local="fedprox:4", **settings)
    assert (held - start).norm() < 0.5 * (free - start).norm()
