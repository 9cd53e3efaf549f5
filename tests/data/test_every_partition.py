"""What every registered partition promises, whatever it does: registering one enrols it here."""

from __future__ import annotations

import numpy as np
import pytest

from covey.data import PARTITIONS, parse_partition
from covey.data.partition import Partition
from covey.errors import BadValue

SETTINGS = {"normal": ":20,5", "dirichlet": ":0.3", "class-diversity": ":0.2,0.4"}
CLIENTS, EDGES = 40, 10


@pytest.fixture(params=PARTITIONS.names)
def partition(request, tmp_path) -> Partition:
    if request.param == "index":
        rows = [f"{sample},c{sample // 30}" for sample in range(0, 1200, 2)]  # every other sample is nobody's
        (tmp_path / "index.csv").write_text("\n".join(["sample,client", *rows]))
        return parse_partition(f"index:{tmp_path / 'index.csv'}")
    if request.param == "counts":
        rows = [f"c{i},{','.join(str((i + c) % 4) for c in range(10))}" for i in range(CLIENTS)]
        (tmp_path / "fleet.csv").write_text("\n".join(["client,a,b,c,d,e,f,g,h,i,j", *rows]))
        return parse_partition(f"counts:{tmp_path / 'fleet.csv'}")
    return parse_partition(request.param + SETTINGS.get(request.param, ""))


@pytest.fixture
def y():
    return np.random.default_rng(1).permutation(np.repeat(np.arange(10), 120))


@pytest.fixture
def owners(y):
    return np.random.default_rng(2).permutation(np.arange(len(y)) % CLIENTS)


def split(partition, y, owners, seed=0, clients=CLIENTS):
    return partition(y, clients=clients, edges=EDGES, owners=owners, rng=np.random.default_rng(seed))


def test_no_sample_has_two_clients_and_no_client_none(partition, y, owners):
    parts, edge_of = split(partition, y, owners)
    dealt = np.concatenate(parts)
    assert len(parts) == CLIENTS
    assert all(len(part) for part in parts)
    assert len(np.unique(dealt)) == len(dealt)
    assert dealt.min() >= 0
    assert dealt.max() < len(y)
    assert edge_of.tolist() == sorted(list(range(EDGES)) * 4)


def test_the_same_seed_gives_the_same_split(partition, y, owners):
    for one, other in zip(split(partition, y, owners)[0], split(partition, y, owners)[0], strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_seed_gives_another(partition, y, owners):
    if partition.name == "index":
        pytest.skip("a file says who owns what, and nothing is drawn")
    if partition.name == "natural":
        one, other = (split(partition, y, owners, seed, clients=20)[0] for seed in (0, 1))
    else:
        one, other = (split(partition, y, owners, seed)[0] for seed in (0, 1))
    assert any(not np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_nothing_is_changed(partition, y, owners):
    labels, held = y.copy(), owners.copy()
    split(partition, y, owners)
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(owners, held)


def test_classes_may_have_gaps(partition, y, owners):
    if partition.name == "counts":
        pytest.skip("its columns are the classes, one after another")
    parts, _ = split(partition, 3 * y + 5, owners)
    assert all(len(part) for part in parts)


def test_more_clients_than_samples_are_refused(partition, y, owners):
    with pytest.raises(BadValue, match="clients is 1201; allowed is at most 1200"):
        split(partition, y, owners, clients=1201)
