"""Built-in data: scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, so that a first run needs no download."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import DATASETS, Dataset, Layout, Source


def read(_: Path) -> Dataset:
    """Pixels scaled from 0..16 to [0, 1]; every fifth digit of a class is a test sample, the same ones always."""
    table = _table()
    x, y = (table[:, :-1] / 16).astype(np.float32).reshape(-1, 1, 8, 8), table[:, -1].astype(np.int64)
    test = np.zeros(len(y), dtype=bool)
    for digit in range(10):
        test[np.flatnonzero(y == digit)[::5]] = True
    return Dataset("digits", x[~test], y[~test], x[test], y[test], classes=10)


def _table() -> NDArray[np.float64]:
    """A row a digit, 64 pixels and the digit; from scikit-learn's file, for importing scikit-learn takes a second."""
    package = find_spec("sklearn")
    file = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz" if package and package.origin else None
    if file is not None and file.is_file():
        return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    return np.column_stack(load_digits(return_X_y=True))


DATASETS.add(
    "digits",
    Source(layouts=(Layout(files=(), read=read),), samples=1797),
    summary="handwritten digits 8 x 8",
    paper="Alpaydin & Kaynak 1998, via scikit-learn",
)
