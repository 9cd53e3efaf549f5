import hashlib
import json
import os
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from covey.checkpoint import Checkpoint, Identity, _digest, fingerprint, read_label
from covey.errors import BadData
from covey.shape import fit

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
        "half": torch.tensor([1.5], dtype=torch.bfloat16),
        "complex": torch.tensor([1 + 2j]),
        "none": np.zeros((0, 3), dtype=np.int64),
    }
    assert same(round_trip(data, tmp_path / "one"), data)


def test_places_that_are_written_alike_stay_apart(tmp_path):
    ones, twos, threes = (torch.full((2,), float(k)) for k in (1, 2, 3))
    data = {"state": {1: ones, "1": twos}, "a": {"b/c": ones, "b": {"c": twos}}, "a/b": {"c": threes}}
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


# --- whose it is

WHOSE = Identity("fedavg-digits-1", "ab" * 32, 3)


def saved(path, identity=WHOSE, **record):
    encoded, digest = Checkpoint({"models": [torch.arange(3.0)]}, identity, record).seal()
    path.write_bytes(encoded)
    return digest


def test_a_checkpoint_says_whose_it_is(tmp_path):
    digest = saved(tmp_path / "one", created=5.0)
    loaded = Checkpoint.load(tmp_path / "one", WHOSE, digest)
    assert (loaded.identity, loaded.record) == (WHOSE, {"created": 5.0})
    label = read_label(tmp_path / "one")
    assert (label.identity, label.record, label.sha256) == (WHOSE, {"created": 5.0}, digest)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (Identity("rings-digits-1", WHOSE.settings, 3), "it is a checkpoint of run rings-digits-1, round 3, not of"),
        (Identity(WHOSE.run, WHOSE.settings, 4), "it is a checkpoint of run fedavg-digits-1, round 4, not of"),
        (
            Identity(WHOSE.run, "cd" * 32, 3),
            "it is a checkpoint of other settings, not of run fedavg-digits-1, round 3",
        ),
    ],
)
def test_another_ones_is_refused(tmp_path, other, sentence):
    saved(tmp_path / "one", other)
    for read in (Checkpoint.load, read_label):
        with pytest.raises(BadData, match=sentence):
            read(tmp_path / "one", WHOSE)


def test_one_that_the_store_did_not_write_is_refused(tmp_path):
    """Whole, and of the same run and round, but made elsewhere."""
    digest = saved(tmp_path / "one")
    saved(tmp_path / "one", elsewhere=True)
    with pytest.raises(BadData, match="it is not the one the store wrote"):
        Checkpoint.load(tmp_path / "one", WHOSE, digest)


def test_every_part_of_the_header_is_under_the_digest(tmp_path):
    """What a hand changed in the header is found out, types and shapes of tensors among it."""
    saved(tmp_path / "one", created=5.0)
    whole = (tmp_path / "one").read_bytes()
    for old, new in [
        (b"fedavg-digits-1", b"fedavg-digits-2"),
        (b'"created\\": 5.0', b'"created\\": 6.0'),
        (b'"dtype":"F32"', b'"dtype":"I32"'),
        (b"/models/0", b"/models/1"),
        (b"torch", b"numpy"),
    ]:
        assert whole.count(old) >= 1
        (tmp_path / "one").write_bytes(whole.replace(old, new))
        with pytest.raises(BadData, match="its digest does not fit"):
            Checkpoint.load(tmp_path / "one")


# --- what may lie in its place


def forged(covey='{"__dict__": [], "values": []}', tensors=None, **texts):
    """A file whose digest fits, whatever is in it."""
    tensors = tensors or {}
    identity = json.dumps({"run": WHOSE.run, "settings": WHOSE.settings, "round": 3})
    header = {"covey": covey, "identity": identity, "record": "{}"} | texts
    return save(tensors, metadata={**header, "sha256": _digest(header, tensors)})


def with_header(text, length=None):
    content = text.encode()
    return (len(content) if length is None else length).to_bytes(8, "little") + content


FORGED = {
    "no metadata": save({"x": torch.zeros(2)}),
    "no identity": save({}, metadata={"covey": "{}", "sha256": "0"}),
    "not JSON": forged("{"),
    "deep JSON": forged("[" * 100_000),
    "deep data": forged("[" * 900 + "]" * 900),
    "a number of 5,000 digits": forged("9" * 5000),
    "no named data": forged("[1, 2]"),
    "nothing": forged("null"),
    "a dict that is none": forged('{"a": 1}'),
    "a dict of no keys": forged('{"__dict__": 3, "values": []}'),
    "keys and values that differ": forged('{"__dict__": ["a"], "values": []}'),
    "a key that is a list": forged('{"__dict__": [["a"]], "values": [1]}'),
    "an array that is not there": forged('{"__dict__": ["a"], "values": [{"__array__": "torch", "name": "a"}]}'),
    "an array without a name": forged('{"__dict__": ["a"], "values": [{"__array__": "torch"}]}'),
    "an array named by a list": forged('{"__dict__": ["a"], "values": [{"__array__": "torch", "name": []}]}'),
    "a half for numpy": forged(
        '{"__dict__": ["a"], "values": [{"__array__": "numpy", "name": "a"}]}',
        {"a": torch.zeros(2, dtype=torch.bfloat16)},
    ),
    "an identity that is a list": forged(identity="[]"),
    "an identity of other types": forged(identity='{"run": 1, "settings": "", "round": 3}'),
    "an identity with more": forged(identity='{"run": "", "settings": "", "round": 3, "more": 1}'),
    "a deep identity": forged(identity="[" * 100_000),
    "a record that is a list": forged(record="[]"),
    "a header longer than the file": with_header("{}", 10**6),
    "a header of 2^64 - 1 bytes": with_header("{}", 2**64 - 1),
    "a header that is a list": with_header("[]"),
    "a tensor outside the file": with_header('{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'),
    "a tensor of 2^62 values": with_header('{"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}}'),
    "a tensor of no known type": with_header('{"a":{"dtype":"X9","shape":[0],"data_offsets":[0,0]}}'),
    "metadata that is a number": with_header('{"__metadata__":3}'),
}


@pytest.mark.parametrize("content", FORGED.values(), ids=FORGED.keys())
def test_a_forged_file_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "one"
    path.write_bytes(content)
    with pytest.raises(BadData) as caught:
        Checkpoint.load(path, check=lambda data: fit(data, {"models": [torch.Tensor]}))
    sentence = str(caught.value)
    assert sentence.startswith(f"checkpoint {path} cannot be read (")
    assert "\n" not in sentence
    assert len(sentence) < len(str(path)) + 300


def test_a_forged_file_with_the_wrong_types_inside_is_refused(tmp_path):
    (tmp_path / "one").write_bytes(Checkpoint({"models": ["no tensor"]}).encode())
    with pytest.raises(BadData, match="its models/0 is a str, not a Tensor"):
        Checkpoint.load(tmp_path / "one", check=lambda data: fit(data, {"models": [torch.Tensor]}))


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "link to nowhere", "socket"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "one"
    saved(tmp_path / "other")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        os.mknod(path, 0o140600)
    else:
        path.symlink_to(tmp_path / ("other" if kind == "link" else "nowhere"))
    said = []

    def load():
        for read in (Checkpoint.load, read_label):
            with pytest.raises(BadData, match="it is not a regular file"):
                read(path)
        said.append(True)

    reading = threading.Thread(target=load, daemon=True)  # a pipe would keep a reader waiting for ever
    reading.start()
    reading.join(20)
    assert said == [True]


def test_the_fingerprint_is_that_of_the_bytes():
    models = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    wanted = hashlib.sha256(np.array([1, 2, 3], dtype=np.float32).tobytes()).hexdigest()
    assert fingerprint(models) == wanted
    models[1][0] = np.nextafter(np.float32(3), np.float32(4)).item()
    assert fingerprint(models) != wanted
