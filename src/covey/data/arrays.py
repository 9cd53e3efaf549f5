"""Data of one's own as arrays: what people have in Python or in an .npz file becomes a `Dataset`.

Samples may be float64, tensors, lists or pixels; classes and owners may be numbers or texts. What has no test samples
gives some of its own. Whatever cannot be used is said in one sentence that names the array.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import Dataset, Labels, scaled
from covey.data.files import reading
from covey.errors import BadData, BadValue
from covey.memory import free_memory, gigabytes

TEST = 0.2
"""The share of samples that are kept to test the global model where the data has no test samples of its own."""

NAMES = {
    "x": ("x", "x_train", "train_x", "X"),
    "y": ("y", "y_train", "train_y", "labels"),
    "test_x": ("test_x", "x_test"),
    "test_y": ("test_y", "y_test"),
    "owners": ("owners", "owner"),
    "test_owners": ("test_owners",),
}
"""What arrays are called in a file, the first name that is there."""


@dataclass(frozen=True)
class Npz:
    """An .npz file with the arrays x and y, and maybe test_x, test_y, owners, test_owners.

    test: share of the samples kept to test the global model, where the file has no test samples
    """

    test: float = TEST
    example: ClassVar[str] = "FILE.npz or FILE.npz:test=0.2"

    def __post_init__(self) -> None:
        check_share(self.test)

    def read(self, path: Path) -> Dataset:
        """The data set in that file; nothing is unpickled."""
        with (
            reading(path, "an .npz file of arrays", also=(zipfile.BadZipFile,)),
            np.load(path, allow_pickle=False) as f,
        ):
            found = _names(path, f.files)
            _check_room(path)
            arrays = {field: f[name] for field, name in found.items()}
        return dataset_of(path.stem, arrays, test=self.test)

    def owned(self, path: Path) -> bool:
        """Whether the file says who owns what."""
        with (
            reading(path, "an .npz file of arrays", also=(zipfile.BadZipFile,)),
            np.load(path, allow_pickle=False) as f,
        ):
            return "owners" in _names(path, f.files)


def _names(path: Path, there: list[str]) -> dict[str, str]:
    found = {field: next((n for n in names if n in there), None) for field, names in NAMES.items()}
    for field in ("x", "y"):
        if found[field] is None:
            had = ", ".join(there) or "none"
            raise BadData(f"{path} has no array {field} (or {', '.join(NAMES[field][1:])}); its arrays are {had}")
    return {field: name for field, name in found.items() if name is not None}


def _check_room(path: Path) -> None:
    """Refuse what unpacks to more than there is room for."""
    with zipfile.ZipFile(path) as archive:
        needed = sum(member.file_size for member in archive.infolist())
    if (free := free_memory()) is not None and needed > free:
        raise BadData(f"{path} unpacks to {gigabytes(needed)}, and {gigabytes(free)} of memory are free")


def check_share(test: float) -> None:
    """Refuse what is no share of samples to test on."""
    if not 0 <= test < 1:
        raise BadValue("test", test, "a share from 0 up to, but not including, 1")


def dataset_of(name: str, arrays: Mapping[str, Any], *, test: float = TEST) -> Dataset:
    """A data set from arrays of any usual type; of `arrays`, `x` and `y` must be there.

    >>> found = dataset_of("pets", {"x": [[1.0], [2.0], [3.0], [4.0]], "y": ["cat", "dog", "cat", "dog"]}, test=0.5)
    >>> found.y.tolist(), found.test_y.tolist(), found.classes, found.x.dtype.name
    ([0, 1], [0, 1], 2, 'float32')
    """
    check_share(test)
    for field in arrays:
        if field not in NAMES:
            raise BadData(f"{name}: {field} is no array of a data set; those are {', '.join(NAMES)}")
    x, y = (_there(name, arrays, field) for field in ("x", "y"))
    pairs = [(samples(name, "x", x), _column(name, "y", y))]
    if ("test_x" in arrays) != ("test_y" in arrays):
        has, lacks = ("test_x", "test_y") if "test_x" in arrays else ("test_y", "test_x")
        raise BadData(f"{name}: {has} is given without {lacks}")
    if "test_x" in arrays:
        pairs.append((samples(name, "test_x", arrays["test_x"]), _column(name, "test_y", arrays["test_y"])))
    labels = _numbered(name, "y", [pair[1] for pair in pairs])
    owners, owner_names = _owners(name, arrays)
    for field, along, whose in zip(("y", "test_y"), labels.parts, owners, strict=False):
        if whose is not None and len(whose) != len(along):
            beside = "owners" if field == "y" else "test_owners"
            raise BadData(f"{name}: {beside} has {len(whose)} entries for {len(along)} samples")
    if len(pairs) == 1:
        return _with_test(name, pairs[0][0], labels, owners[0], owner_names, test)
    return Dataset(
        name,
        pairs[0][0],
        labels.parts[0],
        pairs[1][0],
        labels.parts[1],
        labels.kinds,
        owners[0],
        owner_names,
        owners[1],
    )


@dataclass(frozen=True)
class _Numbered:
    parts: list[Labels]
    kinds: int
    names: tuple[str, ...]


def _there(name: str, arrays: Mapping[str, Any], field: str) -> Any:
    if arrays.get(field) is None:
        raise BadData(f"{name} has no array {field}")
    return arrays[field]


def samples(name: str, field: str, given: object) -> NDArray[Any]:
    """Samples as float32, pixels of one byte in [0, 1] with their channel in front; other whole numbers as int64."""
    array = as_array(name, field, given)
    if array.ndim < 1 or array.dtype.kind not in "iubf":
        raise BadData(
            f"{name}: {field} is of type {array.dtype} and shape {array.shape}, not numbers, a row per sample"
        )
    if array.dtype == np.uint8 and array.ndim in (3, 4):
        return scaled(_channel_first(array))
    if array.dtype.kind != "f":
        return array.astype(np.int64, copy=False)
    found = array.astype(np.float32, copy=False)
    if found.size and not np.isfinite([found.min(), found.max()]).all():
        where = np.unravel_index(int(np.argmin(np.isfinite(found))), found.shape)
        raise BadData(f"{name}: {field}[{', '.join(map(str, where))}] is {found[where]}, not a finite number")
    return found


def _channel_first(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Images as samples x channels x rows x columns; the last of four sides is the channel if it alone can be."""
    if pixels.ndim == 3:
        return pixels[:, None]
    channels = (1, 3, 4)
    return np.moveaxis(pixels, 3, 1) if pixels.shape[3] in channels and pixels.shape[1] not in channels else pixels


def as_array(name: str, field: str, given: object) -> NDArray[Any]:
    """An array from whatever holds one: lists, tuples, tensors on any device, frames."""
    if callable(getattr(given, "detach", None)):  # a tensor; those that are being trained, or in bfloat16, too
        tensor: Any = given
        tensor = tensor.detach().cpu()
        given = tensor.float() if "float" in str(tensor.dtype) else tensor
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())
        raise BadData(f"{name}: {field} cannot be made an array ({said})") from None
    if array.dtype == object and array.ndim == 1 and all(isinstance(item, str) for item in array):
        return array.astype(str)
    if array.dtype == object:
        raise BadData(f"{name}: {field} is not one array: its rows are of different lengths or not numbers")
    return array


def _column(name: str, field: str, given: object) -> NDArray[Any]:
    """One value per sample."""
    array = as_array(name, field, given)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise BadData(f"{name}: {field} has the shape {array.shape}, not one value per sample")
    return array


def _numbered(name: str, field: str, parts: list[NDArray[Any]]) -> _Numbered:
    """Classes from 0 up: whole numbers as they are, anything else in the order of its sorted values."""
    together = np.concatenate(parts) if len({part.dtype.kind for part in parts}) == 1 else None
    if together is None:
        raise BadData(f"{name}: {field} and test_{field} are of different types")
    if not len(parts[0]):
        raise BadData(f"{name}: {field} is empty")
    if together.dtype.kind == "f" and not (np.isfinite(together) & (together == np.round(together))).all():
        odd = together[~(np.isfinite(together) & (together == np.round(together)))][0]
        raise BadData(f"{name}: {field} has the value {odd}; a class is a whole number or a text")
    if together.dtype.kind in "iubf" and together.min() >= 0 and together.max() < MOST_CLASSES:
        kinds = int(together.max()) + 1
        return _Numbered([part.astype(np.int64) for part in parts], kinds, tuple(map(str, range(kinds))))
    known, places = np.unique(together, return_inverse=True)
    cuts = np.cumsum([len(part) for part in parts])[:-1]
    return _Numbered(np.split(places.astype(np.int64), cuts), len(known), tuple(map(str, known)))


MOST_CLASSES = 100_000
"""Whole numbers up to here are classes as they are; larger ones are taken for names."""


def _owners(name: str, arrays: Mapping[str, Any]) -> tuple[list[Labels | None], tuple[str, ...] | None]:
    """Who owns each sample to train on and to test on, and what owners are called."""
    given = [None if arrays.get(f) is None else _column(name, f, arrays[f]) for f in ("owners", "test_owners")]
    there = [part for part in given if part is not None]
    if given[0] is None:
        if there:
            raise BadData(f"{name}: test_owners is given without owners")
        return [None, None], None
    if len({part.dtype.kind for part in there}) > 1:
        raise BadData(f"{name}: owners and test_owners are of different types")
    known, places = np.unique(np.concatenate(there), return_inverse=True)
    first = len(given[0])
    found: list[Labels | None] = [places[:first], places[first:] if len(there) > 1 else None]
    return found, tuple(map(str, known))


def _with_test(
    name: str, x: NDArray[Any], labels: _Numbered, owners: Labels | None, owner_names: Any, test: float
) -> Dataset:
    """Some samples set apart to test on: evenly of every class, or of every owner, who then keeps one at least."""
    y = labels.parts[0]
    if len(x) != len(y):
        raise BadData(f"{name}: x has {len(x)} samples and y {len(y)} classes")
    apart = held_out(y, owners, test)
    whose = None if owners is None else owners[apart]
    return Dataset(
        name,
        x[~apart],
        y[~apart],
        x[apart],
        y[apart],
        labels.kinds,
        None if owners is None else owners[~apart],
        owner_names,
        whose,
    )


def held_out(y: Labels, owners: Labels | None, share: float) -> NDArray[np.bool_]:
    """Which samples are for testing: this share of every owner's (else of every class), evenly spread over classes.

    >>> held_out(np.array([0, 0, 0, 0, 1]), None, 0.5).tolist()
    [False, True, False, True, False]
    """
    of = y if owners is None else owners
    order = np.lexsort((y, of))
    sizes = np.unique(of, return_counts=True)[1]
    tests = np.minimum(sizes - 1, np.rint(share * sizes).astype(np.int64))
    place = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    size, count = np.repeat(sizes, sizes), np.repeat(tests, sizes)
    apart = np.zeros(len(y), dtype=bool)
    apart[order] = (place + 1) * count // size > place * count // size
    return apart
