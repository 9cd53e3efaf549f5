"""From a data set and a partition to a fleet: who holds what, what of it is for testing, who sits at which edge."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import Dataset, load
from covey.data.partition import Partition, by_owner, parse_partition
from covey.data.schemes import Natural
from covey.errors import BadValue
from covey.fleet import Fleet, FleetData
from covey.ragged import Indices, Ragged
from covey.seeds import generator

SAMPLES = 20  # a client's share of endless data


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
    samples: at most so many samples a client, picked at random before its test split is taken; of endless data, so
        many a client on average, 20 unless told
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
    pool = dataset.y
    if dataset.endless:
        pool = np.resize(pool[: len(pool) // 2], (clients or 0) * (samples or SAMPLES))
    parts, edge_of = rule(
        pool, clients=clients, edges=edges, owners=dataset.owners, rng=generator(seed, 0, "partition")
    )
    owner_of = _owner_of(dataset, rule, parts)
    if samples is not None and parts.sizes.max() > samples:
        rng = generator(seed, 0, "samples")
        parts = Ragged.of(part if len(part) <= samples else rng.choice(part, samples, replace=False) for part in parts)
    x, y = dataset.x, dataset.y
    if owner_of is not None and dataset.test_owners is not None:
        train_of, test_of = parts, by_owner(dataset.test_owners, owner_of)
        test_of = Ragged(len(y) + test_of.flat, test_of.offsets)
        x, y = np.concatenate((x, dataset.test_x)), np.concatenate((y, dataset.test_y))
    else:
        train_of, test_of = _split(parts, test_fraction, generator(seed, 0, "test split"))
    if dataset.endless:
        half = len(y) // 2
        train_of.flat %= half
        test_of.flat %= half
        test_of.flat += half
    return Fleet(
        labels=train_of.tally(y, dataset.classes),
        edge_of=edge_of,
        names=_names(dataset, owner_of),
        window_of=_windows(len(parts), windows, generator(seed, 0, "windows")),
        data=FleetData(
            dataset.name,
            x,
            y,
            dataset.test_x,
            dataset.test_y,
            train_of=train_of.sorted(),
            test_of=test_of.sorted(),
            classes=dataset.classes,
        ),
    )


def _owner_of(dataset: Dataset, rule: Partition, parts: Ragged) -> NDArray[np.int64] | None:
    """The owner behind each client, where clients are owners."""
    if dataset.owners is None or not isinstance(rule, Natural):
        return None
    return dataset.owners[parts.flat[parts.offsets[:-1]]]


def _names(dataset: Dataset, owner_of: NDArray[np.int64] | None) -> tuple[str, ...] | None:
    if owner_of is None or dataset.owner_names is None:
        return None
    return tuple(dataset.owner_names[owner] for owner in owner_of)


def _split(parts: Ragged, fraction: float, rng: np.random.Generator) -> tuple[Ragged, Ragged]:
    """What every client trains on and what it tests on; clients of one size are shuffled together."""
    sizes = parts.sizes
    tests = np.minimum(sizes - 1, np.maximum(1, np.rint(fraction * sizes).astype(np.int64))) if fraction else 0 * sizes
    shuffled = np.empty_like(parts.flat)
    changes = np.flatnonzero(np.diff(sizes)) + 1
    for first, last in pairwise([0, *changes.tolist(), len(parts)]):
        run = slice(parts.offsets[first], parts.offsets[last])
        shuffled[run] = rng.permuted(parts.flat[run].reshape(last - first, -1), axis=1).ravel()
    place = np.arange(len(shuffled)) - np.repeat(parts.offsets[:-1], sizes)
    tested = place < np.repeat(tests, sizes)
    return Ragged.cut(shuffled[~tested], sizes - tests), Ragged.cut(shuffled[tested], tests)


def _windows(clients: int, windows: int | None, rng: np.random.Generator) -> Indices | None:
    if windows is None:
        return None
    if not 1 <= windows <= clients:
        raise BadValue("windows", windows, f"a whole number from 1 to {clients}, the clients there are")
    return rng.permutation(clients) % windows


Fleet.maker = load_fleet
