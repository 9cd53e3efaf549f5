"""From a data set and a partition to a fleet: who holds what, what of it is for testing, who sits at which edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import Dataset, load
from covey.data.partition import Indices, Partition, parse_partition
from covey.data.schemes import Natural
from covey.errors import BadValue
from covey.fleet import Fleet, FleetData
from covey.seeds import generator


def load_fleet(
    data: str | Dataset,
    *,
    clients: int | None,
    partition: Partition | str = "iid",
    edges: int = 1,
    seed: int = 0,
    samples: int | None = None,
    test_fraction: float = 0.2,
    windows: int | None = None,
    download: bool = False,
) -> Fleet:
    """A fleet on a data set by name (or on one of your own), split by a partition.

    clients: how many; for `natural` partitions None or 0 means every owner
    samples: at most so many samples a client, picked at random before its test split is taken
    test_fraction: of a client's samples, set apart for testing; of two or more at least one is, of one none. Owners
        that have test samples of their own keep those as their test split instead.
    windows: so many parts of the day, clients spread evenly over them at random
    download: whether data that is not on this machine may be fetched

    >>> fleet = load_fleet("digits", clients=10, partition="dirichlet:0.5", edges=2)
    >>> fleet.clients, len(fleet.by_edge), int(fleet.sizes.sum())
    (10, 2, 1140)
    """
    if samples is not None and samples < 1:
        raise BadValue("samples", samples, "a whole number from 1 up")
    if not 0 <= test_fraction < 1:
        raise BadValue("test_fraction", test_fraction, "a share from 0 up to, but not including, 1")
    rule = parse_partition(partition)
    dataset = load(data, download=download) if isinstance(data, str) else data
    parts, edge_of = rule(
        dataset.y, clients=clients, edges=edges, owners=dataset.owners, rng=generator(seed, 0, "partition")
    )
    owner_of = _owner_of(dataset, rule, parts)
    if samples is not None:
        rng = generator(seed, 0, "samples")
        parts = [part if len(part) <= samples else rng.choice(part, samples, replace=False) for part in parts]
    x, y = dataset.x, dataset.y
    if owner_of is not None and dataset.test_owners is not None:
        train_of = parts
        x, y = np.concatenate((x, dataset.test_x)), np.concatenate((y, dataset.test_y))
        test_of = [len(dataset.y) + np.flatnonzero(dataset.test_owners == owner) for owner in owner_of]
    else:
        train_of, test_of = _split(parts, test_fraction, generator(seed, 0, "test split"))
    return Fleet(
        labels=np.stack([np.bincount(y[part], minlength=dataset.classes) for part in train_of]),
        edge_of=edge_of,
        names=_names(dataset, owner_of),
        window_of=_windows(len(parts), windows, generator(seed, 0, "windows")),
        data=FleetData(
            dataset.name,
            x,
            y,
            dataset.test_x,
            dataset.test_y,
            train_of=tuple(np.sort(part) for part in train_of),
            test_of=tuple(np.sort(part) for part in test_of),
            classes=dataset.classes,
        ),
    )


def _owner_of(dataset: Dataset, rule: Partition, parts: list[Indices]) -> NDArray[np.int64] | None:
    """The owner behind each client, where clients are owners."""
    if dataset.owners is None or not isinstance(rule, Natural):
        return None
    return dataset.owners[[part[0] for part in parts]]


def _names(dataset: Dataset, owner_of: NDArray[np.int64] | None) -> tuple[str, ...] | None:
    if owner_of is None or dataset.owner_names is None:
        return None
    return tuple(dataset.owner_names[owner] for owner in owner_of)


def _split(parts: list[Indices], fraction: float, rng: np.random.Generator) -> tuple[list[Indices], list[Indices]]:
    train_of, test_of = [], []
    for part in parts:
        tests = min(len(part) - 1, max(1, round(fraction * len(part)))) if fraction else 0
        shuffled = rng.permutation(part)
        test_of.append(shuffled[:tests])
        train_of.append(shuffled[tests:])
    return train_of, test_of


def _windows(clients: int, windows: int | None, rng: np.random.Generator) -> Indices | None:
    if windows is None:
        return None
    if not 1 <= windows <= clients:
        raise BadValue("windows", windows, f"a whole number from 1 to {clients}, the clients there are")
    return rng.permutation(clients) % windows


Fleet.maker = load_fleet
