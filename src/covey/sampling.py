"""Which clients and which groups take part in a round.

Sampling groups by their CoV: Liu et al., "Group Formation and Sampling in Group-based Hierarchical Federated Learning",
Section 5.1, Eq. 38: p_g is proportional to w(1 / CoV(g)) with w(x) = x (RCoV), x^2 (SRCoV) or exp(x^2) (ESRCoV). ERCoV,
which the section names without defining it, is read as w(x) = exp(x).
Probabilities are kept as logarithms, since exp(x^2) overflows for every CoV below 0.04.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.fleet import Fleet

Floats = NDArray[np.float64]
GroupSampling = Literal["uniform", "rcov", "srcov", "ercov", "esrcov"]

LEAST_COV = 1e-6  # a perfectly balanced group is very likely, not infinitely


def part_of(share: float, total: int) -> int:
    """The whole part of a share, at least one; 0.29 of 100 is 29 though 0.29 x 100 is a little less in floating point.

    >>> part_of(0.29, 100), part_of(0.25, 10), part_of(0.01, 10)
    (29, 2, 1)
    """
    return max(1, int(share * total + 1e-9))


def sample_size(sample: float, clients: int) -> int:
    """How many clients a sample has: `sample` is a share of them up to 1, above that their number.

    >>> sample_size(0.25, 10), sample_size(4, 10), sample_size(100, 10)
    (2, 4, 10)
    """
    return part_of(sample, clients) if sample <= 1 else min(int(sample), clients)


def sample_clients(fleet: Fleet, sample: float, rng: np.random.Generator) -> list[int]:
    """A sample of the clients (see `sample_size`) without replacement, in ascending order.

    >>> fleet = Fleet(np.ones((10, 1)))
    >>> sample_clients(fleet, 0.25, np.random.default_rng(0)), len(sample_clients(fleet, 1.0, np.random.default_rng(0)))
    ([6, 7], 10)
    """
    count = sample_size(sample, fleet.clients)
    if count >= fleet.clients:
        return list(range(fleet.clients))
    return sorted(rng.choice(fleet.clients, size=count, replace=False).tolist())


def group_odds(covs: ArrayLike, sampling: GroupSampling) -> Floats:
    """Log p_g of groups with these coefficients of variation (Eq. 38).

    CoVs of 1 and 1/2: 1/CoV is 1 and 2, so RCoV's shares are 1/3 and 2/3, SRCoV's 1/5 and 4/5.

    >>> np.exp(group_odds([1, 0.5], "rcov")).round(3).tolist(), np.exp(group_odds([1, 0.5], "srcov")).round(3).tolist()
    ([0.333, 0.667], [0.2, 0.8])
    """
    inverse = 1 / np.maximum(np.asarray(covs, dtype=np.float64), LEAST_COV)
    log_w = {
        "uniform": np.zeros_like(inverse),
        "rcov": np.log(inverse),
        "srcov": 2 * np.log(inverse),
        "ercov": inverse,
        "esrcov": inverse**2,
    }[sampling]
    below = log_w - log_w.max()
    odds: Floats = below - np.log(np.exp(below).sum())
    return odds


def sample_groups(odds: Floats, count: int, rng: np.random.Generator, *, replacement: bool = False) -> list[int]:
    """`count` groups drawn by their log probabilities, in ascending order; with replacement a group may come twice.

    Without replacement the groups with the largest log p + Gumbel noise are what drawing one after the other gives,
    however small the probabilities are.

    >>> sample_groups(np.log([0.1, 0.2, 0.7]), 2, np.random.default_rng(0))
    [1, 2]
    """
    if replacement:
        return sorted(rng.choice(len(odds), size=count, p=np.exp(odds)).tolist())
    drawn = odds + rng.gumbel(size=len(odds))
    return sorted(np.argsort(-drawn)[:count].tolist())
