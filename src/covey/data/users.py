"""Sets that are stored by user: everybody's samples become one pool that remembers whose is whose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import Dataset
from covey.errors import BadData

Samples = tuple[NDArray[Any], NDArray[np.int64]]


def by_user(name: str, train: Mapping[str, Samples], test: Mapping[str, Samples], classes: int) -> Dataset:
    """One data set from every user's samples and classes.

    >>> ada, bob = (np.zeros((2, 4)), np.array([0, 1])), (np.ones((1, 4)), np.array([1]))
    >>> both = by_user("letters", {"ada": ada, "bob": bob}, {"bob": bob}, classes=2)
    >>> both.owners.tolist(), both.test_owners.tolist(), both.owner_names
    ([0, 0, 1], [1], ('ada', 'bob'))
    """
    for split, users in (("train", train), ("test", test)):
        if not any(len(y) for _, y in users.values()):
            raise BadData(f"{name} has no {split} samples: replace its files with good copies")
    names = tuple(dict.fromkeys((*train, *test)))
    number = {user: i for i, user in enumerate(names)}
    x, y, owners = _pool(train, number)
    test_x, test_y, test_owners = _pool(test, number)
    return Dataset(name, x, y, test_x, test_y, classes, owners, names, test_owners)


def hold_out(users: Mapping[str, Samples], fraction: float = 0.1) -> tuple[dict[str, Samples], dict[str, Samples]]:
    """The last tenth of everybody's samples (LEAF's own share) set apart for testing; a single sample stays."""
    train, test = {}, {}
    for user, (x, y) in users.items():
        keep = len(y) - min(len(y) - 1, max(1, round(fraction * len(y))))
        train[user], test[user] = (x[:keep], y[:keep]), (x[keep:], y[keep:])
    return train, test


def _pool(users: Mapping[str, Samples], number: Mapping[str, int]) -> tuple[NDArray[Any], Any, Any]:
    held = [(number[user], x, y) for user, (x, y) in users.items() if len(y)]
    owners = np.repeat([i for i, _, _ in held], [len(y) for _, _, y in held])
    return np.concatenate([x for _, x, _ in held]), np.concatenate([y for _, _, y in held]), owners
