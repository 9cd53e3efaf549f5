from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.narrow import known

from covey.data import DATASETS, Dataset, find, get, load
from covey.data.datasets import MADE_UP
from covey.data.files import Remote
from covey.errors import BadData, UnknownName


def dataset(**changes):
    given: dict[str, Any] = {
        "name": "coins",
        "x": np.zeros((3, 1), np.float32),
        "y": [0, 1, 1],
        "test_x": np.zeros((1, 1), np.float32),
        "test_y": [0],
        "classes": 2,
    }
    return Dataset(**(given | changes))


def test_labels_become_int64():
    assert dataset().y.dtype == dataset().test_y.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y": [0, 1]}, r"coins: y is 'of shape \(2,\)'; allowed is one class a row of x, from 0 to 1: 3 of them"),
        ({"test_owners": [0, 0]}, r"coins: test_owners is .*the number of its owner, from 0 up, for each of 1 samples"),
        ({"y": [0, 1, 2]}, "coins: y is 2; allowed is one class a row of x, from 0 to 1"),
        ({"test_y": [-1]}, "coins: test_y is -1; allowed is one class a row of test_x, from 0 to 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, sentence):
    with pytest.raises(BadData, match=sentence):
        dataset(**changes)


def test_every_set_has_a_summary_and_a_way_to_get_it():
    for entry in DATASETS:
        assert entry.summary
        assert entry.paper or entry.name in MADE_UP
        assert entry.thing.built_in or entry.thing.upstream or entry.thing.by_hand


def test_every_upstream_file_has_a_checksum():
    for entry in DATASETS:
        for remote in entry.thing.upstream:
            kind, digest = remote.checksum.split(":")
            assert len(digest) == {"md5": 32, "sha256": 64}[kind]
            assert remote.url.startswith("http")


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'fashion-mnist'"):
        load("fashion_mnist")


@pytest.mark.parametrize("name", [entry.name for entry in DATASETS if not entry.thing.built_in])
def test_missing_data_says_what_to_do(home, name):
    with pytest.raises(BadData) as caught:
        load(name)
    sentence = str(caught.value)
    source = DATASETS[name]
    assert f"set COVEY_DATA (now {home}) to a folder with" in sentence
    assert bool(source.upstream) == ("`covey data get" in sentence)
    assert source.by_hand in sentence
    assert "\n" not in sentence


def test_fashion_mnist_names_the_debian_package(home):
    with pytest.raises(
        BadData, match=r"fashion-mnist is not on this machine: run `covey data get fashion-mnist`.*Debian"
    ):
        load("fashion-mnist")


def test_a_missing_file_of_several_is_named(home, write_idx, little_mnist):
    write_idx("mnist", home / "mnist", *little_mnist)
    (home / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(BadData, match=r"mnist/t10k-labels-idx1-ubyte\.gz is missing: run `covey data get mnist`"):
        load("mnist")


@pytest.mark.parametrize("place", ["data/mnist", "data", "system/mnist", "cache/covey/mnist"])
def test_files_are_found_in_every_place(home, write_idx, little_mnist, place):
    write_idx("mnist", home.parent / place, *little_mnist)
    found = find("mnist")
    assert found is not None
    assert found[1] == home.parent / place
    assert len(load("mnist").x) == 6


def test_the_data_folder_comes_first(home, write_idx, little_mnist):
    for place in ("cache/covey/mnist", "system/mnist", "data", "data/mnist"):
        write_idx("mnist", home.parent / place, *little_mnist)
        assert known(find("mnist"))[1] == home.parent / place


def test_get_leaves_alone_what_is_here(home, write_idx, little_mnist):
    write_idx("mnist", home / "mnist", *little_mnist)
    assert get("mnist") == home / "mnist"


def test_get_fetches_into_the_cache_and_load_finds_it(home, monkeypatch, write_idx, little_mnist, tmp_path):
    fetched = []

    def fake(name: str, remote: Remote, *, progress: object) -> None:
        fetched.append(remote.name)
        if len(fetched) == 4:
            write_idx(name, tmp_path / "cache" / "covey" / name, *little_mnist)

    monkeypatch.setattr("covey.data.datasets.fetch", fake)
    assert len(load("mnist", download=True).x) == 6
    assert fetched == [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ]


def test_get_brings_what_a_set_needs_too(home, monkeypatch):
    fetched = []
    monkeypatch.setattr("covey.data.datasets.fetch", lambda name, remote, progress: fetched.append(name))
    with pytest.raises(BadData):  # the fake brings nothing
        get("mnist-writers")
    assert fetched == ["mnist"] * 4


def test_get_says_when_it_cannot(home):
    with pytest.raises(BadData, match="celeba cannot be fetched by covey: run LEAF's"):
        get("celeba")
