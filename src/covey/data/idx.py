"""The MNIST family: idx files, gzipped or not.

LeCun et al. 1998 (MNIST); Yadav & Bottou 2019 "Cold Case: The Lost MNIST Digits" (QMNIST: who wrote which MNIST digit);
Xiao et al. 2017 "Fashion-MNIST". Checksums are of the decompressed files, because distributions recompress them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import DATASETS, Dataset, Layout, Source, load, scaled
from covey.data.files import Remote, check_md5, contents
from covey.errors import BadData

UPSTREAM = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "mnist-writers": "https://raw.githubusercontent.com/facebookresearch/qmnist/master/",
    "fashion-mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
}

# of every file: its name, the MD5 of what upstream serves (gzipped), the MD5 of what is inside
FILES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "mnist": (
        ("train-images-idx3-ubyte", "f68b3c2dcbeaaa9fbdd348bbdeb94873", "6bbc9ace898e44ae57da46a324031adb"),
        ("train-labels-idx1-ubyte", "d53e105ee54ea40749a09fcbcd1e9432", "a25bea736e30d166cdddb491f175f624"),
        ("t10k-images-idx3-ubyte", "9fb629c4189551a2d022fa330f9573f3", "2646ac647ad5339dbf082846283269ea"),
        ("t10k-labels-idx1-ubyte", "ec29112dd5afa0611ce80d1b7f02629c", "27ae3e4e09519cfbb04c329615203637"),
    ),
    "mnist-writers": (
        ("qmnist-train-labels-idx2-int", "0058f8dd561b90ffdd0f734c6a30e5e4", "1d43300e7f41ddcbf7fd006cbe865af9"),
    ),
    "fashion-mnist": (
        ("train-images-idx3-ubyte", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
        ("train-labels-idx1-ubyte", "25c81989df183df01b3e8a0aad5dffbe", "9018921c3c673c538a1fc5bad174d6f9"),
        ("t10k-images-idx3-ubyte", "bef4ecab320f06d8554ea6380940ec79", "8181f5470baa50b63fa0f6fddb340f0a"),
        ("t10k-labels-idx1-ubyte", "bb300cfdad3c16e7a12a480ee83cd310", "15d484375f8d13e6eb1aabb0c3f46965"),
    ),
}

TYPES: dict[int, np.dtype[Any]] = {0x08: np.dtype("u1"), 0x0C: np.dtype(">i4")}


def read_idx(path: Path, md5: str) -> NDArray[Any]:
    """The array in an idx file: two zero bytes, a type code, the number of axes, their lengths, the values."""
    data = contents(path)
    code, axes = (data[2], data[3]) if len(data) > 3 and data[:2] == b"\0\0" else (0, 0)
    if code not in TYPES or not axes:
        raise BadData(f"{path} is not an idx file (it starts with {data[:4].hex()}): replace it with a good copy")
    shape = np.frombuffer(data, ">i4", count=min(axes, len(data) // 4 - 1), offset=4).tolist()
    start, expected = 4 + 4 * axes, prod(shape) * TYPES[code].itemsize
    if len(shape) < axes or len(data) - start != expected:
        raise BadData(f"{path} is truncated or too long (it announces shape {shape}): replace it with a good copy")
    check_md5(data, md5, str(path))
    return np.frombuffer(data, TYPES[code], offset=start).reshape(shape)


def _arrays(name: str, folder: Path) -> list[NDArray[Any]]:
    arrays = []
    for file, _, md5 in FILES[name]:
        plain = folder / file
        arrays.append(read_idx(plain if plain.exists() else folder / f"{file}.gz", md5))
    return arrays


def read(name: str, folder: Path) -> Dataset:
    """MNIST or anything shaped like it: grey images of ten classes."""
    train_x, train_y, test_x, test_y = _arrays(name, folder)
    return Dataset(name, scaled(train_x[:, None]), train_y, scaled(test_x[:, None]), test_y, classes=10)


def read_writers(folder: Path) -> Dataset:
    """MNIST with the writer of every train digit (column 2; column 0 is the class); test digits are by others."""
    mnist = load("mnist")
    (rows,) = _arrays("mnist-writers", folder)
    if not np.array_equal(rows[:, 0], mnist.y):
        raise BadData(
            f"{folder / FILES['mnist-writers'][0][0]} does not fit MNIST's labels: replace it with a good copy"
        )
    writers, owners = np.unique(rows[:, 2], return_inverse=True)
    names = tuple(f"writer-{writer}" for writer in writers)
    return replace(mnist, name="mnist-writers", owners=owners, owner_names=names)


def _source(name: str, reader: Callable[[Path], Dataset], **more: Any) -> Source:
    plain = tuple(file for file, _, _ in FILES[name])
    zipped = tuple(f"{file}.gz" for file in plain)
    return Source(
        layouts=(Layout(zipped, reader), Layout(plain, reader)),
        samples=70_000,
        upstream=tuple(
            Remote(f"{file}.gz", f"{UPSTREAM[name]}{file}.gz", f"md5:{md5}") for file, md5, _ in FILES[name]
        ),
        **more,
    )


DATASETS.add(
    "mnist",
    _source("mnist", partial(read, "mnist")),
    summary="handwritten digits 28 x 28",
    paper="LeCun et al. 1998",
)
DATASETS.add(
    "mnist-writers",
    _source("mnist-writers", read_writers, needs=("mnist",)),
    summary="MNIST by its 539 writers",
    paper="Yadav & Bottou 2019 (QMNIST)",
)
DATASETS.add(
    "fashion-mnist",
    _source(
        "fashion-mnist",
        partial(read, "fashion-mnist"),
        by_hand="install the Debian package dataset-fashion-mnist",
    ),
    summary="articles of clothing 28 x 28",
    paper="Xiao et al. 2017",
)
