"""Which clients and which groups take part in a round."""

from __future__ import annotations

import numpy as np

from covey.fleet import Fleet


def sample_clients(fleet: Fleet, share: float, rng: np.random.Generator) -> list[int]:
    """max(1, share x clients) of the clients without replacement, in ascending order.

    >>> fleet = Fleet(np.ones((10, 1)))
    >>> sample_clients(fleet, 0.25, np.random.default_rng(0)), len(sample_clients(fleet, 1.0, np.random.default_rng(0)))
    ([4, 6], 10)
    """
    count = max(1, int(share * fleet.clients))
    if count >= fleet.clients:
        return list(range(fleet.clients))
    return sorted(rng.choice(fleet.clients, size=count, replace=False).tolist())
