from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.narrow import known, samples

from covey.data import Dataset, iid, load_fleet
from covey.errors import BadData, BadValue, UnknownName
from covey.experiment import Experiment
from covey.experiment.assembly import make_fleet
from covey.fleet import CLIENTS, EDGES, PARTITION, Fleet


def own(samples=100, classes=4, **more):
    y = np.arange(samples) % classes
    x = np.arange(samples, dtype=np.float32)[:, None]
    return Dataset("mine", x, y, np.full((3, 1), -1, np.float32), np.zeros(3, np.int64), classes, **more)


def test_digits_by_name():
    fleet = load_fleet("digits", clients=20, partition="dirichlet:0.5", edges=4)
    assert (fleet.clients, fleet.classes, len(fleet.by_edge)) == (20, 10, 4)
    assert samples(fleet).name == "digits"
    assert samples(fleet).shape == (1, 8, 8)
    assert fleet.names is None
    assert fleet.window_of is None


def test_unless_told_it_is_the_fleet_of_a_run():
    run = Experiment.make({})
    fleet = Fleet.load()
    assert (run.data, run.clients, run.partition, run.edges) == ("digits", CLIENTS, PARTITION, None)
    np.testing.assert_array_equal(fleet.labels, make_fleet(run).labels)
    assert fleet.clients == 50
    assert len(fleet.by_edge) == EDGES
    assert known(Fleet.load(clients=3).edge_of).tolist() == [0, 1, 2]


def test_fleet_load_is_the_same():
    one, other = Fleet.load("digits", clients=5), load_fleet("digits", clients=5)
    np.testing.assert_array_equal(one.labels, other.labels)


@given(st.integers(1, 30), st.floats(0, 0.99), st.one_of(st.none(), st.integers(1, 9)), st.integers(0, 3))
def test_train_and_test_are_apart_and_labels_count_the_training_part(clients, fraction, cap, seed):
    fleet = load_fleet(own(), clients=clients, test_fraction=fraction, samples=cap, seed=seed)
    data = samples(fleet)
    held = np.concatenate((*data.train_of, *data.test_of))
    assert len(np.unique(held)) == len(held)
    for counts, train, test in zip(fleet.labels, data.train_of, data.test_of, strict=True):
        np.testing.assert_array_equal(counts, np.bincount(data.y[train], minlength=4))
        total = len(train) + len(test)
        assert len(train) >= 1
        assert total <= (cap or 100)
        assert len(test) == (0 if fraction == 0 or total == 1 else min(total - 1, max(1, round(fraction * total))))


def test_without_a_cap_everything_is_held():
    data = samples(load_fleet(own(), clients=7, partition="iid"))
    assert sorted(np.concatenate((*data.train_of, *data.test_of)).tolist()) == list(range(100))


def test_the_seed_decides_all_of_it():
    def made(seed):
        fleet = load_fleet(own(), clients=8, samples=9, windows=3, seed=seed)
        return [part.tolist() for part in samples(fleet).train_of], known(fleet.window_of).tolist()

    assert made(1) == made(1)
    assert made(1)[0] != made(2)[0]
    assert made(1)[1] != made(2)[1]


def test_the_global_test_set_is_nobodys():
    data = samples(load_fleet(own(), clients=5))
    assert (data.test_x == -1).all()
    assert (data.x >= 0).all()


def test_edges_are_contiguous():
    assert known(load_fleet(own(), clients=5, edges=2).edge_of).tolist() == [0, 0, 0, 1, 1]


def test_windows_are_even():
    fleet = load_fleet(own(), clients=10, windows=4)
    assert sorted(np.bincount(known(fleet.window_of)).tolist()) == [2, 2, 3, 3]


OWNERS = np.repeat([0, 1, 2], [50, 30, 20])


def test_natural_clients_carry_their_names():
    fleet = load_fleet(own(owners=OWNERS, owner_names=("ada", "bob", "cyd")), clients=0, partition="natural")
    assert fleet.names == ("ada", "bob", "cyd")
    assert fleet.sizes.tolist() == [40, 24, 16]  # four fifths of 50, 30 and 20


def test_some_natural_clients_carry_the_right_names():
    mine = own(owners=OWNERS, owner_names=("ada", "bob", "cyd"))
    for seed in range(5):
        fleet = load_fleet(mine, clients=2, partition="natural", seed=seed, test_fraction=0)
        sizes = {"ada": 50, "bob": 30, "cyd": 20}
        assert fleet.sizes.tolist() == [sizes[name] for name in known(fleet.names)]


def test_owners_without_names_are_clients_without_names():
    assert load_fleet(own(owners=OWNERS), clients=None, partition="natural").names is None


def test_owners_keep_their_own_test_samples():
    mine = own(owners=OWNERS, owner_names=("ada", "bob", "cyd"), test_owners=[2, 0, 2])
    fleet = load_fleet(mine, clients=None, partition="natural", samples=25)
    data = samples(fleet)
    assert fleet.sizes.tolist() == [25, 25, 20]
    # the pool is the 100 train samples, then the 3 test samples
    assert len(data.x) == len(data.y) == 103
    assert [part.tolist() for part in data.test_of] == [[101], [], [100, 102]]
    assert (data.x[100:] == -1).all()
    assert len(data.test_x) == 3


def test_own_test_samples_are_for_natural_clients_only():
    fleet = load_fleet(own(owners=OWNERS, test_owners=[2, 0, 2]), clients=10, partition="iid")
    assert len(samples(fleet).x) == 100
    assert all(len(part) == 2 for part in samples(fleet).test_of)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"samples": 0}, "samples is 0; allowed is a whole number from 1 up"),
        ({"test_fraction": 1.0}, r"test_fraction is 1\.0; allowed is a share from 0 up to, but not including, 1"),
        ({"test_fraction": -0.1}, r"test_fraction is -0\.1"),
        ({"windows": 0}, "windows is 0; allowed is a whole number from 1 to 5"),
        ({"windows": 6}, "windows is 6"),
        ({"clients": 0}, "clients is 0; allowed is a whole number from 1 up"),
        ({"clients": -1}, "clients is -1; allowed is a whole number from 1 up"),
        ({"clients": 101}, "clients is 101; allowed is at most 100, one sample each"),
        ({"edges": 6}, "edges is 6; allowed is at most 5, one client each"),
        ({"partition": "natural"}, "partition is 'natural'; allowed is for data stored by owner only"),
    ],
)
def test_what_is_wrong_is_said(changes, sentence):
    with pytest.raises(BadValue, match=sentence):
        load_fleet(own(), **({"clients": 5, "partition": iid()} | changes))


def test_unknown_names_and_missing_data(home):
    with pytest.raises(UnknownName, match="did you mean 'digits'"):
        load_fleet("digit", clients=5)
    with pytest.raises(BadData, match="covey data get mnist"):
        load_fleet("mnist", clients=5)


def test_train_and_test_samples_split_anew():
    fleet = load_fleet("digits", clients=10, partition="iid", pool="3:1:1", test_fraction=0)
    assert fleet.data is not None
    held = np.concatenate(list(fleet.data.train_of))
    assert len(held) == len(np.unique(held)) == 1797 * 3 // 5  # three of five parts of all samples
    assert len(fleet.data.test_y) == 1797 - 1797 * 4 // 5
    again = load_fleet("digits", clients=10, pool="3:1:1", test_fraction=0, seed=1)
    assert again.data is not None
    assert not np.array_equal(fleet.data.test_y, again.data.test_y)
    for wrong in ("3:1", "0:1:1", "3:1:0", "a"):
        with pytest.raises(BadValue, match="pool is"):
            load_fleet("digits", clients=10, pool=wrong)
    with pytest.raises(BadValue, match="pool is '3:1:1'; allowed is nothing for synthetic"):
        load_fleet("synthetic", clients=10, pool="3:1:1")
