"""How long a grouping takes and how much memory, before it starts.

Formulas are the methods' own complexities; their constants were measured on one thread of a laptop-class processor
(`python -m benchmarks.grouping --large` prints what they are worth), so seconds are good to a factor of three or so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.hops import EdgeHops
from covey.memory import free_memory, gigabytes


@dataclass(frozen=True)
class Size:
    """`clients` by `labels`, in `groups`; `width` numbers are compared of each; `table`: all pairs have a distance."""

    clients: int
    labels: int
    groups: int
    width: int
    table: bool = False
    search: int = 0
    candidates: int | None = None
    method: str = "search"


@dataclass(frozen=True)
class Needs:
    """What a grouping is expected to take."""

    seconds: float
    bytes: float


def _cov(s: Size) -> Needs:
    seen = min(s.clients, s.candidates or (s.clients if s.clients <= 20_000 else 1_000))
    step = 1.5e-5 + seen * (s.labels + 2) * 6e-10
    trade = 5e-5 + seen * (s.labels + 2) * 2.5e-9
    return Needs(s.clients * (step + s.search * trade), s.clients * (s.labels * 40 + 200))


def _qcid(s: Size) -> Needs:
    return Needs(s.clients * (1e-4 + s.clients / 2 * (2e-8 + s.labels * 1e-9)), s.clients * (s.labels * 30 + 200))


def _astraea(s: Size) -> Needs:
    return Needs(s.clients * (1e-4 + s.clients * s.labels * 2.5e-8), s.clients * s.labels * 80)


def _kldg(s: Size) -> Needs:
    return Needs(
        s.clients * (1e-4 + s.clients * s.labels * 3e-8), 8.2 * s.clients * s.groups + s.clients * s.labels * 40
    )


def _cdg(s: Size) -> Needs:
    return Needs(1 + s.clients * s.labels * (s.clients / s.groups) * 3e-7, s.clients * (s.labels * 40 + 200))


def _icg(s: Size) -> Needs:
    arcs = s.clients * max(1, s.clients // s.groups)
    return Needs(10 * arcs * 4e-7 + s.clients * 1e-5, arcs * 150 + s.clients * s.labels * 40)


def _insertion(s: Size, passes: int, width: int) -> Needs:
    step = 4e-5 + s.groups * (5e-9 + width * 2e-9)
    if s.table:
        step += s.clients * 1.5e-8
    held = 8 * s.clients * (3 * width + 20) + 24 * s.groups * width
    return Needs(s.clients * passes * step, held + (16 * s.clients**2 + 8 * s.clients * s.groups) * s.table)


def _kmedoids(s: Size) -> Needs:
    width = min(s.width, s.clients)
    square = 24 * s.clients**2 if s.width > s.clients else 0
    found = _insertion(s, 12 + 8 * s.search, width)
    held = found.bytes + square + 8 * s.clients * (s.width + 250)
    return Needs(found.seconds + 1e-10 * s.width * s.clients * width, held)


def _emd_iid(s: Size) -> Needs:
    return _insertion(s, 4, 2 * s.labels)


def _emd_cluster(s: Size) -> Needs:
    passes = 4
    return Needs(passes * s.clients * (1e-4 + s.clients * s.labels * 2.5e-8), s.clients * s.labels * 120)


def _ihc(s: Size) -> Needs:
    if s.method == "search" and s.clients > 2_000:
        tables = s.clients**2 * (2e-9 * s.width + 1e-8)
        return Needs(s.clients * 2.5e-3 + tables, 5e8 + s.clients * s.width * 24 + 8 * s.clients**2 * s.table)
    slow = {"search": 1.0, "exact": 10.0, "paper": 60.0}.get(s.method, 1.0)
    return Needs(slow * (0.1 + s.clients * 1e-3 + s.clients**2 * 2e-6), s.clients**2 * 200 + s.clients * s.width * 16)


def _pairs(s: Size) -> Needs:
    return Needs(s.clients**2 * (5e-8 + s.width * 1e-9), s.clients**2 * 40 + s.clients * s.width * 16)


def _fedclar(s: Size) -> Needs:
    found = _pairs(s)
    return replace(found, seconds=found.seconds + s.clients**3 * 1e-9 + s.clients**2 * s.width * 3e-9)


def _light(s: Size) -> Needs:
    return Needs(s.clients * 6e-6, s.clients * (s.labels * 24 + 250))


NEEDS: dict[str, Callable[[Size], Needs]] = {
    "random": _light,
    "edge": _light,
    "cov": _cov,
    "qcid": _qcid,
    "astraea": _astraea,
    "kldg": _kldg,
    "cdg": _cdg,
    "icg": _icg,
    "kmedoids": _kmedoids,
    "emd-iid": _emd_iid,
    "emd-cluster": _emd_cluster,
    "ihc": _ihc,
    "fl-hc": _pairs,
    "cfl": _pairs,
    "fedclar": _fedclar,
}


def size_of(
    shape: tuple[int, ...], groups: int, *, places: NDArray[np.int64] | None = None, **given: Any
) -> tuple[Size, int]:
    """What a grouping of that many clients by labels works on at a time, and how many times (once an edge)."""
    clients, labels = shape
    updates, distances = given.get("updates"), given.get("distances")
    most, times = clients, 1
    if places is not None:
        counts = np.unique(places, return_counts=True)[1]
        most, times = int(counts.max()), len(counts)
    table = distances is not None and not isinstance(distances, EdgeHops)
    width = labels if updates is None else int(np.shape(updates)[1])
    extra = {name: given[name] for name in ("search", "candidates", "method") if given.get(name) is not None}
    return Size(most, labels, max(1, round(groups * most / clients)), width, table, **extra), times


def estimate(name: str, size: Size, times: int = 1) -> Needs | None:
    """What the grouping of that name takes, `times` over one after the other; None for one that nothing is known of.

    >>> needs = estimate("ihc", Size(clients=1000, labels=10, groups=200, width=10))
    >>> 1 < needs.seconds < 10, needs.bytes < 1e9
    (True, True)
    """
    if name not in NEEDS:
        return None
    found = NEEDS[name](size)
    return Needs(found.seconds * times, found.bytes)


def check_memory(name: str, shape: tuple[int, ...], groups: int, **given: Any) -> None:
    """Refuse a grouping that would not fit into the memory that is free, and say how many clients would."""
    size, _ = size_of(shape, groups, **given)
    needs, free = estimate(name, size), free_memory()
    if needs is None or free is None or needs.bytes <= free:
        return
    most = fitting(name, size, lambda found: found.bytes <= free)
    where = "" if size.clients == shape[0] else " at one edge"
    allowed = f"at most about {most:,}{where} for grouping {name!r} in the {gigabytes(free)} of memory that are free"
    raise BadValue("clients", size.clients, f"{allowed} (these take {gigabytes(needs.bytes)})")


def fitting(name: str, size: Size, fits: Callable[[Needs], bool]) -> int:
    """How many clients in groups of the same size would fit, in round figures."""
    low, high = 1, size.clients
    while low < high:
        middle = (low + high + 1) // 2
        other = replace(size, clients=middle, groups=max(1, size.groups * middle // size.clients))
        low, high = (middle, high) if fits(NEEDS[name](other)) else (low, middle - 1)
    digits: int = 10 ** max(0, len(str(low)) - 2)
    return low // digits * digits
