from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.narrow import known

from covey.data import load
from covey.data.shakespeare import BEGIN, CHARACTERS, END, LENGTH, OTHER, PAD, SYMBOLS, cut, encode
from covey.errors import BadData


def test_the_alphabet_has_90_symbols():
    assert len(set(CHARACTERS)) == len(CHARACTERS) == 86
    assert (PAD, BEGIN, END, OTHER, SYMBOLS) == (0, 87, 88, 89, 90)


def test_every_character_has_its_own_number():
    assert encode(CHARACTERS).tolist() == list(range(1, 87))
    assert encode("}é€").tolist() == [OTHER] * 3


def test_a_text_is_cut_into_pieces_of_81():
    # begin + 200 characters = 201 symbols = 2 x 81 + 39, the end mark at the very end is dropped
    x, y = cut(["a" * 200])
    assert x.shape == (2, 80)
    a = encode("a")[0]
    assert x[0].tolist() == [BEGIN] + [a] * 79
    assert x[1].tolist() == [a] * 80
    assert y.tolist() == [a, a]


def test_snippets_are_one_text():
    # begin + 40 + end + begin + 60 = 103 symbols: one piece, whose symbol number 81 is the 38th of the second snippet
    x, y = cut(["a" * 40, "", "b" * 37 + "c" * 23])
    a, b, c = encode("abc")
    assert x.tolist() == [[BEGIN] + [a] * 40 + [END, BEGIN] + [b] * 37]
    assert y.tolist() == [c]


def test_a_short_role_is_padded_in_front():
    x, y = cut(["ab"])
    a, b = encode("ab")
    assert x.tolist() == [[PAD] * 78 + [BEGIN, a]]
    assert y.tolist() == [b]


def test_a_silent_role_has_no_samples():
    x, y = cut([""])
    assert (x.shape, y.shape) == ((0, 80), (0,))


@given(st.lists(st.text(CHARACTERS, max_size=200), max_size=5))
def test_a_target_follows_its_sequence(snippets):
    x, y = cut(snippets)
    text = [symbol for snippet in snippets if snippet for symbol in (BEGIN, *encode(snippet).tolist(), END)][:-1]
    text = [PAD] * (LENGTH + 1 - len(text)) + text if text else []
    assert [*x.ravel().tolist()] == [symbol for i, symbol in enumerate(text[: 81 * len(y)]) if i % 81 != 80]
    assert y.tolist() == text[80 : 81 * len(y) : 81]


def write_h5(folder, split, roles):
    folder.mkdir(exist_ok=True)
    with h5py.File(folder / f"shakespeare_{split}.h5", "w") as file:
        for role, snippets in roles.items():
            file[f"examples/{role}/snippets"] = np.array(snippets, "S")


def test_fedshakespeare(home):
    write_h5(home / "shakespeare", "train", {"HAMLET": [b"a" * 200], "OPHELIA": [b"b", b"c"]})
    write_h5(home / "shakespeare", "test", {"HAMLET": [b"d" * 80], "OPHELIA": [b""]})
    read = load("shakespeare")
    assert read.x.dtype == np.int64
    assert read.shape == (80,)
    assert (read.classes, read.owner_names) == (90, ("HAMLET", "OPHELIA"))
    assert (known(read.owners).tolist(), known(read.test_owners).tolist()) == ([0, 0, 1], [0])
    assert read.test_y.tolist() == encode("d").tolist()


def test_a_cut_file_is_found(home):
    for split in ("train", "test"):
        write_h5(home / "shakespeare", split, {"HAMLET": [b"a" * 2000]})
    path = home / "shakespeare" / "shakespeare_train.h5"
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(BadData, match=r"shakespeare_train\.h5 is truncated or not FedShakespeare"):
        load("shakespeare")


def test_another_h5_file_is_found(home):
    for split in ("train", "test"):
        with h5py.File((home / f"shakespeare_{split}.h5"), "w") as file:
            file["weights"] = [1.0]
    with pytest.raises(BadData, match=r"shakespeare_train\.h5 is truncated or not FedShakespeare"):
        load("shakespeare")


def leaf(folder, x, y):
    folder.mkdir(parents=True)
    held = {"users": ["HAMLET"], "num_samples": [len(y)], "user_data": {"HAMLET": {"x": x, "y": y}}}
    (folder / "all_data.json").write_text(json.dumps(held))


def test_leaf_shakespeare(home):
    leaf(home / "shakespeare" / "train", ["a" * 80, "b" * 80], ["c", "d"])
    leaf(home / "shakespeare" / "test", ["e" * 80], ["}"])
    read = load("shakespeare")
    assert read.x[1].tolist() == [encode("b")[0]] * 80
    assert read.y.tolist() == encode("cd").tolist()
    assert read.test_y.tolist() == [OTHER]


def test_leaf_sequences_of_another_length_are_refused(home):
    for split in ("train", "test"):
        leaf(home / "shakespeare" / split, ["a" * 79], ["c"])
    with pytest.raises(BadData, match="a sequence that is not 80 characters and 1 more"):
        load("shakespeare")
