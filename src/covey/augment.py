"""More samples of rare classes, made from those there are without changing their labels.

Astraea (Duan et al., ICCD 2019), Algorithm 2: a class with fewer samples in the fleet than the mean class has its
samples multiplied by (mean / count)^alpha, at the clients that hold them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.fleet import Fleet
from covey.ragged import Indices, Ragged


def augmented(fleet: Fleet, alpha: float, rng: np.random.Generator) -> Fleet:
    """The fleet with more samples of classes that are rare in it; test samples stay as they are.

    A client with n samples of a class gets n ((mean / count)^alpha - 1) more, rounded at random.

    >>> from covey.data import load_fleet
    >>> fleet = load_fleet("digits", clients=4)
    >>> augmented(fleet, 0.0, np.random.default_rng(0)) is fleet
    True
    """
    data, counts = fleet.data, fleet.labels.sum(axis=0)
    if data is None:
        raise BadValue("fleet", "one without data", "one with data, as covey.load_fleet makes it")
    there = counts > 0
    factor = np.ones(len(counts))
    factor[there] = np.maximum(1.0, counts[there].mean() / counts[there]) ** alpha
    if (factor == 1).all():
        return fleet
    extra = [_copied(own, factor[data.y[own]] - 1, rng) for own in data.train_of]
    source = np.concatenate(extra)
    added = Ragged.cut(len(data.y) + np.arange(len(source)), [len(own) for own in extra])
    grown = replace(
        data,
        x=np.concatenate([data.x, _changed(data.x[source], rng)]),
        y=np.concatenate([data.y, data.y[source]]),
        train_of=Ragged.of(np.concatenate(pair) for pair in zip(data.train_of, added, strict=True)),
    )
    return replace(fleet, labels=grown.train_of.tally(grown.y, fleet.classes), data=grown)


def _copied(own: Indices, times: NDArray[np.float64], rng: np.random.Generator) -> Indices:
    """Each sample as many times as it says, the fraction by chance."""
    whole = np.floor(times).astype(np.int64)
    return np.repeat(own, whole + (rng.random(len(own)) < times - whole))


def _changed(x: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Images shifted by up to an eighth of their sides; other numbers with a little noise; texts as they are."""
    if not np.issubdtype(x.dtype, np.floating):
        return x
    if x.ndim < 4:
        return (x + rng.normal(0, 0.05 * (x.std() if x.size else 0.0), x.shape)).astype(x.dtype)
    height, width = x.shape[-2:]
    shifted = np.zeros_like(x)
    reach = max(1, height // 8), max(1, width // 8)
    moves = np.stack([rng.integers(-r, r + 1, len(x)) for r in reach], axis=1)
    for down, right in np.unique(moves, axis=0):
        these = np.flatnonzero((moves == (down, right)).all(axis=1))
        to = np.s_[..., max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)]
        of = np.s_[..., max(0, -down) : height + min(0, -down), max(0, -right) : width + min(0, -right)]
        block = shifted[these]
        block[to] = x[these][of]
        shifted[these] = block
    return shifted
