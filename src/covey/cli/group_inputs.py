"""What `covey group` reads beside the fleet: distances, updates, and options of a method as texts."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadData, BadValue
from covey.grouping import GROUPINGS, EdgeHops, options
from covey.grouping.table import ClientTable, load_array, read_csv, read_distances
from covey.memory import free_memory, gigabytes


def read_network(network: str | None, fleet: ClientTable) -> NDArray[np.float64] | EdgeHops | None:
    """The table of distances that a file holds; hops through a network; 2 or 4 hops by shared edge or not."""
    if network is None:
        return None
    if network == "edges":
        if fleet.edges is None:
            raise BadValue("network", "edges", "a file or a topology, since no edges are given")
        return EdgeHops(fleet.edges)
    _check_pairs(network, len(fleet.names))
    is_file = network.endswith((".csv", ".graphml"))
    if network.endswith(".csv") and "source" not in read_csv(network)[0]:
        return read_distances(network, fleet.names)
    from covey.network import Link, hop_matrix, network_from, place, read

    if not is_file:
        edge_of = [0] * len(fleet.names) if fleet.edges is None else fleet.edges.tolist()
        return place(network_from(network, edge_of), edge_of).hops().astype(np.float64)
    found = read(Path(network), link=Link())
    for name in fleet.names:
        if name not in found.number:
            raise BadData(f"{network}: client {name!r} is not a node of the network")
    return hop_matrix(found, fleet.names).astype(np.float64)


def read_updates(path: Path | None) -> NDArray[np.float64] | None:
    """One update per client, from a .npy file."""
    if path is None:
        return None
    found = np.asarray(load_array(path), dtype=np.float64)
    if found.ndim != 2:
        raise BadData(f"{path}: an array of shape {found.shape}, not a table with one row per client")
    return found


def pairs(given: Sequence[str]) -> dict[str, str]:
    """`["deal=assign"]` as a dictionary."""
    for text in given:
        if "=" not in text:
            raise BadValue("option", text, "a name, an equals sign and a value, as deal=assign")
    return {name.strip().replace("-", "_"): value.strip() for name, _, value in (text.partition("=") for text in given)}


def value(method: str, option: str, text: str) -> Any:
    """The text as the kind of value that the option has by default; a number if it is one where it has none."""
    if option not in options(method):
        return text
    default = inspect.signature(GROUPINGS[method]).parameters[option].default
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        truths = {"true": True, "false": False}
        if text.lower() not in truths:
            raise BadValue(option, text, "true or false")
        return truths[text.lower()]
    kinds: tuple[type, ...] = (int,) if isinstance(default, int) else (float,) if default is not None else (int, float)
    for kind in kinds:
        with suppress(ValueError):
            return kind(text)
    raise BadValue(option, text, "a whole number" if kinds == (int,) else "a number")


def _check_pairs(network: str, clients: int) -> None:
    """Refuse distances between more clients than a table of all pairs has room for."""
    needed, free = 24.0 * clients**2, free_memory()  # a table, a copy in the order of the grouping, and one to sort
    if free is not None and needed > free:
        most = int((free / 24) ** 0.5)
        allowed = f"'edges' for {clients:,} clients: a table of all pairs takes {gigabytes(needed)}"
        raise BadValue("network", network, f"{allowed}, and {gigabytes(free)} are free, enough for {most:,} clients")
