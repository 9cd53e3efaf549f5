"""A CSV table as a data set: one row per sample, one column its class, maybe one its owner, the others its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.data.arrays import TEST, check_share, dataset_of
from covey.data.datasets import Dataset
from covey.errors import BadData

BATCH = 1000
"""How many rows are turned into numbers at once."""

TOLD = {"train": False, "test": True}


@dataclass(frozen=True)
class Table:
    """A CSV table with a header: a row is a sample.

    label: the column of the class, a whole number or a text
    owner: the column that says whose a sample is
    split: the column that says `train` or `test`
    drop: columns to leave out, with a + between them
    shape: of one sample, as in 1x28x28; one number per column unless told
    standardise: every column minus its mean, over its standard deviation
    test: share of the samples kept to test the global model, where no column says which
    """

    label: str = "label"
    owner: str | None = None
    split: str | None = None
    drop: str | None = None
    shape: str | None = None
    standardise: bool = False
    test: float = TEST
    example: ClassVar[str] = "FILE.csv or FILE.csv:label=species,owner=site,drop=id,standardise=true"

    def __post_init__(self) -> None:
        check_share(self.test)

    def owned(self, path: Path) -> bool:
        """Whether a column says who owns what."""
        return self.owner is not None

    def read(self, path: Path) -> Dataset:
        """The data set in that table."""
        from covey.grouping.table import read_csv  # groupings take a while to import

        header, rows = read_csv(path)
        dropped = self.drop.split("+") if self.drop else []
        special = [name for name in (self.label, self.owner, self.split) if name is not None]
        for name in (*special, *dropped):
            if name not in header:
                raise BadData(f"{path}, line 1: no column {name!r} (there are {', '.join(map(repr, header[:20]))})")
        features = [j for j, name in enumerate(header) if name not in (*special, *dropped)]
        if not features:
            raise BadData(f"{path}, line 1: no column of numbers beside {', '.join(map(repr, special))}")
        columns: dict[str, list[str]] = {name: [] for name in special}
        tables = []
        while batch := list(islice(rows, BATCH)):
            tables.append(_numbers(path, header, features, batch))
            for name, values in columns.items():
                values += _texts(path, name, header.index(name), batch)
        if not tables:
            raise BadData(f"{path}: a header but no sample")
        x = np.concatenate(tables)
        x = _standardised(x) if self.standardise else x
        return self._dataset(path, x.astype(np.float32), columns)

    def _dataset(self, path: Path, x: NDArray[Any], columns: dict[str, list[str]]) -> Dataset:
        x = self._shaped(path, x)
        y: Any = columns[self.label]
        y = np.array(y, dtype=np.int64) if all(_is_whole(text) for text in y) else np.array(y)
        owners = None if self.owner is None else np.array(columns[self.owner])
        if self.split is None:
            return dataset_of(path.stem, {"x": x, "y": y} | _if_any("owners", owners), test=self.test)
        test = np.array([self._is_test(path, text) for text in columns[self.split]])
        arrays = {"x": x[~test], "y": y[~test], "test_x": x[test], "test_y": y[test]}
        if owners is not None:
            arrays |= {"owners": owners[~test], "test_owners": owners[test]}
        return dataset_of(path.stem, arrays)

    def _is_test(self, path: Path, text: str) -> bool:
        if text not in TOLD:
            raise BadData(f"{path}, column {self.split!r}: {text!r} is neither 'train' nor 'test'")
        return TOLD[text]

    def _shaped(self, path: Path, x: NDArray[Any]) -> NDArray[Any]:
        if self.shape is None:
            return x
        sides = self.shape.split("x")
        whole = [int(side) for side in sides if _is_whole(side)]
        if len(whole) != len(sides) or int(np.prod(whole)) != x.shape[1]:
            raise BadData(f"{path}: shape is {self.shape!r}, and a sample has {x.shape[1]} numbers")
        return x.reshape(-1, *whole)


def _if_any(name: str, value: Any) -> dict[str, Any]:
    return {} if value is None else {name: value}


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16


def _texts(path: Path, name: str, column: int, batch: Sequence[tuple[int, list[str]]]) -> Iterator[str]:
    for line, cells in batch:
        text = cells[column].strip()
        if not text:
            raise BadData(f"{path}, line {line}: column {name!r} is empty")
        yield text


def _numbers(
    path: Path, header: Sequence[str], features: Sequence[int], batch: Sequence[tuple[int, list[str]]]
) -> NDArray[np.float64]:
    """The numbers of these rows, all at once; where that fails, the cell that is none is named."""
    try:
        found = np.array([[cells[j] for j in features] for _, cells in batch], dtype=np.str_).astype(np.float64)
    except ValueError:
        found = np.full((1, 1), np.nan)
    if np.isfinite(found).all():
        return found
    for line, cells in batch:
        for j in features:
            try:
                fine = bool(np.isfinite(float(cells[j])))
            except ValueError:
                fine = False
            if not fine:
                told = "drop the column with drop=" + header[j] + ", or fill it in"
                raise BadData(f"{path}, line {line}, column {header[j]!r}: {cells[j]!r} is not a finite number: {told}")
    raise AssertionError


def _standardised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = x.std(axis=0)
    found: NDArray[np.float64] = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found
