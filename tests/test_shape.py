import pytest
import torch

from covey.shape import fit

SHAPE = {
    "models": [torch.Tensor],
    "round": int,
    "seconds": float,
    "where": [(None, [str, int])],
    "traffic": [[str, str, int]],
    "memory": {int: {str: torch.Tensor}},
    "done": bool,
}


def good():
    return {
        "models": [torch.zeros(2)],
        "round": 3,
        "seconds": 1,
        "where": [None, ["edge", 2]],
        "traffic": [["cloud", "edge", 3], ["edge", "cloud", 4]],
        "memory": {4: {"c": torch.zeros(2)}},
        "done": False,
    }


def test_what_fits():
    fit(good(), SHAPE)
    fit({"anything": [object()]}, dict)
    fit([], [int])
    fit(True, (bool, str))
    fit(None, None)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("models", [torch.zeros(2), 3], "its models/1 is an int, not a Tensor"),
        ("models", {"0": torch.zeros(2)}, "its models is a dict, not a list"),
        ("round", True, "its round is a bool, not an int"),
        ("round", 3.0, "its round is a float, not an int"),
        ("seconds", "1", "its seconds is a str, not a float"),
        ("seconds", True, "its seconds is a bool, not a float"),
        ("where", [["edge", None]], "its where/0 is a list and none of what it may be"),
        ("where", [["edge"]], "its where/0 is a list and none of what it may be"),
        ("traffic", [["cloud", "edge"]], "its traffic/0 has 2 members, not 3"),
        ("traffic", [["cloud", "edge", 3], ["cloud", 3, 3]], "its traffic/1/1 is an int, not a str"),
        ("memory", {"4": {}}, "its memory has a key that is a str, not an int"),
        ("memory", {4: {"c": [0.0]}}, "its memory/4/c is a list, not a Tensor"),
        ("memory", None, "its memory is None, not a dict"),
        ("done", 0, "its done is an int, not a bool"),
    ],
)
def test_what_does_not_names_the_place(name, value, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        fit(good() | {name: value}, SHAPE)


def test_names_are_exact():
    with pytest.raises(ValueError, match=r"^it has an unknown extra$"):
        fit(good() | {"extra": 1}, SHAPE)
    without = good()
    del without["round"]
    with pytest.raises(ValueError, match=r"^the data has no round$"):
        fit(without, SHAPE, "the data")
    with pytest.raises(ValueError, match=r"^the data is a list, not a dict$"):
        fit([], SHAPE, "the data")
    with pytest.raises(ValueError, match=r"^it is an int, not None$"):
        fit(3, None)
