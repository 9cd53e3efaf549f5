"""Made-up data of any shape, for fleets larger than any data set: a class is a pattern, a sample is that and noise.

All clients share a pool of samples, so that a million clients take no more memory than a thousand: everybody holds
samples of its own choice (as many as `samples` says, 20 unless told), but not of its own making.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from covey.data.datasets import DATASETS, MADE_UP, Dataset, Layout, Source
from covey.errors import BadValue
from covey.seeds import generator

TESTS = 2000  # samples of the global test set


@MADE_UP.register("synthetic")
@dataclass(frozen=True)
class Synthetic:
    """Patterns under noise: x = (1 - noise) pattern of the class + noise u, both uniform in [0, 1].

    shape: of one sample, as in 1x28x28
    classes: how many, equally frequent in the pool
    noise: from 0, where a class looks always the same, to below 1
    pool: different samples to train on; there are as many for clients' own tests
    seed: of patterns and noise
    """

    shape: str = "1x28x28"
    classes: int = 10
    noise: float = 0.9
    pool: int = 10_000
    seed: int = 0
    example: ClassVar[str] = "synthetic or synthetic:shape=3x32x32,classes=100,noise=0.9,pool=10000,seed=0"

    def __post_init__(self) -> None:
        for name in ("classes", "pool"):
            if getattr(self, name) < 1:
                raise BadValue(name, getattr(self, name), "a whole number from 1 up")
        if self.pool < self.classes:
            raise BadValue("pool", self.pool, f"at least one sample of each of {self.classes} classes")
        if not 0 <= self.noise < 1:
            raise BadValue("noise", self.noise, "a number from 0 up to, but not including, 1")
        if self.seed < 0:
            raise BadValue("seed", self.seed, "a whole number from 0 up")
        self.sides()

    def sides(self) -> tuple[int, ...]:
        """The shape as numbers.

        >>> Synthetic(shape="3x32x32").sides()
        (3, 32, 32)
        """
        words = self.shape.split("x")
        if not all(word.isascii() and word.isdecimal() and int(word) for word in words):
            raise BadValue("shape", self.shape, "whole numbers from 1 up with an x between them, such as 1x28x28")
        return tuple(map(int, words))

    def read(self) -> Dataset:
        """The pool, the first half of it to train on, and the test set."""
        rng, sides = generator(self.seed, 0, "synthetic"), self.sides()
        patterns = rng.random((self.classes, prod(sides)), dtype=np.float32)
        half = np.arange(self.pool) % self.classes
        y = np.concatenate((half, half, np.arange(TESTS) % self.classes))
        x = rng.random((len(y), prod(sides)), dtype=np.float32)
        x *= np.float32(self.noise)
        for kind, pattern in enumerate(patterns):
            x[y == kind] += np.float32(1 - self.noise) * pattern
        x = x.reshape(-1, *sides)
        tests = 2 * self.pool
        return Dataset("synthetic", x[:tests], y[:tests], x[tests:], y[tests:], self.classes, endless=True)


DATASETS.add(
    "synthetic",
    Source(layouts=(Layout(files=(), read=lambda _: Synthetic().read()),), samples=None),
    summary="made up, of any shape, for any number of clients",
)
