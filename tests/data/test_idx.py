from __future__ import annotations

import gzip

import numpy as np
import pytest
from tests.narrow import known

from covey.data import load
from covey.errors import BadData


@pytest.fixture
def mnist(home, write_idx, little_mnist):
    write_idx("mnist", home / "mnist", *little_mnist)
    return home / "mnist"


def rewrite(path, change):
    path.write_bytes(gzip.compress(change(gzip.decompress(path.read_bytes()))))


def test_images_are_scaled_and_have_a_channel(mnist, little_mnist):
    read = load("mnist")
    np.testing.assert_array_equal(read.x, little_mnist[0][:, None].astype(np.float32) / np.float32(255))
    assert read.x.dtype == np.float32
    assert read.y.tolist() == [3, 1, 4, 1, 5, 9]
    assert read.test_x.shape == (2, 1, 2, 2)
    assert read.test_y.tolist() == [2, 6]


def test_unpacked_files_do_too(mnist):
    for path in list(mnist.iterdir()):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert load("mnist").y.tolist() == [3, 1, 4, 1, 5, 9]


def test_fashion_mnist_is_not_taken_for_mnist(home, write_idx, little_mnist):
    write_idx("mnist", home / "mnist", *little_mnist)
    write_idx("fashion-mnist", home / "fashion-mnist", *(array[::-1] for array in little_mnist))
    assert load("fashion-mnist").y.tolist() == [9, 5, 1, 4, 1, 3]
    for path in (home / "fashion-mnist").iterdir():
        path.rename(home / "mnist" / path.name)
    with pytest.raises(BadData, match="is corrupt"):
        load("mnist")


def test_a_flipped_bit_is_found(mnist):
    rewrite(mnist / "train-images-idx3-ubyte.gz", lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]))
    with pytest.raises(BadData, match=r"train-images-idx3-ubyte\.gz is corrupt \(MD5 \w{32}, published is \w{32}\)"):
        load("mnist")


@pytest.mark.parametrize("keep", [-1, 12, 5])
def test_a_short_file_is_found(mnist, keep):
    rewrite(mnist / "train-images-idx3-ubyte.gz", lambda raw: raw[:keep])
    with pytest.raises(BadData, match=r"train-images-idx3-ubyte\.gz is truncated or too long"):
        load("mnist")


def test_a_cut_gzip_file_is_found(mnist):
    path = mnist / "train-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(BadData, match=r"train-labels-idx1-ubyte\.gz is truncated or not a gzip file"):
        load("mnist")


@pytest.mark.parametrize("start", [b"\x89PNG", b"\0\0\x77\x01", b"\0\0\x08\0", b""])
def test_a_wrong_magic_number_is_found(mnist, start):
    rewrite(mnist / "t10k-labels-idx1-ubyte.gz", lambda raw: start + raw[4:] if start else b"")
    with pytest.raises(BadData, match=r"t10k-labels-idx1-ubyte\.gz is not an idx file \(it starts with"):
        load("mnist")


def test_writers_own_their_digits(home, mnist, write_idx):
    # columns: class, partition, writer, and what covey does not read
    rows = np.array(
        [[3, 0, 70, 0], [1, 0, 50, 0], [4, 0, 70, 0], [1, 0, 50, 0], [5, 1, 60, 0], [9, 1, 70, 0]], np.int32
    )
    write_idx("mnist-writers", home / "mnist-writers", rows)
    read = load("mnist-writers")
    assert read.name == "mnist-writers"
    assert read.owner_names == ("writer-50", "writer-60", "writer-70")
    assert known(read.owners).tolist() == [2, 0, 2, 0, 1, 2]
    assert read.test_owners is None


def test_writers_of_other_digits_are_refused(home, mnist, write_idx):
    write_idx("mnist-writers", home / "mnist-writers", np.zeros((6, 8), np.int32))
    with pytest.raises(BadData, match="does not fit MNIST's labels"):
        load("mnist-writers")


def test_writers_need_mnist(home, write_idx):
    write_idx("mnist-writers", home / "mnist-writers", np.zeros((6, 8), np.int32))
    with pytest.raises(BadData, match="mnist is not on this machine: run `covey data get mnist`"):
        load("mnist-writers")
