from __future__ import annotations

import json

import numpy as np
import pytest
from tests.narrow import samples
from typer.testing import CliRunner

import covey
from covey.cli.data import app
from covey.data import Dataset, load, load_fleet
from covey.data.datasets import find
from covey.errors import BadData, BadValue, UnknownName

SMALL = "synthetic:shape=1x4x4,classes=3,pool=30"


def test_a_class_is_a_pattern_under_noise():
    clear, noisy = load("synthetic:shape=2x3,classes=4,noise=0,pool=8"), load("synthetic:shape=2x3,classes=4,pool=8")
    assert clear.shape == (2, 3)
    assert clear.y.tolist() == [0, 1, 2, 3] * 4
    np.testing.assert_array_equal(clear.x[0], clear.x[4])
    assert (clear.x[0] != clear.x[1]).any()
    patterns = clear.x[:4][noisy.y]
    noise = (noisy.x - 0.1 * patterns) / 0.9
    assert noise.min() > -1e-6
    assert noise.max() < 1 + 1e-6
    assert len(np.unique(noise)) == noise.size


def test_the_seed_makes_it():
    np.testing.assert_array_equal(load(SMALL).x, load(SMALL).x)
    assert (load(SMALL).x != load(f"{SMALL},seed=1").x).any()


def test_there_are_as_many_clients_as_asked_for():
    fleet = load_fleet(SMALL, clients=5000, partition="dirichlet:0.3", samples=10, edges=2)
    data = samples(fleet)
    assert (fleet.clients, len(data.y)) == (5000, 60)
    assert set(fleet.sizes) == {8}  # two of ten are for testing
    assert set(data.test_of.sizes) == {2}
    assert data.train_of.flat.max() < 30 <= data.test_of.flat.min()
    np.testing.assert_array_equal(fleet.labels[7], np.bincount(data.y[data.train_of[7]], minlength=3))
    assert (fleet.labels.max(axis=1) >= 6).mean() > 0.3  # the partition's mixes are there


def test_a_client_holds_20_unless_told():
    assert set(load_fleet(SMALL, clients=7, test_fraction=0.0).sizes) == {20}


def test_it_can_be_learnt():
    done = covey.run(
        "fedavg",
        data=f"{SMALL},noise=0.3",
        clients=20,
        rounds=10,
        model="softmax-regression",
        lr=0.5,
        mode="one-by-one",
    )
    assert done.accuracy > 0.9
    assert done.name.startswith("fedavg-synthetic")


def test_there_are_no_clients_by_nature():
    with pytest.raises(BadValue, match="clients is 0; allowed is a whole number from 1 up"):
        load_fleet(SMALL, clients=0)
    assert load_fleet(SMALL).clients == 50


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("synthetic:shape=28x", "shape is '28x'; allowed is whole numbers from 1 up with an x between them"),
        ("synthetic:noise=1", "noise is 1.0; allowed is a number from 0 up to, but not including, 1"),
        ("synthetic:classes=0", "classes is 0; allowed is a whole number from 1 up"),
        ("synthetic:pool=3", "pool is 3; allowed is at least one sample of each of 10 classes"),
        ("synthetic:seed=-1", "seed is -1; allowed is a whole number from 0 up"),
        ("digits:shape=8x8", "data is 'digits:shape=8x8'; allowed is digits .it has no settings."),
    ],
)
def test_what_is_wrong_with_its_settings_is_said(word, said):
    with pytest.raises(BadValue, match=said):
        load(word)


def test_an_unknown_setting():
    with pytest.raises(UnknownName, match="setting of synthetic is 'size'"):
        load("synthetic:size=3")


def test_halves_of_an_endless_set_are_alike():
    with pytest.raises(BadData, match="two halves alike"):
        Dataset("mine", np.zeros((2, 1)), np.array([0, 1]), np.zeros((1, 1)), np.array([0]), classes=2, endless=True)


def test_it_is_built_in_with_and_without_settings():
    assert find(SMALL) is not None
    shown = CliRunner().invoke(app, ["show", SMALL, "--clients", "40", "--json"])
    facts = json.loads(shown.stdout)
    assert (facts["shape"], facts["classes"], facts["clients"]) == ([1, 4, 4], 3, 40)
    assert json.loads(CliRunner().invoke(app, ["get", SMALL, "--json"]).stdout)["path"] == "built in"
