"""Networks by name, `fat-tree:10`, `jellyfish:20,4`, `star`, `tree:10`, `ring`, or from a .csv or .graphml file.

A CSV file has the columns source, target, capacity, latency, one line a link, full duplex, and may have source_role and
target_role (host, switch, edge or cloud). Numbers without a unit are bytes per second and seconds.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx
import numpy as np

from covey.errors import BadData, BadValue
from covey.network.topology import Graph, Link, Network, fat_tree, from_graph, jellyfish, ring, star, tree
from covey.seeds import generator

NAMES = "fat-tree:PODS, jellyfish:SWITCHES,DEGREE[,HOSTS], star, ring, tree:EDGES, or a .csv or .graphml file"


def network_from(
    text: str,
    edge_of: Sequence[int],
    *,
    link: Link | None = None,
    trunk: Link | None = None,
    seed: int = 0,
) -> Network:
    """The network that `text` names, with room for clients at the edges `edge_of`.

    `trunk` joins switches, `link` hosts to them; a file's links keep what the file says.

    >>> network_from("tree:2", [0, 0, 1]).blocks
    (('host-0-0', 'host-0-1'), ('host-1-0', 'host-1-1'))
    >>> network_from("fat-tree:4", range(17))
    Traceback (most recent call last):
    covey.errors.BadValue: network is 'fat-tree:4'; allowed is one with a host for each of 17 clients (it has 16 hosts)
    """
    clients, wire = len(edge_of), link or Link()
    name, _, rest = text.partition(":")
    if Path(text).suffix.lower() in _READERS:
        made = read(Path(text), link=link)
    elif name == "fat-tree":
        made = fat_tree(*_numbers(text, rest, 1, 1), link=wire, trunk=trunk)
    elif name == "jellyfish":
        switches, degree, *hosts = _numbers(text, rest, 2, 3)
        enough = hosts[0] if hosts else math.ceil(clients / max(switches, 1))
        made = jellyfish(switches, degree, enough, rng=generator(seed, "jellyfish"), link=wire, trunk=trunk)
    elif name == "tree":
        (edges,) = _numbers(text, rest, 1, 1)
        sizes = np.bincount(np.asarray(edge_of, dtype=np.int64))
        enough = int(sizes.max()) if len(sizes) == edges else math.ceil(clients / max(edges, 1))
        made = tree(edges, enough, link=wire, trunk=trunk)
    elif text in ("star", "ring"):
        made = (star if text == "star" else ring)(clients, link=wire)
    else:
        raise BadValue("network", text, NAMES)
    if len(made.hosts) < clients:
        allowed = f"one with a host for each of {clients} clients (it has {len(made.hosts)} hosts)"
        raise BadValue("network", text, allowed)
    return made


def read(path: Path, *, link: Link | None = None) -> Network:
    """A network from a .csv or .graphml file; `link` is for links that do not say their capacity and latency."""
    if path.suffix.lower() not in _READERS:
        raise BadValue("network", str(path), NAMES)
    try:
        graph = _READERS[path.suffix.lower()](path)
    except (OSError, UnicodeDecodeError, csv.Error, ParseError, nx.NetworkXError, KeyError) as problem:
        raise BadData(f"network file {path} cannot be read: {problem}") from problem
    return from_graph(graph, link=link, name=str(path))


def _read_csv(path: Path) -> Graph:
    graph: Graph = nx.Graph()
    with path.open(newline="", encoding="utf-8-sig") as lines:
        rows = csv.DictReader(lines, skipinitialspace=True)
        if not {"source", "target"} <= set(rows.fieldnames or ()):
            raise BadData(f"network file {path} needs the columns source,target,capacity,latency in its first line")
        for row in rows:
            ends = row["source"], row["target"]
            if not all(ends) or graph.has_edge(*ends):
                raise BadData(
                    f"line {rows.line_num} of {path} needs a source and a target that no line has joined before"
                )
            graph.add_edge(*ends, **{key: _number(row[key]) for key in ("capacity", "latency") if row.get(key)})
            for node, role in zip(ends, (row.get("source_role"), row.get("target_role")), strict=True):
                if role:
                    graph.nodes[node]["role"] = role
    return graph


def _read_graphml(path: Path) -> Graph:
    graph: Graph = nx.read_graphml(path)
    for _, _, data in graph.edges(data=True):
        data.update({key: _number(data[key]) for key in ("capacity", "latency") if key in data})
    return graph


_READERS: dict[str, Callable[[Path], Graph]] = {".csv": _read_csv, ".graphml": _read_graphml}


def _number(text: Any) -> Any:
    """A number where the text is one, so that a file may leave out the units."""
    try:
        return float(text)
    except ValueError:
        return text


def _numbers(text: str, rest: str, least: int, most: int) -> list[int]:
    parts = rest.split(",") if rest else []
    if not least <= len(parts) <= most or not all(part.strip().isdecimal() for part in parts):
        raise BadValue("network", text, NAMES)
    return [int(part) for part in parts]
