"""Files of every format with bytes changed, cut, doubled or put in: each loads, or is refused in one sentence."""

from __future__ import annotations

import json
import os
import struct
import zlib

import h5py
import numpy as np
import pytest
from PIL import Image

from covey.data import Dataset, cifar, idx, load
from covey.errors import BadData

TRIES = int(os.environ.get("COVEY_DAMAGE", "12"))
ODD = [b"\0", b"\xff" * 8, b"9" * 40, b"-", b"[" * 3000, b'{"x":', b"null", b"nan", b"..", b"1e999", b"\n"]


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to four faults."""
    for _ in range(rng.integers(1, 5)):
        at, other = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        fault = rng.integers(0, 6)
        if fault == 0:
            data = data[:at] + bytes(rng.integers(0, 256, 1).tolist()) + data[at + 1 :]
        elif fault == 1:
            data = data[:other]
        elif fault == 2:
            data = data[:at] + data[other:]
        elif fault == 3:
            data = data[:at] + ODD[rng.integers(0, len(ODD))] + data[at:]
        elif fault == 4:
            data = data[:other] + data[at:]
        elif len(data):
            bit = int(rng.integers(0, len(data)))
            data = data[:bit] + bytes([data[bit] ^ (1 << int(rng.integers(0, 8)))]) + data[bit + 1 :]
    return data


@pytest.fixture
def unsigned(monkeypatch):
    """Without checksums, which would refuse everything at once."""
    for module in (idx, cifar):
        monkeypatch.setattr(module, "check_md5", lambda *_: None)


def leaf_json(x, y):
    users = {"a": {"x": x, "y": y}, "b": {"x": x[:1], "y": y[:1]}}
    return json.dumps({"users": list(users), "num_samples": [len(x), 1], "user_data": users}).encode()


@pytest.fixture
def sets(home, write_idx, little_mnist, little_cifar, tar, wav, unsigned):
    """One data set a format."""
    write_idx("mnist", home / "mnist", *little_mnist)
    for name, row in little_cifar.items():
        (home / "cifar10").mkdir(exist_ok=True)
        (home / "cifar10" / f"{name}.bin").write_bytes(row.tobytes())
    folder = home / "femnist" / "all_data"
    folder.mkdir(parents=True)
    (folder / "0.json").write_bytes(leaf_json([[0.5] * 784] * 3, [1, 2, 3]))
    folder = home / "shakespeare" / "all_data"
    folder.mkdir(parents=True)
    (folder / "0.json").write_bytes(leaf_json(["a" * 80] * 3, ["b", "c", "d"]))
    folder = home / "celeba" / "raw" / "img_align_celeba"
    folder.mkdir(parents=True)
    Image.new("RGB", (9, 9), (1, 2, 3)).save(folder / "0.png")
    (home / "celeba" / "all_data").mkdir()
    (home / "celeba" / "all_data" / "0.json").write_bytes(leaf_json(["0.png"] * 3, [0, 1, 0]))
    spoken = {f"r/{d}_{who}_{n}.wav": wav([d, n], 8000) for d in (0, 1) for who in "ab" for n in (1, 9)}
    tar(home / "spoken-digits" / "fsdd.tgz", spoken)
    return home


@pytest.mark.parametrize("name", ["mnist", "cifar10", "femnist", "shakespeare", "celeba", "spoken-digits"])
def test_damaged_files(sets, name):
    assert isinstance(load(name), Dataset)
    files = sorted(path for path in (sets / name).rglob("*") if path.is_file())
    rng = np.random.default_rng(len(name))
    refused = 0
    for attempt in range(TRIES):
        path = files[attempt % len(files)]
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, rng))
        try:
            assert isinstance(load(name), Dataset)
        except BadData as error:
            refused += "\n" not in str(error)
        path.write_bytes(whole)
    assert refused


def test_damaged_h5_files(home):
    """Of numbers only: the HDF5 library itself may search a damaged heap of texts for ever."""
    (home / "femnist").mkdir()
    for split in ("train", "test"):
        with h5py.File(home / "femnist" / f"fed_emnist_{split}.h5", "w") as file:
            for user in "ab":
                file[f"examples/{user}/pixels"] = np.full((2, 28, 28), 0.5, np.float32)
                file[f"examples/{user}/label"] = np.array([3, 4], np.int32)
    assert isinstance(load("femnist"), Dataset)
    path = home / "femnist" / "fed_emnist_train.h5"
    whole, rng, refused = path.read_bytes(), np.random.default_rng(1), 0
    for _ in range(TRIES):
        path.write_bytes(damaged(whole, rng))
        try:
            assert isinstance(load("femnist"), Dataset)
        except BadData as error:
            refused += "\n" not in str(error)
    assert refused


@pytest.mark.parametrize(("width", "height"), [(3_000, 2_000), (40_000, 30_000)])
def test_a_picture_of_too_many_pixels_is_not_decoded(sets, width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(1000)))
    path = next((sets / "celeba").rglob("*.png"))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b""))
    with pytest.raises(BadData, match=r"0\.png (is truncated or not a picture|has 3000 x 2000 pixels)"):
        load("celeba")


def test_a_pipe_is_not_waited_for(sets):
    path = next((sets / "mnist").glob("train-images*"))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadData, match="is missing"):
        load("mnist")
