"""Data of one's own in Python: a tuple or dictionary of arrays, a torch `Dataset`, one of Hugging Face, partitions.

Objects are known by what they can do, so that no other library has to be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.data.arrays import as_array, dataset_of
from covey.data.datasets import Dataset
from covey.data.huggingface import HuggingFace, is_split, is_splits
from covey.data.pictures import pixels
from covey.errors import BadData, BadValue

WANTED = (
    "a covey.Dataset, (x, y), (x, y, test_x, test_y), a dictionary of arrays, a torch Dataset or a pair of them to "
    "train and test on, a data set of Hugging Face, or partitions that have load_partition and num_partitions"
)


def dataset_from(thing: object, name: str = "own") -> Dataset:
    """The data set that an object is.

    >>> x, y = np.zeros((10, 3)), np.arange(10) % 2
    >>> dataset_from((x, y)).shape, dataset_from({"x": x, "y": y, "owners": list("aabbccddee")}).owner_names
    ((3,), ('a', 'b', 'c', 'd', 'e'))
    """
    if isinstance(thing, Dataset):
        return thing
    if is_split(thing) or is_splits(thing):
        return HuggingFace().of(name, thing)
    if isinstance(thing, Mapping):
        return dataset_of(name, thing)
    if hasattr(thing, "load_partition"):
        return from_partitions(thing, name)
    if isinstance(thing, tuple) and len(thing) in (2, 4):
        return _from_tuple(thing, name)
    if _is_indexed(thing):
        return dataset_of(name, _items(name, "x", thing))
    raise BadValue("data" if name == "own" else f"data {name!r}", thing, WANTED)


def _from_tuple(thing: tuple[Any, ...], name: str) -> Dataset:
    if len(thing) == 4:
        return dataset_of(name, dict(zip(("x", "y", "test_x", "test_y"), thing, strict=True)))
    train, test = thing
    if _is_indexed(train) and _is_indexed(test):
        return dataset_of(name, _items(name, "x", train) | _items(name, "test_x", test))
    if isinstance(train, tuple) and isinstance(test, tuple) and len(train) == len(test) == 2:
        return dataset_of(name, {"x": train[0], "y": train[1], "test_x": test[0], "test_y": test[1]})
    return dataset_of(name, {"x": train, "y": test})


def _is_indexed(thing: object) -> bool:
    """Whether this is a torch `Dataset` or like one: it has a length and items by number, and is no array or list."""
    if isinstance(thing, list | tuple | str | bytes | np.ndarray | type) or hasattr(thing, "shape"):
        return False
    return hasattr(thing, "__getitem__") and hasattr(thing, "__len__")


def _items(name: str, field: str, data: Any) -> dict[str, Any]:
    """Samples and classes of all items, each of which is a pair."""
    labels = field.replace("x", "y")
    samples, classes = [], []
    for i in range(len(data)):
        item = data[i]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise BadData(f"{name}: item {i} is not a pair of a sample and its class, but {type(item).__name__}")
        samples.append(item[0])
        classes.append(as_array(name, f"{labels}[{i}]", item[1])[()])
    if not samples:
        raise BadData(f"{name}: {field} has no samples")
    return {field: _stacked(name, field, samples), labels: np.array(classes)}


def _stacked(name: str, field: str, samples: list[Any]) -> NDArray[Any]:
    if hasattr(samples[0], "convert") and hasattr(samples[0], "mode"):  # images of Pillow
        called = ((f"{field}[{i}]", image) for i, image in enumerate(samples))
        return pixels(name, field, called, None, grey=False, many=len(samples))
    rows = [as_array(name, f"{field}[{i}]", sample) for i, sample in enumerate(samples)]
    for i, row in enumerate(rows):
        if row.shape != rows[0].shape:
            raise BadData(f"{name}: {field}[{i}] has the shape {row.shape}, and {field}[0] {rows[0].shape}")
    return np.stack(rows)


def from_partitions(partitions: Any, name: str = "own", **columns: Any) -> Dataset:
    """One data set from partitions, whose owners are the partitions: as Flower Datasets' partitioners give them.

    partitions: an object with `num_partitions` and `load_partition(i)`, which gives a data set of Hugging Face or
        anything else that `dataset_from` takes
    columns: the settings of `covey.data.huggingface.HuggingFace`, as x="img"
    """
    count = getattr(partitions, "num_partitions", None)
    if not isinstance(count, int | np.integer) or count < 1:
        raise BadValue("num_partitions", count, "how many partitions there are, a whole number from 1 up")
    reader, parts = HuggingFace(**columns), []
    for i in range(int(count)):
        part = partitions.load_partition(i)
        parts.append(reader.arrays(f"partition {i}", part) if is_split(part) else _arrays(f"partition {i}", part))
    owners = np.repeat(np.arange(len(parts)), [len(part["y"]) for part in parts])
    if len({np.shape(part["x"])[1:] for part in parts}) > 1:
        raise BadData(f"{name}: partitions have samples of different shapes")
    arrays = {field: np.concatenate([np.asarray(part[field]) for part in parts]) for field in ("x", "y")}
    return dataset_of(name, {**arrays, "owners": owners}, test=reader.test)


def _arrays(name: str, part: object) -> dict[str, Any]:
    if isinstance(part, tuple) and len(part) == 2:
        return {"x": as_array(name, "x", part[0]), "y": as_array(name, "y", part[1])}
    if _is_indexed(part):
        return _items(name, "x", part)
    raise BadValue(name, type(part).__name__, "a data set of Hugging Face, (x, y) or a torch Dataset")
