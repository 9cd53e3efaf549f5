from math import floor, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.theory import Hardware, communication_bytes, communication_seconds, computing_seconds

# A sample a second, two seconds to add a model, models of 5 bytes, lines of 8 and 4 bits a second.
SLOW = Hardware(
    flops_per_sample=10,
    flops_per_merge=20,
    flops_per_second=10,
    model_bytes=5,
    bits_in_per_second=8,
    bits_out_per_second=4,
)


def linear(r):  # Eq. 1 with alpha = 1/2, beta = 2
    return 2 * floor(0.5 * (r - 1) + 1)


def logarithmic(r):  # Eq. 2 with alpha = 2, beta = 10, the paper's setting
    return 10 * floor(2 * log(r) + 1)


def exponential(r):  # Eq. 3 with alpha = 1, beta = 1
    return floor(2.0 ** (r - 1))


def test_computing_by_hand():
    # 12 clients of 7 samples, 3 epochs, half of the groups: linear growth gives 2, 2, 4 groups.
    # Round 1: 7 x 3 x 12/2 = 126, 1 sampled group, nothing to add; round 3: 7 x 3 x 12/4 = 63 and (2 - 1) x 2 = 2.
    found = computing_seconds(linear, rounds=3, clients=12, samples=7, epochs=3, kappa=0.5, hardware=SLOW)
    assert found.tolist() == [126, 252, 317]


def test_groups_stop_growing_at_one_client_each():
    # 1, 2, 4, then 4 instead of 8 and 16 groups of 4 clients; a share of 1/8 samples one group at most: nothing to add.
    found = computing_seconds(exponential, rounds=5, clients=4, samples=10, kappa=0.125, hardware=SLOW)
    assert found.tolist() == list(np.cumsum([40, 20, 10, 10, 10]))


def test_a_ring_takes_as_many_times_longer_than_fedavg_as_there_are_clients():
    ring = computing_seconds(lambda r: 1, rounds=3, clients=368, kappa=1e-9)
    fedavg = computing_seconds(lambda r: 368, rounds=3, clients=368, kappa=1e-9)
    assert ring == pytest.approx(368 * fedavg)


def test_the_papers_setting():
    # Round 1: 10 groups, 96e6 x 226 x 368/10 / 567e9 s to train, 6.3e6 x (3 - 1) / 567e9 s to add 3 models.
    first = computing_seconds(logarithmic, rounds=1, clients=368)[0]
    assert first == pytest.approx((96e6 * 226 * 36.8 + 6.3e6 * 2) / 567e9)


def test_sampling_hardly_matters_to_computing_but_to_communication():
    # The paper's finding on kappa.
    few = computing_seconds(logarithmic, rounds=100, clients=368, kappa=0.1)[-1]
    all_ = computing_seconds(logarithmic, rounds=100, clients=368, kappa=1.0)[-1]
    assert all_ / few < 1.01
    sent = [communication_bytes(rounds=100, clients=368, kappa=kappa) for kappa in (0.1, 1.0)]
    assert sent[1] == pytest.approx(10 * sent[0])


@given(st.integers(1, 30), st.integers(1, 60))
def test_more_groups_never_compute_longer_when_adding_is_free(rounds, clients):
    free = Hardware(flops_per_merge=1e-12)
    fewer = computing_seconds(logarithmic, rounds=rounds, clients=clients, hardware=free)
    more = computing_seconds(lambda r: 2 * logarithmic(r), rounds=rounds, clients=clients, hardware=free)
    assert (more <= fewer + 1e-12).all()
    assert (np.diff(fewer) > 0).all()


def test_communication_by_hand():
    # kappa K R = 0.5 x 6 x 4 = 12 models each way, 5 bytes = 40 bits: 12 x 40 (1/8 + 1/4) s and 2 x 12 x 5 bytes.
    settings: Any = {"rounds": 4, "clients": 6, "kappa": 0.5, "hardware": SLOW}
    assert communication_seconds(**settings) == 180
    assert communication_bytes(**settings) == 120


def test_93_percent_less_time_and_traffic_to_80_percent_accuracy():
    # Section 4.2: 34 rounds instead of FedAvg's 470.
    for cost in (communication_seconds, communication_bytes):
        assert 1 - cost(rounds=34, clients=368) / cost(rounds=470, clients=368) == pytest.approx(0.93, abs=0.005)


def test_the_models_size_is_the_papers():
    assert Hardware().model_bytes / 2**20 == pytest.approx(25.2, abs=0.01)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kappa": 0.0}, "kappa"),
        ({"kappa": 1.1}, "kappa"),
        ({"rounds": 0}, "rounds"),
        ({"clients": 0}, "clients"),
        ({"samples": 0}, "samples"),
        ({"growth": lambda r: 0}, "growth"),
    ],
)
def test_what_makes_no_sense_is_refused(change, field):
    with pytest.raises(BadValue) as caught:
        computing_seconds(**{"growth": linear, "rounds": 2, "clients": 4} | change)
    assert caught.value.field == field


def test_hardware_needs_positive_numbers():
    with pytest.raises(BadValue, match="bits_in_per_second is 0"):
        Hardware(bits_in_per_second=0)
