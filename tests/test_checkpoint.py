import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from covey.checkpoint import Checkpoint, fingerprint
from covey.errors import BadData

plain = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=8)
arrays = st.lists(st.integers(-9, 9), max_size=5).map(lambda values: np.array(values, dtype=np.int64))
tensors = st.lists(st.floats(-9, 9, width=32), max_size=5).map(lambda values: torch.tensor(values, dtype=torch.float32))
keys = st.integers(-5, 5) | st.text(max_size=4)
anything = st.recursive(
    plain | arrays | tensors, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


def same(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    return type(a) is type(b) and a == b


def round_trip(data, path):
    path.write_bytes(Checkpoint(data).encode())
    return Checkpoint.load(path).data


@given(data=st.dictionaries(st.text(max_size=4), anything, max_size=4))
def test_what_goes_in_comes_out(data, tmp_path_factory):
    assert same(round_trip(data, tmp_path_factory.mktemp("checkpoint") / "one"), data)


def test_arrays_of_all_kinds(tmp_path):
    frozen = np.arange(6.0).reshape(2, 3)
    frozen.flags.writeable = False
    data = {
        "frozen": frozen,
        "transposed": frozen.T,
        "bits": np.array([True, False]),
        "small": np.arange(3, dtype=np.int32),
        "number": torch.tensor(3.5),
        "view": torch.arange(6).view(2, 3).T,
    }
    assert same(round_trip(data, tmp_path / "one"), data)


def test_numpys_numbers_become_pythons_and_tuples_lists(tmp_path):
    data = {"seed": np.int64(3), "pair": (1, np.float64(2.5)), "by client": {np.int64(4): "four"}}
    assert round_trip(data, tmp_path / "one") == {"seed": 3, "pair": [1, 2.5], "by client": {4: "four"}}


def test_later_changes_do_not_reach_a_checkpoint(tmp_path):
    model = torch.zeros(3)
    encoded = Checkpoint({"model": model}).encode()
    model.fill_(1)
    (tmp_path / "one").write_bytes(encoded)
    loaded = Checkpoint.load(tmp_path / "one").data["model"]
    assert loaded.tolist() == [0, 0, 0]
    (tmp_path / "one").write_bytes(b"\0" * len(encoded))
    assert loaded.tolist() == [0, 0, 0]


def test_loaded_models_lie_in_memory_as_models_that_were_never_saved(tmp_path):
    """Else a matrix product may round differently after a resume."""
    data = {"models": [torch.zeros(5), torch.ones(7)], "home": np.zeros(3, dtype=np.int64)}
    loaded = round_trip(data, tmp_path / "one")
    assert all(model.data_ptr() % 64 == torch.zeros(5).data_ptr() % 64 == 0 for model in loaded["models"])


@given(where=st.floats(0, 1, exclude_max=True), cut=st.booleans())
def test_a_damaged_file_is_told_from_a_whole_one(where, cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "one"
    whole = Checkpoint({"models": [torch.arange(20.0)], "round": 3}).encode()
    spot = int(where * len(whole))
    path.write_bytes(whole[:spot] if cut else whole[:spot] + bytes([whole[spot] ^ 1]) + whole[spot + 1 :])
    with pytest.raises(BadData, match="cannot be read") as caught:
        Checkpoint.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 100])
def test_other_files_and_none_at_all(tmp_path, content):
    with pytest.raises(BadData, match="cannot be read"):
        Checkpoint.load(tmp_path / "missing")
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(BadData, match="cannot be read"):
        Checkpoint.load(tmp_path / "other")


def test_the_fingerprint_is_that_of_the_bytes():
    models = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    wanted = hashlib.sha256(np.array([1, 2, 3], dtype=np.float32).tobytes()).hexdigest()
    assert fingerprint(models) == wanted
    models[1][0] = np.nextafter(np.float32(3), np.float32(4)).item()
    assert fingerprint(models) != wanted
