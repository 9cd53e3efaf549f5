"""From a data set and a partition to a fleet: who holds what, what of it is for testing, who sits at which edge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import DATASETS, Dataset, load
from covey.data.given import Lists
from covey.data.objects import dataset_from
from covey.data.partition import Partition, by_owner, parse_partition
from covey.data.schemes import Natural
from covey.errors import BadValue
from covey.fleet import CLIENTS, PARTITION, Fleet, FleetData
from covey.ragged import Indices, Ragged
from covey.seeds import generator
from covey.words import split

SAMPLES = 20  # a client's share of endless data


def load_fleet(
    data: Any,
    *,
    clients: int | None = None,
    partition: Partition | str | Sequence[Any] | Mapping[str, Any] | None = None,
    edges: int | None = None,
    seed: int = 0,
    samples: int | None = None,
    test_fraction: float = 0.2,
    windows: int | None = None,
    pool: str | None = None,
    download: bool = False,
) -> Fleet:
    """A fleet on a data set by name (or on one of your own), split by a partition.

    data: a name, a file or folder, or an object: a `Dataset`, (x, y), a dictionary of arrays, a torch Dataset, one of
        Hugging Face, partitions of Flower Datasets (`covey.data.objects.dataset_from`)
    clients: how many, 50 unless told; None or 0 means all where data or partition know who there is
    partition: a partition or its text; or the numbers of every client's samples, as [[0, 2], [1]] or by name. Unless
        told, data of one's own that says who owns what is split that way, and all else by dirichlet:0.1.
    edges: how many, 5 unless told (fewer for fewer clients); a file of counts may say who sits where
    seed: of everything that is drawn
    samples: at most this many samples a client, picked at random before its test split is taken; of endless
        data this many a client on average, 20 unless told
    test_fraction: of a client's samples, set apart for testing; of two or more at least one is, of one none. Owners
        that have test samples of their own keep those as their test split instead.
    windows: how many parts the day has; clients are spread evenly over them at random
    pool: train, validation and test shares, as in "3:1:1", into which all samples are split anew; nobody gets the
        validation samples
    download: whether data that is not on this machine may be fetched

    >>> fleet = load_fleet("digits", clients=10, partition="dirichlet:0.5", edges=2)
    >>> fleet.clients, len(fleet.by_edge), int(fleet.sizes.sum())
    (10, 2, 1140)
    """
    if samples is not None and samples < 1:
        raise BadValue("samples", samples, "a whole number from 1 up")
    if not 0 <= test_fraction < 1:
        raise BadValue("test_fraction", test_fraction, "a share from 0 up to, but not including, 1")
    rule = None if partition is None else _rule(partition)
    dataset = load(data, download=download) if isinstance(data, str) else dataset_from(data)
    if rule is None:
        own = dataset.owners is not None and not (isinstance(data, str) and split(data)[0] in DATASETS)
        rule = parse_partition("natural" if own else PARTITION)
    if clients is None and not rule.everybody():
        clients = CLIENTS
    if pool is not None:
        dataset = _pooled(dataset, pool, generator(seed, 0, "pool"))
    labels = dataset.y
    if dataset.endless:
        some = labels[: len(labels) // 2]
        wanted = rule.pool(some)
        labels = np.resize(some, (clients or 0) * (samples or SAMPLES) if wanted is None else wanted)
    parts, edge_of = rule(
        labels, clients=clients, edges=edges, owners=dataset.owners, rng=generator(seed, 0, "partition")
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
        names=_names(dataset, rule, owner_of),
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


def _pooled(dataset: Dataset, shares: str, rng: np.random.Generator) -> Dataset:
    """All samples, shuffled and split anew."""
    found = re.fullmatch(r"([0-9]{1,4}):([0-9]{1,4}):([0-9]{1,4})", shares)
    train, valid, test = map(int, found.groups()) if found else (0, 0, 0)
    if not (train and test):
        raise BadValue("pool", shares, "train, validation and test shares such as 3:1:1, the first and last above 0")
    if dataset.owners is not None or dataset.endless:
        raise BadValue("pool", shares, f"nothing for {dataset.name}, whose samples belong to somebody or are made up")
    x, y = np.concatenate((dataset.x, dataset.test_x)), np.concatenate((dataset.y, dataset.test_y))
    order = rng.permutation(len(y))
    total = train + valid + test
    trained, tested = order[: len(y) * train // total], order[len(y) * (train + valid) // total :]
    return replace(dataset, x=x[trained], y=y[trained], test_x=x[tested], test_y=y[tested])


def _owner_of(dataset: Dataset, rule: Partition, parts: Ragged) -> NDArray[np.int64] | None:
    """The owner behind each client, where clients are owners."""
    if dataset.owners is None or not isinstance(rule, Natural):
        return None
    return dataset.owners[parts.flat[parts.offsets[:-1]]]


def _rule(partition: Partition | str | Sequence[Any] | Mapping[str, Any]) -> Partition:
    """The partition; lists of samples are one, too."""
    if isinstance(partition, Partition | str):
        return parse_partition(partition)
    if isinstance(partition, Sequence | Mapping | np.ndarray):
        return Lists(partition)
    raise BadValue("partition", partition, "a text such as 'iid', a covey.data.Partition, or every client's samples")


def _names(dataset: Dataset, rule: Partition, owner_of: NDArray[np.int64] | None) -> tuple[str, ...] | None:
    if (known := rule.names()) is not None:
        return tuple(known)
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
