"""Networks: hosts, switches, and links, each with a capacity in bytes per second and a latency in seconds.

Fat-tree: Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008, Sec. 3.
Jellyfish: Singla, Hong, Popa, Godfrey, "Jellyfish: networking data centers randomly", NSDI 2012, Sec. 3. Both are
the networks of FedAvg-IC, App. C.3 (10 or 100 MB/s and 1 ms a link).

Departures: a fat-tree with an odd number of pods is the next even one with a pod left out, so that it can have
exactly as many pods as there are edges; jellyfish draws the random regular graph at once and again until it is
connected, where the paper joins free ports one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from covey.errors import BadData, BadValue
from covey.network import units

Node: TypeAlias = Hashable
Graph: TypeAlias = "nx.Graph[Any]"

_REDRAWS = 100  # a random 3-regular graph is connected almost surely
_DENSE = 100  # from this many switches on, drawing the few links that are not there is faster than the many that are

MOST_LINKS = 1_000_000
"""Of one network: about 1.1 kB and 20 microseconds each."""


@dataclass(frozen=True)
class Link:
    """What one link carries in each direction, in bytes per second, and how long a byte is under way, in seconds.

    >>> Link.parse("10MB/s,1ms")
    Link(capacity=10000000.0, latency=0.001)
    """

    capacity: float = 10e6
    latency: float = 1e-3

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", units.rate(self.capacity, "capacity"))
        object.__setattr__(self, "latency", units.seconds(self.latency, "latency"))

    @classmethod
    def parse(cls, text: str) -> Link:
        """A link from text: its capacity, a comma, its latency (1 ms where none is given)."""
        capacity, _, latency = text.partition(",")
        return cls(units.rate(capacity, "link"), units.seconds(latency, "link") if latency else 1e-3)


LINK = Link()
"""10 MB/s and 1 ms, the slower of FedAvg-IC's links."""


@dataclass(frozen=True, eq=False)
class Network:
    """A connected graph whose edges have `capacity` (bytes/s) and `latency` (s).

    Clients live on `hosts`; `blocks` are hosts that stand together (a pod, a rack), where the clients of one edge go.
    `cloud` and `edges` are the nodes of the servers, in topologies that have them. An undirected edge is full duplex:
    it has its capacity both ways at once. `arcs` are the directed links, numbered.
    """

    graph: Graph
    hosts: tuple[Node, ...]
    blocks: tuple[tuple[Node, ...], ...] = ()
    cloud: Node | None = None
    edges: tuple[Node, ...] = ()
    name: str = "network"
    capacity: NDArray[np.float64] = field(init=False, repr=False)  # bytes per second of every arc
    latency: NDArray[np.float64] = field(init=False, repr=False)  # seconds of every arc

    def __post_init__(self) -> None:
        if not self.hosts:
            raise BadData(f"{self.name} has no host that could hold a client")
        if self.graph.is_multigraph():
            raise BadData(f"{self.name} has parallel links; join each pair of nodes by one link, capacities summed")
        if not self._connected():
            raise BadData(f"{self.name} is disconnected; every host must be able to reach every other")
        if not self.blocks:
            object.__setattr__(self, "blocks", (self.hosts,))
        for name, read in (("capacity", units.rate), ("latency", units.seconds)):
            object.__setattr__(self, name, self._read(name, read))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in the order of their numbers."""
        return tuple(self.graph)

    @cached_property
    def number(self) -> dict[Node, int]:
        """The number of every node."""
        return {node: i for i, node in enumerate(self.nodes)}

    @cached_property
    def arcs(self) -> tuple[tuple[Node, Node], ...]:
        """The directed links; an undirected edge is two of them."""
        forth = tuple((a, b) for a, b in self.graph.edges if a != b)
        return forth if self.graph.is_directed() else tuple(arc for a, b in forth for arc in ((a, b), (b, a)))

    @cached_property
    def adjacency(self) -> csr_array[np.float64]:
        """1 where an arc leads from the node of the row to that of the column."""
        ends = np.array([(self.number[a], self.number[b]) for a, b in self.arcs], dtype=np.int64).reshape(-1, 2)
        size = len(self.nodes)
        return csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))

    def _connected(self) -> bool:
        return (
            nx.is_strongly_connected(self.graph) if isinstance(self.graph, nx.DiGraph) else nx.is_connected(self.graph)
        )

    def _read(self, key: str, read: Callable[[str | float, str], float]) -> NDArray[np.float64]:
        found = ((a, b, self.graph.edges[a, b].get(key, "missing")) for a, b in self.arcs)
        return np.array([read(value, f"{key} of link {a} to {b}") for a, b, value in found], dtype=np.float64)


def fat_tree(pods: int, *, link: Link = LINK, trunk: Link | None = None) -> Network:
    """A fat-tree: h = ceil(pods / 2), h x h cores, and pods of h x 2 switches and h x h hosts.

    Hosts are 2 hops apart at one switch, 4 in one pod, 6 otherwise. `trunk` is the link between switches.

    >>> network = fat_tree(10)
    >>> len(network.hosts), len(network.blocks), len(network.nodes)
    (250, 10, 375)
    """
    if pods < 1:
        raise BadValue("pods", pods, "a whole number from 1 up")
    half, trunk = (pods + 1) // 2, trunk or link
    check_links("pods", pods, 3 * pods * half**2, fits=110)
    graph: Graph = nx.Graph()
    blocks = []
    for pod in range(pods):
        for i, j in product(range(half), range(half)):
            _join(graph, f"aggregation-{pod}-{i}", f"core-{i}-{j}", trunk)
            _join(graph, f"switch-{pod}-{j}", f"aggregation-{pod}-{i}", trunk)
            _join(graph, f"host-{pod}-{i}-{j}", f"switch-{pod}-{i}", link)
        blocks.append(tuple(f"host-{pod}-{i}-{j}" for i, j in product(range(half), range(half))))
    return Network(graph, _flat(blocks), tuple(blocks), name=f"fat-tree:{pods}")


def jellyfish(
    switches: int,
    degree: int,
    hosts: int,
    *,
    rng: np.random.Generator,
    link: Link = LINK,
    trunk: Link | None = None,
) -> Network:
    """A random regular graph of this many `switches`, each joined to `degree` others and to `hosts` hosts.

    `link` joins hosts to switches, `trunk` switches to one another; it is as `link` unless given.

    >>> network = jellyfish(20, 4, 5, rng=np.random.default_rng(0))
    >>> len(network.hosts), {network.graph.degree[f"switch-{s}"] for s in range(20)}
    (100, {9})
    """
    if not 1 <= degree < switches or degree * switches % 2:
        raise BadValue("degree", degree, f"a number from 1 below {switches} (switches) whose product with it is even")
    if hosts < 1:
        raise BadValue("hosts per switch", hosts, "a whole number from 1 up")
    links = switches * degree // 2 + switches * hosts
    check_links("switches", switches, links, fits=2 * MOST_LINKS // (degree + 2 * hosts))
    for _ in range(_REDRAWS):
        random = _random_regular(degree, switches, int(rng.integers(2**32)))
        if nx.is_connected(random):
            break
    else:
        raise BadValue("degree", degree, f"a degree that joins {switches} switches into one network (3 or more does)")
    graph: Graph = nx.Graph()
    for a, b in sorted(tuple(sorted(pair)) for pair in random.edges):
        _join(graph, f"switch-{a}", f"switch-{b}", trunk or link)
    blocks = [tuple(f"host-{s}-{i}" for i in range(hosts)) for s in range(switches)]
    for s, i in product(range(switches), range(hosts)):
        _join(graph, f"host-{s}-{i}", f"switch-{s}", link)
    return Network(graph, _flat(blocks), tuple(blocks), name=f"jellyfish:{switches},{degree},{hosts}")


def _random_regular(degree: int, nodes: int, seed: int) -> Graph:
    if nodes < _DENSE or degree <= nodes // 2:
        chosen: Graph = nx.random_regular_graph(degree, nodes, seed=seed)
        return chosen
    others: Graph = nx.complement(nx.random_regular_graph(nodes - 1 - degree, nodes, seed=seed))
    return others


def check_links(field: str, value: object, links: int, *, fits: int | None = None) -> None:
    """Refuse a network that would take gigabytes, before it is built; `fits` is a value that would not."""
    if links > MOST_LINKS:
        most = "one with" if not fits else f"at most {fits:,}:"
        size = 1.1e3 * links / 1e9
        raise BadValue(
            field, value, f"{most} at most {MOST_LINKS:,} links (this makes {links:,}, about {size:,.1f} GB)"
        )


def star(hosts: int, *, link: Link = LINK) -> Network:
    """Every host at the cloud, which is also every edge server.

    >>> star(3).arcs[:2]
    (('cloud', 'host-0'), ('host-0', 'cloud'))
    """
    check_links("hosts", hosts, _some(hosts), fits=MOST_LINKS)
    graph: Graph = nx.Graph()
    for i in range(hosts):
        _join(graph, "cloud", f"host-{i}", link)
    return Network(graph, tuple(f"host-{i}" for i in range(hosts)), cloud="cloud", edges=("cloud",), name="star")


def tree(edges: int, hosts: int, *, link: Link = LINK, trunk: Link | None = None) -> Network:
    """The cloud, `edges` edge servers below it by `trunk`, and `hosts` hosts below each by `link`.

    >>> network = tree(2, 3)
    >>> network.cloud, network.edges, len(network.hosts)
    ('cloud', ('edge-0', 'edge-1'), 6)
    """
    if edges < 1:
        raise BadValue("edges", edges, "a whole number from 1 up")
    check_links("edges", edges, edges * (1 + _some(hosts)), fits=MOST_LINKS // (1 + hosts))
    graph: Graph = nx.Graph()
    blocks = [tuple(f"host-{e}-{i}" for i in range(hosts)) for e in range(edges)]
    for e, block in enumerate(blocks):
        _join(graph, "cloud", f"edge-{e}", trunk or link)
        for host in block:
            _join(graph, f"edge-{e}", host, link)
    servers = tuple(f"edge-{e}" for e in range(edges))
    return Network(graph, _flat(blocks), tuple(blocks), cloud="cloud", edges=servers, name=f"tree:{edges}")


def ring(hosts: int, *, link: Link = LINK) -> Network:
    """Every host joined to the next, the last to the first.

    >>> len(ring(5).arcs)
    10
    """
    check_links("hosts", hosts, _some(hosts), fits=MOST_LINKS)
    graph: Graph = nx.Graph()
    names = [f"host-{i}" for i in range(hosts)]
    graph.add_node(names[0])
    for a, b in zip(names, names[1:] + names[:1], strict=True):
        if a != b:
            _join(graph, a, b, link)
    return Network(graph, tuple(names), name="ring")


def from_graph(graph: Graph, *, link: Link | None = None, name: str = "graph") -> Network:
    """Any networkx graph, as it is: numbers or text with units in `capacity` and `latency` of its edges.

    A node may have a `role`: host, switch, edge or cloud; where no node has one, every node is a host. Hosts at the
    same switch or edge stand together. `link` gives the capacity and latency that an edge does not have itself;
    `name` is what errors and `covey price` call the network.
    """
    graph = graph.copy()
    if link is not None:
        for _, _, data in graph.edges(data=True):
            data.setdefault("capacity", link.capacity)
            data.setdefault("latency", link.latency)
    roles: dict[str, list[Node]] = {"host": [], "switch": [], "edge": [], "cloud": []}
    given = {node: data.get("role") for node, data in graph.nodes(data=True)}
    for node, role in given.items():
        role = role or ("switch" if any(given.values()) else "host")
        if role not in roles:
            raise BadData(f"node {node} of {name} has role {role!r}; allowed is host, switch, edge or cloud")
        roles[role].append(node)
    if len(roles["cloud"]) > 1:
        raise BadData(f"{name} has {len(roles['cloud'])} nodes with role cloud; allowed is one")
    hosts = tuple(roles["host"])
    together: dict[Node, list[Node]] = {}
    for host in hosts:
        above = [near for near in graph[host] if given[near] in ("switch", "edge")]
        together.setdefault(above[0] if above else None, []).append(host)
    cloud = roles["cloud"][0] if roles["cloud"] else None
    return Network(graph, hosts, tuple(map(tuple, together.values())), cloud, tuple(roles["edge"]), name)


def _join(graph: Graph, a: str, b: str, link: Link) -> None:
    graph.add_edge(a, b, capacity=link.capacity, latency=link.latency)


def _some(hosts: int) -> int:
    if hosts < 1:
        raise BadValue("hosts", hosts, "a whole number from 1 up")
    return hosts


def _flat(blocks: Iterable[Sequence[Node]]) -> tuple[Node, ...]:
    return tuple(host for block in blocks for host in block)
