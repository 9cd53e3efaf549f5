"""Networks by name, `fat-tree:10`, `jellyfish:20,4`, `star`, `tree:10`, `ring`, or from a .csv or .graphml file.

A CSV file has the columns source, target, capacity, latency, one line a link, full duplex, and may have source_role and
target_role (host, switch, edge or cloud). Numbers without a unit are bytes per second and seconds.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol
from xml.etree.ElementTree import ParseError

import networkx as nx
import numpy as np

from covey.errors import BadData, BadValue, UnknownName
from covey.network import topology
from covey.network.topology import Graph, Link, Network, check_links, from_graph
from covey.registry import Registry, names_code, own_class
from covey.seeds import generator
from covey.words import make, split


class Shape(Protocol):
    """A kind of network, with the numbers a word gives it."""

    def build(self, edge_of: Sequence[int], link: Link, trunk: Link | None, seed: int) -> Network:
        """The network with room for clients at these edges; `trunk` joins switches, `link` hosts to them."""


_OWN = "a class with build(edge_of, link, trunk, seed), which gives a covey.network.Network"

NETWORKS: Registry[Callable[..., Shape]] = Registry("network", own_class(_OWN, "build"))


@NETWORKS.register("fat-tree", summary="pods of switches and hosts below cores", paper="Al-Fares et al. 2008")
@dataclass(frozen=True)
class FatTree:
    """A fat-tree of this many pods."""

    pods: int
    example: ClassVar[str] = "fat-tree:PODS, such as fat-tree:10"

    def build(self, edge_of: Sequence[int], link: Link, trunk: Link | None, seed: int) -> Network:
        """As `topology.fat_tree`."""
        return topology.fat_tree(self.pods, link=link, trunk=trunk)


@NETWORKS.register("jellyfish", summary="a random regular graph of switches", paper="Singla et al. 2012")
@dataclass(frozen=True)
class Jellyfish:
    """Switches joined at random, each to `degree` others; as many hosts at each as are needed unless given."""

    switches: int
    degree: int
    hosts: int | None = None
    example: ClassVar[str] = "jellyfish:SWITCHES,DEGREE or jellyfish:SWITCHES,DEGREE,HOSTS, such as jellyfish:20,4"

    def build(self, edge_of: Sequence[int], link: Link, trunk: Link | None, seed: int) -> Network:
        """As `topology.jellyfish`, drawn from the seed."""
        hosts = math.ceil(len(edge_of) / max(self.switches, 1)) if self.hosts is None else self.hosts
        rng = generator(seed, "jellyfish")
        return topology.jellyfish(self.switches, self.degree, hosts, rng=rng, link=link, trunk=trunk)


@NETWORKS.register("star", summary="every host at the cloud")
@dataclass(frozen=True)
class Star:
    """Every host at the cloud."""

    def build(self, edge_of: Sequence[int], link: Link, trunk: Link | None, seed: int) -> Network:
        """As `topology.star`."""
        _no_trunk(trunk, "star")
        return topology.star(len(edge_of), link=link)


@NETWORKS.register("tree", summary="the cloud, edge servers below it, hosts below them")
@dataclass(frozen=True)
class Tree:
    """The cloud, edge servers below it, and below each as many hosts as the fleet's largest edge has clients."""

    edges: int
    example: ClassVar[str] = "tree:EDGES, such as tree:10"

    def build(self, edge_of: Sequence[int], link: Link, trunk: Link | None, seed: int) -> Network:
        """As `topology.tree`."""
        sizes = np.bincount(np.asarray(edge_of, dtype=np.int64))
        alike = len(sizes) == self.edges
        hosts = int(sizes.max()) if alike else math.ceil(len(edge_of) / max(self.edges, 1))
        return topology.tree(self.edges, hosts, link=link, trunk=trunk)


@NETWORKS.register("ring", summary="every host joined to the next")
@dataclass(frozen=True)
class Ring:
    """Every host joined to the next, the last to the first."""

    def build(self, edge_of: Sequence[int], link: Link, trunk: Link | None, seed: int) -> Network:
        """As `topology.ring`."""
        _no_trunk(trunk, "ring")
        return topology.ring(len(edge_of), link=link)


def network_from(
    text: str,
    edge_of: Sequence[int],
    *,
    link: Link | None = None,
    trunk: Link | None = None,
    seed: int = 0,
) -> Network:
    """The network that `text` names, with room for clients at the edges `edge_of`.

    `trunk` joins switches, `link` hosts to them; a file's links keep what the file says. `seed` draws random networks.

    >>> network_from("tree:2", [0, 0, 1]).blocks
    (('host-0-0', 'host-0-1'), ('host-1-0', 'host-1-1'))
    >>> network_from("fat-tree:4", range(17))
    Traceback (most recent call last):
    covey.errors.BadValue: network is 'fat-tree:4'; allowed is one with a host for each of 17 clients (it has 16 hosts)
    """
    if isinstance(text, str) and Path(text).suffix.lower() in _READERS:
        _no_trunk(trunk, "a file")
        made = read(Path(text), link=link)
    elif isinstance(text, str) and (name := split(text)[0]) not in NETWORKS and not names_code(name):
        raise UnknownName("network", name, [*NETWORKS.names, *(f"FILE{ending}" for ending in _READERS)])
    else:
        made = make(NETWORKS, text).build(edge_of, link or Link(), trunk, seed)
    if not isinstance(made, Network):
        raise BadValue("network", text, f"one whose build gives a covey.network.Network, not {type(made).__name__}")
    if len(made.hosts) < len(edge_of):
        allowed = f"one with a host for each of {len(edge_of)} clients (it has {len(made.hosts)} hosts)"
        raise BadValue("network", text, allowed)
    return made


def _no_trunk(trunk: Link | None, name: str) -> None:
    if trunk is not None:
        raise BadValue("trunk", f"{trunk.capacity:g}B/s,{trunk.latency:g}s", f"left out with {name}: it has no trunks")


def read(path: Path, *, link: Link | None = None) -> Network:
    """A network from a .csv or .graphml file; `link` is for links that do not say their capacity and latency."""
    if path.suffix.lower() not in _READERS:
        raise BadValue("network", str(path), "a .csv or .graphml file")
    try:
        graph = _READERS[path.suffix.lower()](path)
    except (BadData, BadValue):
        raise
    except _DAMAGE as problem:
        said = " ".join(str(problem).split()) or type(problem).__name__
        raise BadData(f"network file {path} cannot be read: {said}") from problem
    return from_graph(graph, link=link, name=str(path))


def _read_csv(path: Path) -> Graph:
    graph: Graph = nx.Graph()
    with path.open(newline="", encoding="utf-8-sig") as lines:
        rows = csv.DictReader(lines, skipinitialspace=True)
        if not {"source", "target"} <= set(rows.fieldnames or ()):
            raise BadData(f"network file {path} needs the columns source,target,capacity,latency in its first line")
        for row in rows:
            ends = row["source"], row["target"]
            if not all(ends) or ends[0] == ends[1] or graph.has_edge(*ends):
                raise BadData(
                    f"line {rows.line_num} of {path} needs a source and another target that no line has joined before"
                )
            graph.add_edge(*ends, **{key: _number(row[key]) for key in ("capacity", "latency") if row.get(key)})
            for node, role in zip(ends, (row.get("source_role"), row.get("target_role")), strict=True):
                if role:
                    graph.nodes[node]["role"] = role
            check_links("network", str(path), graph.number_of_edges())
    return graph


def _read_graphml(path: Path) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of attributes without a type, which are read as text and checked
        graph: Graph = nx.read_graphml(path)
    check_links("network", str(path), graph.number_of_edges())
    for _, _, data in graph.edges(data=True):
        data.update({key: _number(data[key]) for key in ("capacity", "latency") if key in data})
    return graph


# what the readers raise for files that are not what their name promises
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    ParseError,
    RecursionError,
    TypeError,
    ValueError,
    csv.Error,
    nx.NetworkXException,
)

_READERS: dict[str, Callable[[Path], Graph]] = {".csv": _read_csv, ".graphml": _read_graphml}


def _number(text: Any) -> Any:
    """A number where the text is one, so that a file may leave out the units."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return text
