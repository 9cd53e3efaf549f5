"""Parts of a user's own, given as the address of their code: partitions, data sets, networks."""

import numpy as np
import pytest

from covey.data import load, load_fleet, parse_partition
from covey.errors import BadValue
from covey.network import network_from

MINE = '''
from dataclasses import dataclass

import numpy as np

from covey.data import Dataset, Partition
from covey.network import star


@dataclass(frozen=True)
class Stripes:
    """Every n-th sample, in blocks of `width`."""

    width: int = 1

    def split(self, y, clients, edges, owners, rng):
        return [np.flatnonzero(np.arange(len(y)) // self.width % clients == i) for i in range(clients)]


class Overlapping(Partition):
    """Everybody the first sample."""

    def split(self, y, clients, edges, owners, rng):
        return [[0]] * clients


class Nothing(Overlapping):
    def split(self, y, clients, edges, owners, rng):
        return None


class TooFew(Overlapping):
    def split(self, y, clients, edges, owners, rng):
        return [[0]]


class Outside(Overlapping):
    def split(self, y, clients, edges, owners, rng):
        return [[len(y) + i] for i in range(clients)]


class Shares(Overlapping):
    def split(self, y, clients, edges, owners, rng):
        return [[i + 0.5] for i in range(clients)]


def coins():
    """Heads or tails."""
    x = np.arange(20, dtype=np.float32).reshape(20, 1)
    return Dataset("coins", x, np.arange(20) % 2, x[:4], np.arange(4) % 2, classes=2)


def no_coins():
    return []


def lost_coins():
    raise SystemExit("no coins left")


class Wide:
    def build(self, edge_of, link, trunk, seed):
        return star(2 * len(edge_of), link=link)


class Narrow:
    def build(self, edge_of, link, trunk, seed):
        return "none"
'''


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)


def test_a_partition_with_a_setting():
    assert vars(parse_partition("./mine.py:Stripes:2"))["width"] == 2
    parts, _ = parse_partition("./mine.py:Stripes:width=2")(
        np.zeros(8, np.int64), clients=2, rng=np.random.default_rng(0)
    )
    assert [part.tolist() for part in parts] == [[0, 1, 4, 5], [2, 3, 6, 7]]
    fleet = load_fleet("digits", clients=3, partition="./mine.py:Stripes")
    assert fleet.clients == 3


@pytest.mark.parametrize("name", ["Overlapping", "Nothing", "TooFew", "Outside", "Shares"])
def test_a_partition_that_deals_wrongly(name):
    partition = parse_partition(f"./mine.py:{name}")
    with pytest.raises(BadValue, match=f"partition is '{name}'; allowed is one that gives 4 clients lists of diff"):
        partition(np.zeros(8, np.int64), clients=4, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("./mine.py:coins", r"a class with split\(y, clients, edges, owners, rng\).*; this is the function coins"),
        ("./mine.py:Stripes:width=wide", "width of ./mine.py:Stripes is 'wide'; allowed is a whole number"),
        ("./mine.py:Stripes:size=1", "setting of ./mine.py:Stripes is 'size'; allowed is one of width"),
        ("./mine.py:Stripes:1,2", "'2' is one value too many"),
    ],
)
def test_what_is_no_partition(word, sentence):
    with pytest.raises(BadValue, match=sentence):
        parse_partition(word)


def test_a_data_set():
    assert load("./mine.py:coins").classes == 2
    fleet = load_fleet("./mine.py:coins", clients=5)
    assert int(fleet.sizes.sum()) == 15  # 4 samples each, of which one is for testing
    with pytest.raises(BadValue, match=r"data 'no_coins' is \[\]; allowed is a covey.Dataset, "):
        load("./mine.py:no_coins")
    with pytest.raises(BadValue, match=r"data is 'lost_coins'; .*SystemExit: no coins left"):
        load("./mine.py:lost_coins")
    with pytest.raises(BadValue, match=r"data 'TooFew' is <.*TooFew object at .*; allowed is a covey.Dataset, "):
        load("./mine.py:TooFew")


def test_a_network():
    assert len(network_from("./mine.py:Wide", [0, 0, 0]).hosts) == 6
    with pytest.raises(BadValue, match=r"one whose build gives a covey.network.Network, not str"):
        network_from("./mine.py:Narrow", [0])
    with pytest.raises(BadValue, match=r"a class with build\("):
        network_from("./mine.py:coins", [0])
