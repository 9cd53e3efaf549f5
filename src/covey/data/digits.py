"""Built-in data: scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, so that a first run needs no download."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from covey.data.datasets import DATASETS, Dataset, Layout, Source


def read(_: Path) -> Dataset:
    """Pixels scaled from 0..16 to [0, 1]; every fifth digit of a class is a test sample, the same ones always."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    test = np.zeros(len(y), dtype=bool)
    for digit in range(10):
        test[np.flatnonzero(y == digit)[::5]] = True
    return Dataset("digits", x[~test], y[~test], x[test], y[test], classes=10)


DATASETS.add(
    "digits",
    Source(layouts=(Layout(files=(), read=read),), samples=1797),
    summary="handwritten digits 8 x 8",
    paper="Alpaydin & Kaynak 1998, via scikit-learn",
)
