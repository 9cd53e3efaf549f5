"""Data sets of Hugging Face: those that `save_to_disk` wrote, and objects of their library.

A folder is read by the `datasets` package (`pip install 'covey[huggingface]'`); objects are known by what they can do,
so that nothing is imported for them. No code of a data set is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.data.arrays import TEST, check_share, dataset_of
from covey.data.datasets import Dataset
from covey.data.files import reading
from covey.data.pictures import pixels
from covey.errors import BadData

INPUTS = ("image", "img", "pixel_values", "features", "x")
CLASSES = ("label", "labels", "y", "character")
SPLITS = ("train", "test")


@dataclass(frozen=True)
class HuggingFace:
    """A folder that `save_to_disk` of Hugging Face's library wrote.

    x: the column of the samples; image, img, pixel_values, features or x unless told
    label: the column of the classes; label, labels, y or character unless told
    owner: the column that says whose a sample is
    size: images are made this many pixels wide and high
    grey: images have one channel
    test: share of the samples kept to test the global model, where there is no split `test`
    """

    x: str | None = None
    label: str | None = None
    owner: str | None = None
    size: int | None = None
    grey: bool = False
    test: float = TEST
    example: ClassVar[str] = "FOLDER/ or FOLDER/:x=image,label=digit,owner=writer"

    def __post_init__(self) -> None:
        check_share(self.test)

    def owned(self, path: Path) -> bool:
        """Whether a column says who owns what."""
        return self.owner is not None

    def read(self, path: Path) -> Dataset:
        """The data set in that folder."""
        try:
            from datasets import load_from_disk
        except ImportError:
            raise BadData(
                f"{path} is a data set of Hugging Face, which needs their package: install covey[huggingface]"
            ) from None
        with reading(path, "a data set that save_to_disk wrote"):
            found = load_from_disk(str(path))
        return self.of(path.name, found)

    def of(self, name: str, found: Any) -> Dataset:
        """The data set that such an object is, a single split or splits by name."""
        if not is_splits(found):
            return dataset_of(name, self.arrays(name, found), test=self.test)
        if "train" not in found:
            raise BadData(f"{name} has no split 'train'; its splits are {', '.join(found)}")
        arrays = self.arrays(name, found["train"])
        if "test" in found:
            arrays |= {f"test_{field}": array for field, array in self.arrays(name, found["test"]).items()}
        return dataset_of(name, arrays, test=self.test)

    def arrays(self, name: str, split: Any) -> dict[str, Any]:
        """The arrays of one split."""
        x = _chosen(name, "x", self.x, INPUTS, split)
        y = _chosen(name, "label", self.label, CLASSES, split)
        owner = None if self.owner is None else _chosen(name, "owner", self.owner, (), split)
        arrays = {"x": self._samples(name, split, x), "y": _values(split, y)}
        return arrays if owner is None else arrays | {"owners": _values(split, owner)}

    def _samples(self, name: str, split: Any, column: str) -> NDArray[Any] | Any:
        if type(split.features[column]).__name__ != "Image":
            return _values(split, column)
        return pixels(name, column, _images(split, column), self.size, grey=self.grey, many=len(split))


def is_splits(thing: object) -> bool:
    """Whether this is a table of splits by name, as `load_dataset` gives it."""
    return isinstance(thing, dict) and bool(thing) and all(is_split(part) for part in thing.values())


def is_split(thing: object) -> bool:
    """Whether this is one split of a data set of Hugging Face."""
    return hasattr(thing, "features") and hasattr(thing, "column_names") and hasattr(thing, "with_format")


def _chosen(name: str, setting: str, given: str | None, usual: tuple[str, ...], split: Any) -> str:
    there = list(split.column_names)
    found = given if given is not None else next((column for column in usual if column in there), None)
    if found is None or found not in there:
        wanted = repr(given) if given is not None else f"{', '.join(usual)}"
        raise BadData(f"{name} has no column {wanted}; its columns are {', '.join(there)}: set {setting}")
    return found


def _values(split: Any, column: str) -> NDArray[Any]:
    found = split.with_format("numpy")[column][:]
    return np.asarray(found)


def _images(split: Any, column: str) -> Iterator[tuple[str, Any]]:
    for number, row in enumerate(split.select_columns([column])):
        yield f"{column} {number}", row[column]
