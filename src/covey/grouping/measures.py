"""How good a grouping is: balance of labels, divergence of gradients, sizes, prices.

CoV: Liu et al., Group-FEL, Eq. 31 (standard deviation over mean; the printed form is divided by sqrt(m)).
EMD: Lee et al., TornadoAggregate (sum of absolute differences of label shares). QCID: Zhang et al., Fed-CBS.
CPD: Zeng et al., FedGSP, Eq. 14 and Fig. 3a, whose kernel is left open: here labels are unit vectors and the bandwidth
is the same for all groupings, so that groupings can be compared. delta and Delta: FedAvg-IC, Eq. 7, 8, by
`covey.theory`; so are Group-FEL's prices of secure aggregation (Eq. 5).

A group without a single sample has the label shares of nobody: it counts as one label alone, the worst there is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.grouping.base import Grouping, check_labels
from covey.grouping.divergence import divergences
from covey.grouping.hops import EdgeHops
from covey.prices import CIFAR_SECURE, Prices

Floats = NDArray[np.float64]

CPD_GROUPS = 1000
"""CPD compares all pairs of at most this many groups, evenly spread over all."""

BANDWIDTH = math.sqrt(2)
"""Of CPD's kernel: the distance between two different labels as unit vectors, which is the median distance between two
samples of any fleet in which most pairs of samples differ in label."""


def concentration_of(sums: ArrayLike) -> Floats:
    """The sum of squared label shares of every row: 1/m for even counts, 1 for a single label.

    >>> concentration_of([[5, 5], [7, 0]]).tolist()
    [0.5, 1.0]
    """
    counts = np.asarray(sums, dtype=np.float64)
    total = counts.sum(axis=-1)
    squares: Floats = (counts**2).sum(axis=-1) / np.maximum(total, 1) ** 2
    return np.where(total > 0, squares, 1.0)


def cov_of(sums: ArrayLike) -> Floats:
    """The coefficient of variation of every row of label counts.

    >>> cov_of([[3, 1], [2, 2]]).tolist()
    [0.5, 0.0]
    """
    m = np.shape(sums)[-1]
    cov: Floats = np.sqrt(np.maximum(m * concentration_of(sums) - 1, 0))
    return cov


def qcid_of(sums: ArrayLike) -> Floats:
    """The quadratic class imbalance degree of every row of label counts: CoV^2 / m.

    >>> qcid_of([[3, 1]]).tolist()
    [0.125]
    """
    qcid: Floats = np.maximum(concentration_of(sums) - 1 / np.shape(sums)[-1], 0)
    return qcid


def shares_of(sums: ArrayLike) -> Floats:
    """Label counts as shares of one; rows without samples stay zero."""
    counts = np.asarray(sums, dtype=np.float64)
    shares: Floats = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return shares


def emd_of(sums: ArrayLike, reference: ArrayLike) -> Floats:
    """The sum of absolute differences of label shares between every row and the reference, from 0 to 2.

    >>> emd_of([[3, 1], [2, 2]], [1, 1]).tolist()
    [0.5, 0.0]
    """
    distance: Floats = np.abs(shares_of(sums) - shares_of(reference)).sum(axis=-1)
    return np.where(np.sum(sums, axis=-1) > 0, distance, 2.0)


def kl_of(sums: ArrayLike, reference: ArrayLike) -> Floats:
    """KL(row || reference) in nats; the reference must hold every label that a row holds.

    >>> kl_of([[4, 0], [2, 2]], [1, 1]).round(4).tolist()
    [0.6931, 0.0]
    """
    p, q = shares_of(sums), shares_of(reference)
    terms = p * np.log(np.where(p > 0, p, 1) / np.where(q > 0, q, 1))
    worst = -np.log(q[q > 0].min()) if (q > 0).any() else 0.0
    return np.where(np.sum(sums, axis=-1) > 0, np.maximum(terms.sum(axis=-1), 0), worst)


def cpd_of(sums: ArrayLike) -> float:
    """The median class probability distance over pairs of rows; 0 for a single row.

    CPD is the squared MMD of two groups' labels under the kernel exp(-d^2 / (2 BANDWIDTH^2)). Unit vectors are equal or
    at the distance d = sqrt(2), so with c = exp(-1/2) it is (1 - c) times the squared distance of the label shares.

    >>> round(cpd_of([[8, 0], [0, 8]]) / (1 - math.exp(-1 / 2)), 9)  # shares (1, 0) and (0, 1): 1 + 1
    2.0
    """
    shares = shares_of(sums)
    if len(shares) < 2:
        return 0.0
    if len(shares) > CPD_GROUPS:
        shares = shares[np.linspace(0, len(shares) - 1, CPD_GROUPS).astype(int)]
    one, other = np.triu_indices(len(shares), 1)
    squares = (shares * shares).sum(axis=1)
    apart = squares[one] + squares[other] - 2 * (shares @ shares.T)[one, other]
    return max(0.0, float(np.median(apart)) * -math.expm1(-1 / BANDWIDTH**2))


def hops_of(grouping: Grouping, distances: ArrayLike | EdgeHops) -> float:
    """Distances from all members to their group's head, or to its member nearest to all where it has none."""
    if isinstance(distances, EdgeHops):
        heads = grouping.heads or (None,) * len(grouping)
        return sum(distances.to_server(members, head) for members, head in zip(grouping, heads, strict=True))
    table = np.asarray(distances, dtype=np.float64)
    total = 0.0
    for k, members in enumerate(grouping):
        inside = table[np.ix_(members, members)]
        to_each = inside.sum(axis=0)
        total += float(to_each.min() if grouping.heads is None else to_each[members.index(grouping.heads[k])])
    return total


def secure_seconds_of(sizes: ArrayLike, prices: Prices = CIFAR_SECURE) -> float:
    """Seconds that all clients together spend on one group operation in each group: g times the price of g.

    >>> secure_seconds_of([2, 3], Prices(group=(1, 0, 0), train=(0, 0)))  # 2 x 4 + 3 x 9
    35.0
    """
    return float(sum(g * prices.group_seconds(g) for g in np.asarray(sizes).tolist()))


@dataclass(frozen=True, eq=False)
class Measures:
    """What `measure` found; the arrays hold one number per group, in the order of the groups."""

    sizes: NDArray[np.int64]
    samples: NDArray[np.int64]
    cov: Floats
    emd: Floats
    kl: Floats
    qcid: Floats
    cpd: float
    secure_seconds: float
    left_out: int
    hops: float | None = None
    delta: float | None = None
    Delta: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Summary: means over groups of CoV and QCID, means weighted by samples of EMD and KL."""
        weights = self.samples / self.samples.sum() if self.samples.sum() else None
        summary: dict[str, Any] = {
            "groups": len(self.sizes),
            "sizes": {
                "min": int(self.sizes.min()),
                "mean": float(self.sizes.mean()),
                "max": int(self.sizes.max()),
            },
            "cov": float(self.cov.mean()),
            "emd": float(np.average(self.emd, weights=weights)),
            "kl": float(np.average(self.kl, weights=weights)),
            "qcid": float(self.qcid.mean()),
            "cpd": self.cpd,
            "secure_seconds": self.secure_seconds,
            "left_out": self.left_out,
        }
        given = {"hops": self.hops, "delta": self.delta, "Delta": self.Delta}
        return summary | {name: value for name, value in given.items() if value is not None}


def measure(
    grouping: Grouping,
    labels: ArrayLike,
    *,
    distances: ArrayLike | EdgeHops | None = None,
    updates: ArrayLike | None = None,
    prices: Prices = CIFAR_SECURE,
) -> Measures:
    """Everything that can be measured of a grouping with what is given.

    labels: samples by client and class; distances: hops between clients, for `hops`; updates: a row per client, such as
        its gradient, for `delta` and `Delta`; prices: of the metric `secure_seconds`

    >>> measure(Grouping(((0, 1), (2, 3))), [[4, 0], [0, 4], [6, 0], [0, 2]]).cov.tolist()
    [0.0, 0.5]
    """
    table = check_labels(labels)
    if not len(grouping):
        raise BadValue("grouping", "no groups", "at least one group")
    sums, everyone = grouping.sums(table), table.sum(axis=0)
    found = None
    if updates is not None:
        weights = np.maximum(table.sum(axis=1), 1e-9)  # a client without samples has a gradient, but no weight
        found = divergences(updates, weights, grouping.groups)
    return Measures(
        sizes=grouping.sizes,
        samples=sums.sum(axis=1),
        cov=cov_of(sums),
        emd=emd_of(sums, everyone),
        kl=kl_of(sums, everyone),
        qcid=qcid_of(sums),
        cpd=cpd_of(sums),
        secure_seconds=secure_seconds_of(grouping.sizes, prices),
        left_out=len(grouping.left_out),
        hops=None if distances is None else hops_of(grouping, distances),
        delta=found.delta if found else None,
        Delta=found.Delta if found else None,
    )
