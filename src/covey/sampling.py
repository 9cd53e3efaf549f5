"""Which clients and which groups take part in a round.

Sampling groups by their CoV: Liu et al., "Group Formation and Sampling in Group-based Hierarchical Federated Learning",
Section 5.1, Eq. 38: p_g is proportional to w(1 / CoV(g)) with w(x) = x (RCoV), x^2 (SRCoV) or exp(x^2) (ESRCoV). ERCoV,
which the section names without defining it, is read as w(x) = exp(x).
Probabilities are kept as logarithms, since exp(x^2) overflows for every CoV below 0.04.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.fleet import Fleet
from covey.outside import Unloadable, guarded
from covey.registry import Registry, WrongKind

Floats = NDArray[np.float64]
Weigh = Callable[[Floats], Floats]
"""From the CoVs of the groups, all above 0, to the logarithms of their weights."""

LEAST_COV = 1e-6  # a perfectly balanced group is very likely, not infinitely


def own_sampling(thing: object) -> Weigh:
    """The sampling that a function of a user's is."""
    if not inspect.isfunction(thing):
        raise WrongKind("a function from the groups' CoVs to the logarithms of their weights")

    def weigh(covs: Floats) -> Floats:
        try:
            found = guarded(lambda: np.asarray(thing(covs), dtype=np.float64))
        except Unloadable as error:
            raise BadValue("sampling", thing.__name__, f"one that can weigh these groups ({error})") from error
        if found.shape != covs.shape or not np.isfinite(found).all():
            raise BadValue("sampling", thing.__name__, f"one that gives {len(covs)} finite numbers, one per group")
        return found

    return weigh


SAMPLINGS: Registry[Weigh] = Registry("sampling", own_sampling)
SAMPLINGS.add("uniform", np.zeros_like, summary="every group alike")
SAMPLINGS.add("rcov", lambda covs: np.log(1 / covs), summary="w = 1 / CoV", paper="Group-FEL, Eq. 38")
SAMPLINGS.add("srcov", lambda covs: 2 * np.log(1 / covs), summary="w = 1 / CoV^2", paper="Group-FEL, Eq. 38")
SAMPLINGS.add("ercov", lambda covs: 1 / covs, summary="w = exp(1 / CoV)", paper="Group-FEL, Section 5.1")
SAMPLINGS.add("esrcov", lambda covs: (1 / covs) ** 2, summary="w = exp(1 / CoV^2)", paper="Group-FEL, Eq. 38")


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


def group_odds(covs: ArrayLike, sampling: str) -> Floats:
    """Log p_g of groups with these coefficients of variation (Eq. 38).

    CoVs of 1 and 1/2: 1/CoV is 1 and 2, so RCoV's shares are 1/3 and 2/3, SRCoV's 1/5 and 4/5.

    >>> np.exp(group_odds([1, 0.5], "rcov")).round(3).tolist(), np.exp(group_odds([1, 0.5], "srcov")).round(3).tolist()
    ([0.333, 0.667], [0.2, 0.8])
    """
    log_w = SAMPLINGS[sampling](np.maximum(np.asarray(covs, dtype=np.float64), LEAST_COV))
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
