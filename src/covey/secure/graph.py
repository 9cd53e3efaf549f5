"""Who shares secrets with whom: everybody with everybody, or with as many neighbours as grow with the logarithm.

Bell et al., "Secure Single-Server Aggregation with (Poly)Logarithmic Overhead", CCS 2020 (SecAgg+). The clients stand
in a ring in random order and each has its nearest `degree` clients as neighbours. `sparse` finds the smallest degree
with which, for clients that drop out or work together at random,

- clients that work together hold too few of anybody's shares to learn more than they should: not even if the server
  tells different clients different lists of who dropped out (2 threshold > degree + 1 + those of them that lie);
- the sum can be unmasked: enough of everybody's neighbours answer;
- clients that are left are still connected, so that nothing but the sum of all of them comes out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np

from covey.errors import BadValue

Neighbours = Mapping[int, tuple[int, ...]]
LEAKS = 2.0**-40  # chance that some client's secrets come out
FAILS = 2.0**-10  # chance that a sum is lost


def ring(clients: Sequence[int], degree: int, rng: np.random.Generator) -> dict[int, tuple[int, ...]]:
    """Everybody's neighbours: the nearest `degree` clients, an even number, in a ring of random order.

    >>> ring([4, 5, 6], 2, np.random.default_rng(0))
    {4: (5, 6), 5: (4, 6), 6: (4, 5)}
    """
    n = len(clients)
    if degree >= n - 1:
        return {u: tuple(v for v in clients if v != u) for u in clients}
    if degree < 2 or degree % 2:
        raise BadValue("neighbours", degree, "an even number from 2 up, or as many as there are other clients")
    order = [clients[j] for j in rng.permutation(n)]
    steps = [step for half in range(1, degree // 2 + 1) for step in (half, -half)]
    near = {u: tuple(sorted(order[(j + step) % n] for step in steps)) for j, u in enumerate(order)}
    return {u: near[u] for u in clients}


def connected(clients: Collection[int], neighbours: Neighbours) -> bool:
    """Whether these clients hang together through neighbours among themselves."""
    left = set(clients)
    waiting = [left.pop()] if left else []
    while waiting:
        near = left.intersection(neighbours[waiting.pop()])
        left -= near
        waiting += near
    return not left


@lru_cache(maxsize=256)
def sparse(clients: int, dropouts: float = 0.1, together: float = 0.1) -> tuple[int, int]:
    """The smallest degree, and a threshold for it; `dropouts` and `together` are the shares of such clients.

    >>> sparse(10), sparse(10_000)[0] < 2 * sparse(1_000)[0]
    ((9, 7), True)
    """
    if not 0 <= together < 1 / 3 or not 0 <= dropouts < 1 / 3:
        raise BadValue("dropouts, together", (dropouts, together), "two shares from 0 up and below a third")
    from scipy.stats import hypergeom

    lost, liars = math.ceil(dropouts * clients), math.ceil(together * clients)
    for degree in range(2, clients - 1, 2):
        if clients * ((lost + liars) / clients) ** (degree // 2) > LEAKS:
            continue
        thresholds = np.arange((degree + 1) // 2 + 1, degree + 1)
        leak = hypergeom.sf(2 * thresholds - degree - 2, clients - 1, liars, degree)
        fail = hypergeom.sf(degree - thresholds, clients - 1, lost, degree)
        fits = (clients * leak <= LEAKS) & (clients * fail <= FAILS)
        if fits.any():
            return degree, int(thresholds[np.argmax(fits)])
    return clients - 1, complete_threshold(clients)


def complete_threshold(clients: int, share: float = 2 / 3) -> int:
    """More than that share of the clients, and never more than all of them.

    >>> complete_threshold(3), complete_threshold(20), complete_threshold(2)
    (3, 14, 2)
    """
    return min(clients, math.floor(share * clients + 1e-9) + 1)
