"""Measured group operations, the files they are written to, and who reads these."""

import numpy as np
import pytest

from covey.errors import BadData, UnknownName
from covey.experiment import Experiment, life
from covey.fleet import Fleet
from covey.groupops import measure_backdoor, measure_secure, measure_training, model_values, profile
from covey.network.devices import device
from covey.network.site import make_site
from covey.prices import PRICES
from covey.profile import Profile, fit, is_profile, make_prices

CURVES = Profile({"sgd": (0.5, 0.0)}, {"secure-aggregation": (1.0, 0.0, 2.0), "backdoor-detection": (0.0, 3.0, 0.0)})


@pytest.fixture
def file(tmp_path):
    CURVES.write(tmp_path / "pi.toml")
    return str(tmp_path / "pi.toml")


def test_a_quadratic_is_found_again():
    curve, r2 = fit([1, 2, 3, 5, 8], [2 * g * g - 3 * g + 1 for g in (1, 2, 3, 5, 8)], 2)
    assert np.allclose(curve, (2, -3, 1))
    assert r2 == pytest.approx(1)
    assert fit([1, 2, 3], [1.0, 2.0, 1.0], 1)[1] == pytest.approx(0)  # a line through a hill explains nothing


def test_secure_aggregation_is_measured_in_seconds_and_bytes():
    found = measure_secure([2, 4, 8, 12], 500)
    assert found.sizes == (2, 4, 8, 12)
    assert all(seconds > 0 for seconds in found.seconds + found.server_seconds)
    assert list(found.bytes) == sorted(found.bytes)
    assert found.bytes[0] > 500 * 4  # the masked vector alone
    assert len(found.fit) == 3
    assert found.r2 <= 1


def test_backdoor_detection_and_training_are_measured_and_make_a_profile(tmp_path):
    backdoor, training = measure_backdoor([2, 3, 4, 5], 100), measure_training([10, 40], "softmax-regression", 10)
    assert model_values("softmax-regression") == 7850
    made = profile(measure_secure([2, 3, 4, 5], 50), backdoor, training, model="softmax-regression", values=7850)
    made.write(tmp_path / "here.toml")
    read = Profile.read(tmp_path / "here.toml")
    assert read == made
    assert read.notes == {"model": "softmax-regression", "values": 7850}
    assert training.fit[0] > 0  # more samples take longer


def test_prices_of_a_profile(file):
    prices = make_prices(file)
    assert (prices.group_seconds(3), prices.train_seconds(10)) == (11.0, 5.0)  # 9 + 2, 0.5 x 10
    assert make_prices(f"{file}:backdoor-detection").group_seconds(3) == 9.0
    assert make_prices("cifar-secure") is PRICES["cifar-secure"]
    with pytest.raises(UnknownName, match="group operation"):
        make_prices(f"{file}:dancing")


def test_the_clock_reads_a_profile(file):
    fleet = Fleet(np.full((3, 2), 5))
    site = make_site(fleet, network="star", flops=1.0, model_bytes=4, group_operation=file)
    assert site.devices[0].group_seconds(file, 4) == 18.0  # 16 + 2
    measured = device(file)
    assert measured.train_seconds(10, flops=1e9) == 5.0
    assert measured.group_seconds("backdoor-detection", 4) == 12.0
    whole = make_site(
        fleet, network="star", flops=1.0, model_bytes=4, device=file, group_operation="secure-aggregation"
    )
    assert whole.train_seconds(0, epochs=1) == 5.0


def test_runs_are_priced_by_a_profile(tmp_path, file):
    settings = {"clients": 4, "samples": 20, "rounds": 2, "model": "softmax-regression", "mode": "one-by-one"}
    settings |= {"test_fraction": 0.0, "network": "star", "partition": "iid"}
    found = life.start(Experiment.make({**settings, "prices": file, "group_operation": file}), tmp_path)[1]
    assert found["cost"] == 2 * 4 * (4 * 4 + 2 + 0.5 * 20)
    plain = life.start(Experiment.make(settings), tmp_path)[1]
    assert found["simulated_seconds"] == pytest.approx(plain["simulated_seconds"] + 2 * 18)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("training = 3", "no table \\[training\\]"),
        ("[training]\nsgd = [1.0, 2.0]", "no table \\[group_costs\\]"),
        ("[training]\nsgd = [1.0]\n[group_costs]\na = [1, 2, 3]", "sgd in \\[training\\] is \\[1.0\\]; expected are 2"),
        ("[training]\nsgd = [1.0, inf]\n[group_costs]\na = [1, 2, 3]", "expected are 2 numbers"),
        ("[training]\nadam = [1.0, 2.0]\n[group_costs]\na = [1, 2, 3]", "no sgd"),
        ("[training", "not TOML"),
    ],
)
def test_files_that_are_no_profile_get_one_sentence(tmp_path, text, fault):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(BadData, match=fault):
        Profile.read(tmp_path / "bad.toml")


def test_a_file_that_is_not_there():
    with pytest.raises(BadData, match="cannot be read"):
        make_prices("nowhere.toml")
    assert not is_profile("cifar-secure")
