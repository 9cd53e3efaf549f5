"""The one way to call a grouping by its name, whatever it needs.

Functions called directly draw clients by their index. `group` first puts the clients in an order that depends
on what they hold and not on how they are listed, so the same fleet in another order gets the same groups,
renamed (up to an exchange of clients that are alike in everything the grouping looks at).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, INPUTS, Grouping, Labels, check_labels, how_many
from covey.grouping.estimate import check_memory
from covey.grouping.hops import EdgeHops
from covey.grouping.per_edge import per_edge


def group(
    name: str,
    labels: ArrayLike,
    *,
    rng: np.random.Generator,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    within_edges: bool | None = None,
    **extras: Any,
) -> Grouping:
    """Group clients by the method of that name; the order in which clients are listed does not matter.

    `groups` is how many groups, `min_size` and `max_size` how many clients a group has at least and at most.
    `within_edges`: True keeps groups inside `edges` whatever the method, False lets them cross edges; by default
    methods that know edges (`keeps_to_edges`) keep to those that are given, and the others do not look at them.

    Of the `INPUTS` a method gets those it takes, so a caller can pass whatever it has; any other extra is an
    option of that method and must be one it knows.

    >>> labels = [[9, 0], [0, 9], [9, 0], [0, 9]]
    >>> grouping = group("cov", labels, min_size=2, rng=np.random.default_rng(0))
    >>> grouping.sums(labels).tolist()
    [[9, 9], [9, 9]]
    """
    method = GROUPINGS[name]
    labels = check_labels(labels)
    how_many(len(labels), groups, min_size, max_size)
    given = _check_inputs(len(labels), {k: v for k, v in extras.items() if v is not None})
    edges = given.get("edges")
    if within_edges and edges is None:
        raise BadValue("within_edges", True, "False where no edges are given")
    if within_edges is False and "edges" not in missing(name, {}):
        given.pop("edges", None)
    for need in missing(name, given):
        raise BadValue(need, None, f"{INPUTS.get(need, 'a value')}, which grouping {name!r} needs")
    accepted = inspect.signature(method).parameters
    for option in given.keys() - INPUTS.keys() - accepted.keys():
        allowed = f"one that grouping {name!r} has: {', '.join(options(name)) or 'none'}"
        raise BadValue("option", option, allowed)
    for option in given.keys() - INPUTS.keys():
        if isinstance(given[option], float) and not math.isfinite(given[option]):
            raise BadValue(option, given[option], "a finite number")
    if max_size is not None and "max_size" not in accepted:
        raise BadValue("max_size", max_size, f"nothing for grouping {name!r}, which knows no limit")
    inside = edges if within_edges and not keeps_to_edges(name) else None
    given = {k: v for k, v in given.items() if k in accepted}
    places = inside if inside is not None else given.get("edges")
    check_memory(name, labels.shape, how_many(len(labels), groups, min_size, max_size), places=places, **given)
    order = _order(labels, given if inside is None else {**given, "edges": inside})

    def form(at: NDArray[np.int64], groups: int | None, least: int, rng: np.random.Generator) -> Grouping:
        own = {k: _taken(k, v, at) if k in INPUTS else v for k, v in given.items()}
        limit = {} if max_size is None else {"max_size": max_size}  # a grouping of one's own need not know it
        return method(labels[at], groups=groups, min_size=min_size, rng=rng, **limit, **own)

    if inside is None:
        found = form(order, groups, 1, rng).renamed(order)
    else:
        at = inside[order]
        found = per_edge(form, order, edges=at, groups=groups, min_size=min_size, max_size=max_size, rng=rng)
    return _check_sizes(name, found, min_size, max_size)


def missing(name: str, given: Mapping[str, object]) -> list[str]:
    """What the grouping of that name needs and `given` does not hold."""
    return [
        p.name
        for p in inspect.signature(GROUPINGS[name]).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name != "rng" and given.get(p.name) is None
    ]


def options(name: str) -> list[str]:
    """The options that are the method's own."""
    common = {"groups", "min_size", "max_size", "rng", *INPUTS}
    parameters = inspect.signature(GROUPINGS[name]).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in common]


def keeps_to_edges(name: str) -> bool:
    """Whether that grouping looks at edges, and so keeps its groups inside them.

    >>> keeps_to_edges("cov"), keeps_to_edges("random")
    (True, False)
    """
    return "edges" in inspect.signature(GROUPINGS[name]).parameters


def _taken(name: str, table: Any, at: NDArray[np.int64]) -> Any:
    """An input for the clients `at` alone."""
    if isinstance(table, EdgeHops):
        return table.taken(at)
    return table[np.ix_(at, at)] if name == "distances" else table[at]


def _check_inputs(n: int, given: dict[str, Any]) -> dict[str, Any]:
    shapes = {"edges": "n", "sizes": "n", "distances": "n x n", "updates": "n x d"}
    if "names" in given:
        given["names"] = np.asarray(given["names"], dtype=np.str_)
        if given["names"].shape != (n,):
            raise BadValue("names", given["names"].shape, f"shape n for n = {n} clients")
    for name in given.keys() & shapes.keys():
        if isinstance(given[name], EdgeHops):
            if name != "distances" or len(given[name].edge_of) != n:
                raise BadValue(name, given[name], f"one for n = {n} clients")
            continue
        table = np.asarray(given[name])
        if table.dtype.kind not in ("iub" if name == "edges" else "iubf"):
            raise BadValue(name, str(table.dtype), "whole numbers" if name == "edges" else "numbers")
        square = table.shape[-1:] == (n,) or name == "updates"
        if table.ndim != len(shapes[name].split(" x ")) or len(table) != n or not square:
            raise BadValue(name, table.shape, f"shape {shapes[name]} for n = {n} clients")
        if not np.isfinite(table).all():
            raise BadValue(name, "not finite", "finite numbers")
        given[name] = table.astype(np.int64 if name == "edges" else np.float64)
    return given


def _check_sizes(name: str, found: Grouping, min_size: int | None, max_size: int | None) -> Grouping:
    """The grouping, or `BadValue` for a method that does not keep to the sizes asked for."""
    sizes = found.sizes
    if min_size is not None and len(sizes) and sizes.min() < min_size:
        raise BadValue("min_size", min_size, f"at most {sizes.min()} here: grouping {name!r} does not keep to it")
    if max_size is not None and len(sizes) and sizes.max() > max_size:
        raise BadValue("max_size", max_size, f"at least {sizes.max()} here: grouping {name!r} does not keep to it")
    return found


def _order(labels: Labels, given: Mapping[str, Any]) -> NDArray[np.int64]:
    """Clients by a hash of all that is known of them: a fixed order that ignores how they are listed."""
    given = {name: given[name] for name in sorted(given.keys() & INPUTS.keys()) if name != "names"}
    if "distances" in given:
        given["distances"] = _as_listed_by_nobody(given["distances"])
    tables = [np.ascontiguousarray(t.reshape(len(labels), -1)) for t in (labels, *given.values())]
    hashes = []
    for rows in zip(*tables, strict=True):
        client = blake2b(digest_size=8)
        for row in rows:
            client.update(row)
        hashes.append(int.from_bytes(client.digest(), "little"))
    return np.argsort(np.array(hashes, dtype=np.uint64), kind="stable")


def _as_listed_by_nobody(distances: Any) -> NDArray[Any]:
    """What a client's distances say of it, however the others are listed."""
    if isinstance(distances, EdgeHops):
        return np.bincount(distances.edge_of)[distances.edge_of]
    return np.sort(distances, axis=1)
