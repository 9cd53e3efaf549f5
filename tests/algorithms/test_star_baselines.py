"""FedProx, SCAFFOLD, FedMMD, FedFusion, IDA and the adaptive servers: FedAvg's star with one part exchanged."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny import model_after, random_fleet, small_network

from covey.algorithms import make_algorithm
from covey.plan import Star, Train

SETTINGS = {"batch": 3, "lr": 0.2, "rounds": 3, "epochs": 2}
NAMES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fedprox": ({"mu": 0.5}, {"local": "fedprox:0.5"}),
    "scaffold": ({}, {"local": "scaffold"}),
    "fedmmd": ({"weight": 0.3}, {"local": "fedmmd:0.3"}),
    "fedfusion": ({"fusion": "multi"}, {"local": "fedfusion:multi"}),
    "ida": ({}, {"merge": "ida"}),
    "fedadagrad": ({"rate": 0.2}, {"server": "adagrad:0.2"}),
    "fedadam": ({"rate": 0.02}, {"server": "adam:0.02"}),
    "fedyogi": ({"rate": 0.02}, {"server": "yogi:0.02"}),
}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_fedavg_with_its_part(name):
    options, parts = NAMES[name]
    fleet = random_fleet((7, 4, 9, 3))
    found = model_after(name, fleet, small_network(), **options, **SETTINGS)
    assert torch.equal(found, model_after("fedavg", fleet, small_network(), **parts, **SETTINGS))


@pytest.mark.parametrize("name", NAMES)
def test_it_leaves_fedavgs_path(name):
    fleet = random_fleet((7, 4, 9, 3))
    plain = model_after("fedavg", fleet, small_network(), **SETTINGS)
    changed = model_after(name, fleet, small_network(), **NAMES[name][0], **SETTINGS)
    if name == "fedfusion":
        assert len(changed) == len(plain) + 6  # a gamma for each of six channels
    else:
        assert (changed - plain).norm() > 1e-3 * plain.norm()


@pytest.mark.parametrize("name", NAMES)
def test_a_round_is_a_star_over_a_sample(name):
    fleet = random_fleet((7, 4, 9, 3))
    assert make_algorithm(name).plan(1, fleet, {}, np.random.default_rng(0)) == Star(Train(i) for i in range(4))
    sampled = make_algorithm(name, {"sample": 0.5}).plan(1, fleet, {}, np.random.default_rng(0))
    assert len(sampled.children) == 2


def test_the_run_may_exchange_a_part():
    fleet = random_fleet((7, 4, 9, 3))
    changed = model_after("fedprox", fleet, small_network(), local="sgd", **SETTINGS)
    assert torch.equal(changed, model_after("fedavg", fleet, small_network(), **SETTINGS))
