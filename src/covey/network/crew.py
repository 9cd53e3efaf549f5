"""Who runs on what, who is slow today, who is awake: a mix of devices, stragglers, availability windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.network.devices import Device, device
from covey.words import number

DAY = 86_400.0

_LARGE = 1e200  # shares whose sum, times clients, might not be finite


def mix(shares: str | Mapping[str, float], clients: int, rng: np.random.Generator) -> tuple[Device, ...]:
    """A device for each of this many `clients`: as many of each kind as the `shares` say, dealt out at random.

    Shares are relative. What does not come out even goes to the kinds with the largest remainders.

    >>> crew = mix("phone-5gflops:3,phone-250gflops:1", 10, np.random.default_rng(0))
    >>> sum(d.name == "phone-5gflops" for d in crew), len(crew)
    (8, 10)
    """
    table = _shares(shares) if isinstance(shares, str) else dict(shares)
    weights = np.array(list(table.values()), dtype=np.float64)
    if not len(weights) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.max() > 0):
        raise BadValue("device", shares, "names with shares from 0 up, at least one above 0, as name:share,name:share")
    if weights.max() > _LARGE:
        weights /= weights.max()
    exact = clients * weights / weights.sum()
    counts = np.floor(exact).astype(np.int64)
    for kind in np.argsort(counts - exact, kind="stable")[: clients - counts.sum()]:
        counts[kind] += 1
    kinds = [device(name) for name in table]
    return tuple(kinds[k] for k in rng.permutation(np.repeat(np.arange(len(kinds)), counts)))


def _shares(text: str) -> dict[str, float]:
    table: dict[str, float] = {}
    for part in text.split(","):
        name, colon, share = (piece.strip() for piece in part.partition(":"))
        if name in table:
            raise BadValue("device", text, f"a mix that has {name!r} once")
        table[name] = number(share, f"share of {name}") if colon else 1.0
    return table


def stragglers(clients: int, *, share: float, slowdown: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """How many times as long every client takes: `slowdown` for that share of the clients, drawn at random, else 1.

    >>> sorted(stragglers(4, share=0.5, slowdown=3, rng=np.random.default_rng(0)).tolist())
    [1.0, 1.0, 3.0, 3.0]
    """
    if not 0 <= share <= 1:
        raise BadValue("share of stragglers", share, "a number from 0 to 1")
    if not (math.isfinite(slowdown) and slowdown >= 1):
        raise BadValue("slowdown", slowdown, "a number from 1 up")
    factors = np.ones(clients)
    factors[rng.choice(clients, round(share * clients), replace=False)] = slowdown
    return factors


@dataclass(frozen=True)
class Windows:
    """The day is cut into `parts` equal windows; client i is awake in window `window_of[i]` only, every day.

    >>> windows = Windows([0, 1], parts=2, day=10.0)
    >>> windows.awake(0, 3.0), windows.awake(1, 3.0), windows.next_awake(1, 3.0)
    (True, False, 5.0)
    """

    window_of: Sequence[int] | NDArray[np.int64]
    parts: int
    day: float = DAY

    def __post_init__(self) -> None:
        if self.parts < 1 or not (math.isfinite(self.day) and self.day > 0):
            raise BadValue("availability", (self.parts, self.day), "1 or more windows in a day longer than 0 s")
        if len(self.window_of) and not 0 <= min(self.window_of) <= max(self.window_of) < self.parts:
            raise BadValue("window_of", list(self.window_of), f"windows from 0 to {self.parts - 1}")

    def awake(self, client: int, time: float) -> bool:
        """Whether that client is awake then."""
        return self.next_awake(client, time) == time

    def next_awake(self, client: int, time: float) -> float:
        """The first moment from `time` on in which that client is awake."""
        return max(time, self._window(client, time) * self._length)

    def finish(self, client: int, time: float, seconds: float) -> float:
        """When work of this many seconds is over that begins at `time` and pauses while the client sleeps.

        >>> Windows([0], parts=2, day=10.0).finish(0, 4.0, 3.0)  # 1 s until 5, then 2 s from 10 on
        12.0
        """
        window, begin = self._window(client, time), self.next_awake(client, time)
        room = (window + 1) * self._length - begin
        if seconds <= room:
            return begin + seconds
        days = math.ceil((seconds - room) / self._length)  # further windows, the last of which may end with the work
        rest = seconds - room - (days - 1) * self._length
        return (window + days * self.parts) * self._length + rest

    @property
    def _length(self) -> float:
        return self.day / self.parts

    def _window(self, client: int, time: float) -> int:
        """The number, counted from time 0, of the client's window that is open at `time`, or else of its next."""
        day = math.floor(time / self.day) - 1
        while (day * self.parts + self.window_of[client] + 1) * self._length <= time:
            day += 1
        return int(day * self.parts + self.window_of[client])
