from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.narrow import samples

import covey
from covey.errors import BadValue
from covey.fleet import Fleet, FleetData


def data(**changes):
    """Four samples of two classes with two clients."""
    given: dict[str, Any] = {
        "name": "coins",
        "x": np.arange(8, dtype=np.float32).reshape(4, 2),
        "y": [0, 1, 0, 1],
        "test_x": np.zeros((1, 2), np.float32),
        "test_y": [1],
        "train_of": ([0, 1], [2]),
        "test_of": ([], [3]),
        "classes": 2,
    }
    return FleetData(**(given | changes))


@pytest.mark.parametrize(
    "labels",
    [
        [[3, 0], [1, 2]],
        ((3, 0), (1, 2)),
        np.array([[3, 0], [1, 2]], dtype=np.uint8),
        np.array([[3.0, 0.0], [1.0, 2.0]]),
        torch.tensor([[3, 0], [1, 2]]),
    ],
)
def test_counts_come_in_many_forms(labels):
    fleet = Fleet(labels)
    assert fleet.labels.dtype == np.int64
    assert fleet.sizes.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([[1.5, 0]], r"labels is 1\.5; allowed is counts from 0 up"),
        ([[np.nan, 0]], "labels is nan"),
        ([[np.inf, 0]], "labels is inf"),
        ([[1e17, 0]], r"labels is 1e\+17"),
        ([[2**62, 2**62]], "labels is 4611686018427387904; allowed is counts from 0 up"),
        (np.array([[2**63]], dtype=np.uint64), "labels is 9223372036854775808"),
        ([[-1, 0]], "labels is -1; allowed is counts from 0 up"),
        ([[1, 2], [3]], r"labels is \[\[1, 2\], \[3\]\]; allowed is counts"),
        ([["a"]], "labels is"),
        (None, "labels is None; allowed is counts"),
        ("ab", "labels is 'ab'"),
        ({"a": 1}, "labels is {'a': 1}"),
        (7, r"labels is \(\); allowed is a table"),
        ([], r"labels is \(0,\); allowed is a table"),
        ([[]], r"labels is \(1, 0\); allowed is a table"),
        (torch.ones(1, 1, requires_grad=True), "labels is tensor"),
    ],
)
def test_counts_that_are_none(labels, sentence):
    with pytest.raises(BadValue, match=sentence):
        Fleet(labels)


@pytest.mark.parametrize("field", ["edge_of", "window_of"])
@pytest.mark.parametrize("wrong", [[0], [0, 0, 0], [0, -1], [0, 0.5], ["a", "b"], 3, "01", [[0, 1]], [0, None]])
def test_places_and_windows_are_one_a_client(field, wrong):
    given: Any = {field: (0.0, 1.0)}
    assert getattr(Fleet([[1], [1]], **given), field).tolist() == [0, 1]
    with pytest.raises(BadValue, match=f"{field} is .*; allowed is 2 whole numbers from 0 up, one per client"):
        Fleet([[1], [1]], **{field: wrong})


def test_names_are_one_a_client():
    mixed: Any = ["a", 7]
    assert Fleet([[1], [1]], names=mixed).names == ("a", "7")
    for wrong in (["a"], "ab"):
        with pytest.raises(BadValue, match=r"names is .*; allowed is 2 texts, one per client"):
            Fleet([[1], [1]], names=wrong)


def test_a_fleet_and_its_data_are_one_line_each():
    fleet = Fleet([[1, 1], [1, 0]], edge_of=[0, 1], data=data())
    assert repr(fleet) == "Fleet(2 clients, 2 classes, 3 samples, 2 edges, coins)"
    assert repr(fleet.data) == "FleetData('coins', 4 samples of shape (2,), 2 classes)"


def test_clients_by_edge():
    fleet = Fleet([[1], [1], [1]]).with_edges([2, 0, 2])
    assert fleet.by_edge == [[1], [0, 2]]
    assert [fleet.edge(i) for i in range(3)] == [2, 0, 2]
    with pytest.raises(BadValue, match="edge_of is"):
        fleet.with_edges([0, 0])


def test_samples_keep_their_arrays_and_get_the_types_of_a_fleet():
    x = np.zeros((4, 2), np.float32)
    assert data(x=x).x is x
    assert data(x=x.astype(np.float64)).x.dtype == np.float32
    assert data(x=np.zeros((4, 2), np.int32), test_x=np.zeros((1, 2), np.int32)).x.dtype == np.int64
    assert data(x=torch.zeros(4, 2), y=torch.tensor([0, 1, 0, 1])).y.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y": [0, 1, 2, 1]}, "y is 2; allowed is one class a row of x, from 0 to 1"),
        ({"y": [0, 1, -1, 1]}, "y is -1; allowed"),
        ({"y": [0, 1, 0.5, 1]}, r"y is 0\.5; allowed"),
        ({"y": [0, 1]}, r"y is 'of shape \(2,\)'; allowed is one class a row of x, from 0 to 1: 4 of them"),
        ({"y": None}, "y is None; allowed is one class a row of x"),
        ({"test_y": [3]}, "test_y is 3; allowed is one class a row of test_x"),
        ({"x": None}, "x is None; allowed is an array of numbers, one row per sample"),
        ({"x": ["a", "b", "c", "d"]}, "x is 'of type <U1'"),
        ({"x": 3}, "x is 'of type int64'; allowed is an array of numbers, one row per sample"),
        ({"test_x": np.zeros((1, 3))}, r"test_x is 'samples of shape \(3,\)'; allowed is of shape \(2,\), as in x"),
        ({"classes": 0}, "classes is 0; allowed is a whole number from 1 up"),
        ({"classes": 2.0}, r"classes is 2\.0"),
        ({"train_of": ([0, 4], [2])}, r"train_of is \[0, 4\]; allowed is .* numbers of its samples, from 0 to 3"),
        ({"train_of": ([0, -1], [2])}, r"train_of is \[0, -1\]"),
        ({"train_of": None}, "train_of is None"),
        ({"train_of": (0, 1)}, "train_of is 0; allowed"),
        ({"train_of": (["a"], [2])}, "train_of is"),
        ({"test_of": ([3],)}, "test_of is 'lists of 1 clients'; allowed is one per client: 2"),
    ],
)
def test_data_that_does_not_fit_together(changes, sentence):
    with pytest.raises(BadValue, match=sentence):
        data(**changes)


def test_labels_and_data_are_of_the_same_clients():
    with pytest.raises(BadValue, match="data is 'of 2 clients and 2 classes'; allowed is of as many"):
        Fleet([[1, 1], [1, 0], [1, 0]], data=data())
    with pytest.raises(BadValue, match=r"allowed is a covey\.FleetData"):
        Fleet([[1, 1], [1, 0]], data="digits")  # type: ignore[arg-type]  # what is tested
    assert samples(replace(Fleet([[1, 1], [1, 0]]), data=data())).name == "coins"


def test_the_public_fleet_loads_data():
    assert covey.Fleet is Fleet
    assert covey.Fleet.load("digits", clients=3).clients == 3
