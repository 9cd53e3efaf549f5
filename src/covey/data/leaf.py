"""LEAF's JSON files, and the two image sets stored that way: FEMNIST and CelebA.

Caldas et al. 2018, "LEAF: A Benchmark for Federated Settings", section 3. A file is
`{"users": […], "num_samples": […], "user_data": {user: {"x": […], "y": […]}}}`; LEAF's preprocessing leaves many of
them in `all_data/`, and after its split in `train/` and `test/`. FEMNIST is also read from TensorFlow Federated's
`fed_emnist_{train,test}.h5` (`examples/<writer>/pixels`, `label`), which holds 3,400 of its 3,550 writers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from covey.data.datasets import DATASETS, Dataset, Layout, Source
from covey.data.files import Remote, reading
from covey.data.users import Samples, by_user, hold_out
from covey.errors import BadData

MOST_PIXELS = 4_000_000  # CelebA's aligned portraits have 178 x 218

# turns one user's raw "x" and "y" into arrays; the folder is where pictures may lie
Convert = Callable[[Sequence[Any], Sequence[Any], Path], Samples]


def read_users(folder: Path, convert: Convert, root: Path) -> dict[str, Samples]:
    """Every user of every JSON file in a folder."""
    users = {}
    for path in sorted(path for path in folder.glob("*.json") if path.is_file()):
        with reading(path, "a LEAF file"):
            held = json.loads(path.read_bytes())
            for user in held["users"]:
                data = held["user_data"][user]
                if len(data["x"]) != len(data["y"]):
                    raise BadData(f"{path} has {len(data['x'])} x but {len(data['y'])} y for user {user}")
                users[user] = convert(data["x"], data["y"], root)
    return users


def read(name: str, convert: Convert, classes: int, inner: str, folder: Path) -> Dataset:
    """A LEAF set: its own train and test where it was split, else a tenth of everybody's samples as test."""
    root = folder / inner
    if (root / "train").is_dir():
        train, test = (read_users(root / split, convert, root) for split in ("train", "test"))
    else:
        train, test = hold_out(read_users(root / "all_data", convert, root))
    return by_user(name, train, test, classes)


def layouts(name: str, convert: Convert, classes: int) -> tuple[Layout, ...]:
    """LEAF's folders, as they lie in its checkout (under `data/`) or copied out of it."""
    split, whole = ("train/*.json", "test/*.json"), ("all_data/*.json",)
    return tuple(
        Layout(
            tuple(inner + pattern for pattern in patterns), partial(read, name, convert, classes, inner), shared=False
        )
        for patterns in (split, whole)
        for inner in ("", "data/")
    )


def femnist_images(x: Sequence[Any], y: Sequence[Any], _: Path) -> Samples:
    """784 grey values each, 1 is white paper."""
    return np.asarray(x, np.float32).reshape(-1, 1, 28, 28), np.asarray(y, np.int64)


def read_fed_emnist(folder: Path) -> Dataset:
    """TensorFlow Federated's FEMNIST: pixels as floats, 1 is white paper."""
    train, test = (_writers(folder / f"fed_emnist_{split}.h5") for split in ("train", "test"))
    return by_user("femnist", train, test, classes=62)


def _writers(path: Path) -> dict[str, Samples]:
    import h5py  # here, for other data sets do not need it

    with reading(path, "TensorFlow Federated's FEMNIST"), h5py.File(path) as file:
        return {
            writer: femnist_images(held["pixels"][()], held["label"][()], path)
            for writer, held in file["examples"].items()
        }


def celeba_images(x: Sequence[Any], y: Sequence[Any], root: Path) -> Samples:
    """Portraits by file name, scaled to 84 x 84."""
    from PIL import Image

    folder = next((root / f for f in ("raw/img_align_celeba", "img_align_celeba") if (root / f).is_dir()), None)
    if folder is None:
        raise BadData(f"{root / 'raw/img_align_celeba'} is missing: put CelebA's aligned images there")
    images = np.empty((len(x), 3, 84, 84), np.float32)
    for i, name in enumerate(x):
        path = folder / name
        with reading(path, "a picture", (Image.DecompressionBombError,)), Image.open(path) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise BadData(f"{path} has {picture.width} x {picture.height} pixels: replace it with CelebA's own")
            pixels = np.asarray(picture.convert("RGB").resize((84, 84)))
            images[i] = pixels.transpose(2, 0, 1) / np.float32(255)
    return images, np.asarray(y, np.int64)


DATASETS.add(
    "femnist",
    Source(
        layouts=(
            Layout(("fed_emnist_train.h5", "fed_emnist_test.h5"), read_fed_emnist),
            *layouts("femnist", femnist_images, classes=62),
        ),
        samples=749_068,
        upstream=(
            Remote(
                "fed_emnist.tar.bz2",
                "https://storage.googleapis.com/tff-datasets-public/fed_emnist.tar.bz2",
                "sha256:fe1ed5a502cea3a952eb105920bff8cffb32836b5173cb18a57a32c3606f3ea0",
                unpack=("fed_emnist_train.h5", "fed_emnist_test.h5"),
            ),
        ),
        by_hand="put LEAF's data/femnist folder there",
    ),
    summary="letters and digits 28 x 28 by writer",
    paper="Caldas et al. 2018 (LEAF)",
)
DATASETS.add(
    "celeba",
    Source(
        layouts=layouts("celeba", celeba_images, classes=2),
        samples=200_288,
        by_hand="run LEAF's data/celeba/preprocess.sh and put that folder at $COVEY_DATA/celeba",
    ),
    summary="smiling or not, portraits 84 x 84 by person",
    paper="Caldas et al. 2018 (LEAF)",
)
