"""How far clients' gradients point away from each other, measured.

delta and Delta: FedAvg-IC ("Accurate and Fast Federated Learning via IID and Communication-Aware Grouping"), Eq. 7, 8.
D and the variance of a ring: TornadoAggregate ("Accurate and Scalable Federated Learning via the Ring-Based
Architecture"), Eq. 16 and Theorem 3.

What departs: TornadoAggregate's Eq. 6 takes the largest difference over all models w, here it is the largest over the
models at which gradients were measured; the E||grad F^i|| printed in Theorem 3 lacks its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue

Floats = NDArray[np.float64]
Groups = Iterable[Sequence[int]]


@dataclass(frozen=True)
class Divergences:
    """`delta`: client from group; `Delta`: group from all; `D`: client from all. All weighted by samples."""

    delta: float
    Delta: float
    D: float


def divergences(gradients: ArrayLike, sizes: ArrayLike, groups: Groups) -> Divergences:
    """delta, Delta and D of a grouping.

    `gradients[i]` is grad F_i(w) of client i at one model w, or `gradients[p, i]` at several models; `sizes[i]` is
    |D_i|; `groups` lists the clients of every group. A client in no group counts in the gradient of all, and in D.

    Three clients with gradients 1, 3 and 6 and 1, 1 and 2 samples: the mean of all is 16/4 = 4, of the first group 2.
    delta = (1 x 1 + 1 x 1 + 2 x 0)/4, Delta = (2 x 2 + 2 x 2)/4, D = (1 x 3 + 1 x 1 + 2 x 2)/4.

    >>> divergences([[1], [3], [6]], [1, 1, 2], [(0, 1), (2,)])
    Divergences(delta=0.5, Delta=2.0, D=2.0)
    """
    at, weights = _gradients(gradients, sizes)
    of_all = _mean(at, weights)
    share = weights / weights.sum()
    delta = big_delta = 0.0
    for members in checked_groups(groups, len(weights)):
        of_group = _mean(at[:, members], weights[members])
        delta += float(share[members] @ _largest(at[:, members] - of_group))
        big_delta += float(share[members].sum() * _largest(of_group - of_all)[0])
    return Divergences(delta, big_delta, float(share @ _largest(at - of_all)))


def ring_variance(gradients: ArrayLike, sizes: ArrayLike) -> float:
    """E||grad F_i||^2 - ||E grad F_i||^2 over clients: what a step of a RING has on top of a step on all data.

    Gradients 1 and 3 with as many samples: (1 + 9)/2 - 2^2 = 1. At several models the largest of their variances.

    >>> ring_variance([[1], [3]], [5, 5])
    1.0
    """
    at, weights = _gradients(gradients, sizes)
    squares = np.sum((at - _mean(at, weights)) ** 2, axis=2)
    return float((squares @ weights / weights.sum()).max())


def checked_groups(groups: Groups, clients: int) -> list[list[int]]:
    """The groups as lists, or `BadValue` for an empty group, an unknown client or one that is in two groups."""
    lists = [list(members) for members in groups]
    everyone = [i for members in lists for i in members]
    if not lists or not all(lists):
        raise BadValue("groups", lists, "at least one group of at least one client each")
    if len(set(everyone)) < len(everyone) or min(everyone) < 0 or max(everyone) >= clients:
        raise BadValue("groups", lists, f"clients from 0 to {clients - 1}, each in one group at most")
    return lists


def checked_sizes(sizes: ArrayLike) -> Floats:
    """The samples of every client, or `BadValue` unless each has some."""
    weights = np.asarray(sizes, dtype=np.float64)
    if weights.ndim != 1 or not len(weights) or not (np.isfinite(weights) & (weights > 0)).all():
        raise BadValue("sizes", np.asarray(sizes).tolist(), "a row of numbers above 0, one per client")
    return weights


def _gradients(gradients: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Floats]:
    """Gradients as models x clients x parameters, and the clients' weights."""
    weights = checked_sizes(sizes)
    at = np.asarray(gradients, dtype=np.float64)
    if at.ndim == 2:
        at = at[None]
    if at.ndim != 3 or 0 in at.shape or at.shape[1] != len(weights):
        raise BadValue("gradients", np.shape(gradients), f"clients x parameters with {len(weights)} clients")
    return at, weights


def _mean(at: Floats, weights: Floats) -> Floats:
    """The weighted mean over clients, kept as models x 1 x parameters."""
    return np.average(at, axis=1, weights=weights, keepdims=True)


def _largest(differences: Floats) -> Floats:
    """The longest difference over models, one number per client."""
    lengths: Floats = np.linalg.norm(differences, axis=2).max(axis=0)
    return lengths
