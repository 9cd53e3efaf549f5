"""Tables: fleets for `covey group`, distances, updates, and networks as CSV or GraphML."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from hypothesis import strategies as st

from covey.grouping import GROUPINGS, options
from tools.call import SMALL
from tools.fuzz import odd
from tools.fuzz.case import Case
from tools.fuzz.damage import damaged

Draw = Callable[[st.SearchStrategy[Any]], Any]

COUNTS = ["0", "1", "2", "3", "5", "8", "13", "60", "1000", "3.0", "999999999999999", "1e3", "-1", "", "x", "0.5"]
NUMBERS = {
    "min-size": (["1", "2", "3"], ["0", "-1", "99", "9" * 20, "x"]),
    "groups": (["1", "2", "3", "auto"], ["0", "-1", "99", "9" * 20, "٣", "²", "x"]),
    "epsilon": (["1", "0.1", "10"], ["0", "-1", "nan", "inf", "1e-300", "1e300"]),
    "search": (["0", "1", "3"], ["-1", "9" * 20, "x"]),
    "seed": (["0", "1", "7"], ["-1", "9" * 30, "x"]),
}
STRANGE = ["table", "table", "bytes", "bytes", "method", "network", "updates", "option", *NUMBERS]
SPEEDS = ["1e6", "10MB/s", "1Gbit/s", "1000", "", "0", "-1", "nan", "inf", "1e400", "x", "1e-300"]
DELAYS = ["0.001", "1ms", "0", "", "-1", "nan", "x", "1e308", "2us"]
ROLES = ["host", "switch", "edge", "cloud", "", "x"]


def csv_bytes(rows: list[list[str]]) -> bytes:
    """The rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode(errors="surrogatepass")


@st.composite
def fleet_rows(draw: Draw, *, plain: bool = False) -> list[list[str]]:
    """A header and up to twelve clients."""
    labels = draw(st.integers(1, 5))
    clients = draw(st.integers(2, 12))
    edges = draw(st.booleans())
    usual = st.sampled_from(COUNTS[:9])
    rows = [["client", *(f"l{c}" for c in range(labels)), *(["edge"] if edges else [])]]
    rows += [
        [f"c{i}", *(draw(usual) for _ in range(labels)), *([draw(st.sampled_from("abc"))] if edges else [])]
        for i in range(clients)
    ]
    if not plain:
        for _ in range(draw(st.integers(0, 3))):
            row = draw(st.integers(0, clients))
            rows[row][draw(st.integers(0, len(rows[row]) - 1))] = draw(st.one_of(st.sampled_from(COUNTS), odd.texts))
    return rows


@st.composite
def fleets(draw: Draw) -> Case:
    """`covey group` on a fleet, with the options it has; one thing is odd, or two, or nothing."""
    strange = draw(st.lists(st.sampled_from(STRANGE), max_size=2, unique=True))
    rows = draw(fleet_rows(plain="table" not in strange))
    files: dict[str, bytes | str] = {"fleet.csv": csv_bytes(rows)}
    if "bytes" in strange:
        files["fleet.csv"] = draw(damaged(csv_bytes(rows)))
    method = draw(st.sampled_from(["all", "covv", "", "[/s]"] if "method" in strange else GROUPINGS.names))
    words = ["group", "fleet.csv", "--method", method]
    for option, (usual, unusual) in NUMBERS.items():
        fits = option != "search" or (method in GROUPINGS and "search" in options(method))
        if option in strange or (fits and draw(st.integers(0, 3)) == 0):
            words += [f"--{option}={draw(st.sampled_from(unusual if option in strange else usual))}"]
    network = draw(st.sampled_from(["distances.csv", "star", "tree:2", *(["edges"] if "edge" in rows[0] else [])]))
    if "network" in strange:
        network = draw(st.sampled_from(["distances.csv", "edges", "fat-tree:2", "fat-tree:300", "tree:0", "x.graphml"]))
    if "network" in strange or draw(st.booleans()):
        words += ["--network", network]
        files["distances.csv"] = draw(distances([row[0] for row in rows[1:]], plain="network" not in strange))
    if "updates" in strange or draw(st.booleans()):
        words += ["--updates", "updates.npy"]
        files["updates.npy"] = draw(updates(len(rows) - 1, plain="updates" not in strange))
    known = sorted(options(method)) if method in GROUPINGS else []
    if known and ("option" in strange or draw(st.booleans())):
        value = odd.texts if "option" in strange else st.sampled_from(["1", "2", "3", "0.5", "true"])
        words += ["--option", f"{draw(st.sampled_from(known))}={draw(value)}"]
    words += draw(st.sampled_from([["--json"], [], ["--out", "groups.csv"], ["--json", "--out", "groups.csv"]]))
    return Case("csv", tuple(word.replace("\0", "") for word in words), files)


@st.composite
def distances(draw: Draw, names: list[str], *, plain: bool) -> bytes:
    """A table of distances between those clients."""
    rows = [["", *names]]
    rows += [[name, *(draw(st.sampled_from(["0", "1", "2", "4.5"])) for _ in names)] for name in names]
    if plain:
        return csv_bytes(rows)
    for _ in range(draw(st.integers(0, 2))):
        row = rows[draw(st.integers(0, len(rows) - 1))]
        row[draw(st.integers(0, len(row) - 1))] = draw(odd.texts)
    content = csv_bytes(rows)
    return draw(damaged(content)) if draw(st.integers(0, 2)) == 0 else content


@st.composite
def updates(draw: Draw, clients: int, *, plain: bool) -> bytes:
    """An array of updates, or nearly."""
    shapes = [(clients, 3), (clients, 1), (clients + 1, 2), (clients,), (0, 3), (clients, 0)]
    shape = (clients, 3) if plain else draw(st.sampled_from(shapes))
    kind = draw(st.sampled_from(["f8", "f4", "i8"] if plain else ["f8", "f4", "i8", "?", "c8", "U3", "M8[s]"]))
    array = (np.arange(int(np.prod(shape))) ** 2 % 7).reshape(shape).astype(kind)
    if not plain and array.dtype.kind == "f" and array.size:
        array.flat[0] = draw(st.sampled_from([0.0, np.nan, np.inf, 3e38]))
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue() if plain or draw(st.booleans()) else draw(damaged(file.getvalue()))


@st.composite
def networks(draw: Draw) -> Case:
    """A network file for `covey group`, `price` and `run`."""
    hosts = draw(st.integers(2, 6))
    switches = [f"s{k}" for k in range(draw(st.integers(1, 3)))]
    usual = st.tuples(st.sampled_from(SPEEDS[:5]), st.sampled_from(DELAYS[:4]))
    links = [[f"c{i}", draw(st.sampled_from(switches)), *draw(usual)] for i in range(hosts)]
    links += [[a, b, *draw(usual)] for a, b in pairwise(switches)]
    strange = draw(st.sampled_from(["", "", "cells", "roles", "bytes"]))
    for _ in range(draw(st.integers(1, 3)) if strange == "cells" else 0):
        row, column = draw(st.sampled_from(links)), draw(st.integers(0, 3))
        pool = (odd.texts, odd.texts, st.sampled_from(SPEEDS), st.sampled_from(DELAYS))[column]
        row[column] = draw(st.one_of(pool, odd.texts))
    own, others = (ROLES, ROLES) if strange == "roles" else (["host"], ["switch", "edge"])
    roles = {f"c{i}": draw(st.sampled_from(own)) for i in range(hosts)}
    roles |= {name: draw(st.sampled_from(others)) for name in switches}
    name = draw(st.sampled_from(["net.csv", "net.graphml"]))
    content = (_as_csv if name == "net.csv" else _as_graphml)(links, roles, with_roles=draw(st.booleans()))
    if strange == "bytes":
        content = draw(damaged(content))
    files: dict[str, bytes | str] = {name: content}
    clients = str(draw(st.integers(2, hosts)))
    small = [word for key, value in SMALL.items() if key != "clients" for word in (f"--{key}", str(value))]
    if draw(st.integers(0, 2)) == 0:
        files["fleet.csv"] = csv_bytes([["client", "a", "b"], *([f"c{i}", "1", "2"] for i in range(hosts))])
        method = draw(st.sampled_from(["kmedoids", "ihc", "random"]))
        words = ["group", "fleet.csv", "--method", method, "--network", name, "--json"]
    else:
        words = [
            draw(st.sampled_from(["price", "run"])),
            draw(st.sampled_from(["fedavg", "ring", "star-stars", "ihc-fl"])),
        ]
        words += [*small, "--clients", clients, "--network", name, "--json"]
    return Case("network", tuple(words), files)


def _as_csv(links: list[list[str]], roles: dict[str, str], *, with_roles: bool) -> bytes:
    header = ["source", "target", "capacity", "latency", *(["source_role", "target_role"] if with_roles else [])]
    return csv_bytes(
        [header, *([*row, *([roles.get(end, "") for end in row[:2]] if with_roles else [])] for row in links)]
    )


def _as_graphml(links: list[list[str]], roles: dict[str, str], *, with_roles: bool) -> bytes:
    keys = "".join(f'<key id="{k}" for="edge" attr.name="{k}" attr.type="string"/>' for k in ("capacity", "latency"))
    keys += '<key id="role" for="node" attr.name="role" attr.type="string"/>'
    nodes = dict.fromkeys([*roles, *(end for row in links for end in row[:2])])
    body = "".join(
        f"<node id={quoteattr(name)}>"
        + (f'<data key="role">{roles[name]}</data>' if with_roles and roles.get(name) else "")
        + "</node>"
        for name in nodes
    )
    for a, b, capacity, latency in links:
        data = "".join(f'<data key="{k}">{v}</data>' for k, v in (("capacity", capacity), ("latency", latency)) if v)
        body += f"<edge source={quoteattr(a)} target={quoteattr(b)}>{data}</edge>"
    space = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
    return f'<graphml {space}>{keys}<graph edgedefault="undirected">{body}</graph></graphml>'.encode(
        errors="surrogatepass"
    )
