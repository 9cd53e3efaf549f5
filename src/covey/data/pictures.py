"""Images as arrays, and a folder of images as a data set: `CLASS/*.png`, or one folder a client, `CLIENT/CLASS/*.png`.

`train/` and `test/` may stand above either; without them some of the images are kept to test the global model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.data.arrays import TEST, check_share, dataset_of
from covey.data.datasets import Dataset
from covey.data.files import reading
from covey.errors import BadData, BadValue
from covey.memory import free_memory, gigabytes

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".pgm", ".ppm", ".tif", ".tiff")
SPLITS = ("train", "test")
LARGEST = 4096  # side of an image, in pixels


@dataclass(frozen=True)
class Pictures:
    """A folder of images, one folder a class, maybe inside one folder a client.

    size: images are made this many pixels wide and high; those of different sizes need it
    grey: one channel in place of three
    test: share of the images kept to test the global model, where there is no folder `test`
    """

    size: int | None = None
    grey: bool = False
    test: float = TEST
    example: ClassVar[str] = "FOLDER/ or FOLDER/:size=32,grey=true,test=0.2"

    def __post_init__(self) -> None:
        check_share(self.test)
        if self.size is not None and not 1 <= self.size <= LARGEST:
            raise BadValue("size", self.size, f"a whole number of pixels from 1 to {LARGEST}")

    def read(self, path: Path) -> Dataset:
        """The data set in that folder; classes and clients are numbered by their names in order."""
        arrays: dict[str, Any] = {}
        found = _splits(path)
        for split, files in found.items():
            before = "" if split == "train" else "test_"
            arrays[f"{before}x"] = pixels(path.name, "x", _images(files), self.size, grey=self.grey, many=len(files))
            arrays[f"{before}y"] = [file.parent.name for file in files]
            if self.owned(path):
                arrays[f"{before}owners"] = [file.parent.parent.name for file in files]
        return dataset_of(path.name, arrays, test=self.test)

    def owned(self, path: Path) -> bool:
        """Whether there is one folder a client."""
        top, first = _top(path)
        return len(first.relative_to(top).parts) == 3


def _top(path: Path) -> tuple[Path, Path]:
    """The folder that holds classes or clients (that of `train` where there is one), and its first image."""
    top = path / "train" if (path / "train").is_dir() else path
    first = next(_walk(top), None)
    depth = 0 if first is None else len(first.relative_to(top).parts)
    if first is None or depth not in (2, 3):
        said = "no image in it" if first is None else f"{first} lies elsewhere"
        raise BadData(f"{path} is not a folder of images as CLASS/*.png or CLIENT/CLASS/*.png ({said})")
    return top, first


def _splits(path: Path) -> dict[str, list[Path]]:
    """The images to train on and, where they are apart, to test on, in the order of their names."""
    top, first = _top(path)
    depth = len(first.relative_to(top).parts)
    folders = {"train": top} | ({"test": path / "test"} if top != path and (path / "test").is_dir() else {})
    found = {}
    for split, folder in folders.items():
        files = list(_walk(folder))
        for file in files:
            if len(file.relative_to(folder).parts) != depth:
                raise BadData(f"{file} is not in a folder of its class, as {first} is")
        if not files:
            raise BadData(f"{folder} has no image in it")
        found[split] = files
    return found


def _walk(folder: Path) -> Iterator[Path]:
    """All images below a folder, by name."""
    for place in sorted(folder.iterdir()):
        if place.is_dir():
            yield from _walk(place)
        elif place.suffix.lower() in ENDINGS:
            yield place


def _images(files: list[Path]) -> Iterator[tuple[str, Image]]:
    from PIL import Image

    for file in files:
        with reading(file, "an image", also=(Image.DecompressionBombError,)), Image.open(file) as image:
            image.load()
            yield str(file), image


def pixels(
    name: str, field: str, images: Iterable[tuple[str, Image]], size: int | None, *, grey: bool, many: int
) -> NDArray[np.uint8]:
    """Images, each with what it is called, as one array: samples x channels x rows x columns, from 0 to 255."""
    rows: list[NDArray[np.uint8]] = []
    mode = "L" if grey else None
    for called, image in images:
        mode = mode or ("L" if image.mode in ("1", "L", "I;16", "I") else "RGB")
        made = image.convert(mode)
        if size is not None:
            made = made.resize((size, size))
        row = np.asarray(made, dtype=np.uint8).reshape(made.height, made.width, -1).transpose(2, 0, 1)
        if not rows:
            _check_room(name, 5.0 * row.size * many)  # the bytes, and the same as numbers of four bytes
        elif row.shape != rows[0].shape:
            first = " x ".join(map(str, rows[0].shape[:0:-1]))
            allowed = f"of one size: set size, as in size=32 ({' x '.join(map(str, row.shape[:0:-1]))} here, {first})"
            raise BadData(f"{name}: {called} is not as large as the first image; images have to be {allowed}")
        rows.append(row)
    if not rows:
        raise BadData(f"{name}: {field} has no images")
    return np.stack(rows)


def _check_room(name: str, needed: float) -> None:
    if (free := free_memory()) is not None and needed > free:
        raise BadData(f"{name} takes {gigabytes(needed)}, and {gigabytes(free)} of memory are free: set a smaller size")
