"""How flows share links: max-min fair, by progressive filling.

Bertsekas, Gallager, "Data Networks", 2nd edition, 1992, Section 6.5.2. All rates rise together until a link is full;
its flows are held there and the others rise on. In the result every flow has a bottleneck: a full link on which no
other flow is faster. Two facts make it fast, and both are exact:

- A link whose equal share is below that of every link its flows also cross is full next, whatever happens elsewhere.
  All such links are settled in one vectorised step, so the steps follow the longest chain of dependent links, not the
  number of rates.
- A flow that leaves while it had rate r changes no rate below r. A flow that comes changes no rate below the least
  capacity / flows on its links. Only rates from there up are filled again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_REBUILD = 256  # refills between two sums of all loads, which keeps rounding from adding up


def max_min(paths: Ints, capacity: Floats) -> Floats:
    """Max-min fair rates of flows whose links are the columns of `paths`; short paths repeat the last link number.

    The last link must be a dummy of infinite capacity.

    >>> max_min(np.array([[0, 0, 1], [1, 2, 2]]), np.array([6.0, 10.0, np.inf])).tolist()
    [3.0, 3.0, 7.0]
    """
    rates = np.empty(paths.shape[1])
    fill(paths, capacity, np.arange(paths.shape[1]), rates)
    return rates


def fill(paths: Ints, capacity: Floats, flows: Ints, rates: Floats) -> None:
    """Write the max-min fair rates of `flows`, whose links are the columns of `paths`, into `rates`."""
    users = np.bincount(paths.ravel(), minlength=len(capacity))
    used = users.nonzero()[0]
    renumber = np.empty(len(capacity), dtype=np.int64)
    renumber[used] = np.arange(len(used))
    paths, users, left = renumber[paths], users[used], capacity[used]
    with np.errstate(divide="ignore", invalid="ignore"):  # links that no open flow crosses any more
        while len(flows):
            shares = (left / users)[paths]
            least = shares.min(axis=0)
            tight = (shares == least).ravel().nonzero()[0]
            links = paths.ravel()[tight]
            full = np.bincount(links, minlength=len(left)) == users  # none of its flows is held back elsewhere
            held = np.zeros(len(flows), dtype=bool)
            held[tight[full[links]] % len(flows)] = True
            settled, rising = held.nonzero()[0], (~held).nonzero()[0]
            rates[flows[settled]] = least[settled]
            gone = paths.take(settled, axis=1)
            left = left - loads(gone, least[settled], len(left))
            users = users - np.bincount(gone.ravel(), minlength=len(left))
            paths, flows = paths.take(rising, axis=1), flows[rising]


def loads(paths: Ints, rates: Floats, links: int) -> Floats:
    """Bytes per second on each of this many links."""
    weights = np.concatenate((rates,) * len(paths))
    return np.bincount(paths.ravel(), weights, minlength=links).astype(np.float64, copy=False)


class FairShares:
    """The rates of the flows under way, kept max-min fair as flows come and go.

    Flows have slots 0 to `count` - 1; `remove` moves the last flows into the slots it empties. `rates` is right after
    `refill`.
    """

    def __init__(self, capacity: Floats) -> None:
        self.count = 0
        self.load = np.zeros(len(capacity) + 1)
        self._dummy = len(capacity)
        self._capacity = np.append(capacity, np.inf)
        self._users = np.zeros(len(capacity) + 1, dtype=np.int64)
        self._paths = np.full((1, 16), self._dummy, dtype=np.int64)
        self._rates = np.zeros(16)
        self._level = np.inf  # no rate below this can have changed
        self._refills = 0

    @property
    def rates(self) -> Floats:
        """Bytes per second of the flow in each slot."""
        return self._rates[: self.count]

    def add(self, path: Sequence[int]) -> None:
        """A flow over these links, in the next slot; it has no rate until `refill`."""
        deep, wide = self._paths.shape
        if len(path) > deep or self.count == wide:
            grow = ((0, max(len(path) - deep, 0)), (0, wide if self.count == wide else 0))
            self._paths = np.pad(self._paths, grow, constant_values=self._dummy)
            self._rates = np.pad(self._rates, grow[1])
        self._paths[: len(path), self.count] = path
        self._paths[len(path) :, self.count] = self._dummy
        self._rates[self.count] = np.inf  # marks a flow without a load yet
        self._users[list(path)] += 1
        self.count += 1

    def remove(self, slots: Ints) -> tuple[Ints, Ints]:
        """Take the flows in these slots away; returns the slots that were filled again, and from where."""
        paths, rates = self._paths[:, slots], self._rates[slots]
        self.load -= loads(paths, np.where(np.isinf(rates), 0.0, rates), len(self.load))
        self._users -= np.bincount(paths.ravel(), minlength=len(self.load))
        self._level = min(self._level, float(rates.min()))
        stays = np.ones(self.count, dtype=bool)
        stays[slots] = False
        self.count -= len(slots)
        holes, last = (~stays[: self.count]).nonzero()[0], stays[self.count :].nonzero()[0] + self.count
        self._paths[:, holes], self._rates[holes] = self._paths[:, last], self._rates[last]
        return holes, last

    def refill(self) -> None:
        """Make the rates fair again after flows came or went."""
        rates, paths = self.rates, self._paths[:, : self.count]
        new = paths[:, np.isinf(rates)]
        if new.size:
            fair = self._capacity[new] / np.maximum(self._users[new], 1)
            self._level = min(self._level, float(fair.min()))
        slots = (rates >= self._level * (1 - 1e-12)).nonzero()[0]
        self._level = np.inf
        if len(slots):
            ours = paths.take(slots, axis=1)
            before = rates[slots]
            before[np.isinf(before)] = 0.0
            self.load -= loads(ours, before, len(self.load))
            fill(ours, self._capacity - self.load, slots, rates)
            self.load += loads(ours, rates[slots], len(self.load))
            self._refills += 1
        if self._refills % _REBUILD == 0 or not self.count:
            self.load = loads(paths, rates, len(self.load))
