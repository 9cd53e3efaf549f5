import pytest

from covey.errors import BadValue, UnknownName
from covey.network.devices import DEVICES, Device, device


@pytest.mark.parametrize(
    ("name", "speed"), [("phone-5gflops", 5e9), ("phone-250gflops", 250e9), ("chip-567gflops", 567e9)]
)
def test_phones_train_at_their_speed(name, speed):
    # |D_i| x FLOPs / speed, as FedAvg-IC
    assert DEVICES[name].train_seconds(500, flops=2e6, epochs=3) == pytest.approx(3 * 500 * 2e6 / speed)


@pytest.mark.parametrize("entry", DEVICES, ids=lambda entry: entry.name)
def test_every_device_says_where_it_comes_from_and_never_runs_backwards(entry):
    assert entry.summary
    assert entry.paper
    made = entry.thing
    assert made.name == entry.name
    assert all(made.train_seconds(n, flops=1e6) >= 0 for n in range(20))
    assert all(made.group_seconds(name, g) >= 0 for name in made.group_costs for g in range(1, 60))


def test_the_raspberry_pi_of_group_fel():
    pi = DEVICES["raspberry-pi-4"]
    assert pi.train_seconds(100, flops=0, epochs=2) == pytest.approx(2 * (0.07093414 * 100 - 0.00559966))
    assert pi.train_seconds(100, flops=0, rule="fedprox") == pytest.approx(0.06719291 * 100 + 0.14201339)
    assert pi.train_seconds(100, flops=0, rule="mmd") == pi.train_seconds(100, flops=0, rule="sgd")
    assert pi.group_seconds("secure-aggregation", 5) == pytest.approx(0.01629675 * 25 - 0.02373668 * 5 + 0.55442565)
    assert pi.group_seconds("backdoor-detection", 1) == 0  # .00548707 + .0038231 - .06900253 is below zero
    speech = DEVICES["raspberry-pi-4-speech"]
    assert speech.group_seconds("backdoor-detection", 15) == pytest.approx(
        0.00079432 * 225 - 0.00142096 * 15 + 0.02028448
    )


def test_group_operations_that_nobody_measured_are_refused():
    with pytest.raises(UnknownName, match="group operation of raspberry-pi-4 is 'secure'"):
        DEVICES["raspberry-pi-4"].group_seconds("secure", 5)
    with pytest.raises(UnknownName, match="group operation of phone-5gflops"):
        DEVICES["phone-5gflops"].group_seconds("secure-aggregation", 5)


def test_merging():
    chip = DEVICES["chip-567gflops"]
    assert chip.merge_seconds(6_603_710, 10) == pytest.approx(6_603_710 * 9 / 567e9)
    assert chip.merge_seconds(6_603_710, 0) == 0


def test_energy():
    made = Device("d", 1e9, watts=2.0, joules_per_byte_sent=3e-6, joules_per_byte_received=1e-6)
    assert made.joules(busy_seconds=10, sent=1e6, received=2e6) == pytest.approx(10 * 2 + 3 + 2)
    # 283.17 mW per Mbps is 283.17 nJ per bit: a megabyte is 8 million bits
    assert DEVICES["phone-5gflops"].joules(sent=1e6) == pytest.approx(8e6 * 283.17e-9)


def test_a_device_by_its_speed_alone():
    assert device("12GFLOPS").train_seconds(10, flops=12e9) == 10
    with pytest.raises(BadValue, match="device is '12 horses'"):
        device("12 horses")
    with pytest.raises(UnknownName, match="did you mean 'phone-5gflops'"):
        device("phone-5gflop")
    with pytest.raises(BadValue, match="speed is 0"):
        Device("d", 0)
    with pytest.raises(BadValue, match="watts is -1"):
        Device("d", 1e9, watts=-1)
