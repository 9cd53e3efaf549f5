"""Who gets which samples: the same mix for all, mixes by Dirichlet, shards, or as the data came about.

`iid`, `normal`: equal labels everywhere, equal sizes or sizes by a normal distribution.
`dirichlet`: Group-FEL ("Group Formation and Sampling in Group-based Hierarchical Federated Learning", section 6.2)
draws a client's label mix from Dir(alpha); a class that runs out is left out of the mix, as in Hsu et al. 2019,
"Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification", section 3.
`shards`: McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from Decentralized Data", section 3.
`natural`: Caldas et al. 2018, "LEAF: A Benchmark for Federated Settings".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.data.partition import (
    PARTITIONS,
    Partition,
    Rng,
    above_0,
    by_owner,
    deal,
    given,
    truncated_normal,
    whole,
)
from covey.errors import BadValue
from covey.ragged import Indices, Ragged

MOST_AT_ONCE = 4096  # clients that are drawn for together


@PARTITIONS.register("iid", summary="everybody the same mix and size")
@dataclass(frozen=True)
class Iid(Partition):
    """Shuffle and cut into equal parts."""

    name: ClassVar[str] = "iid"
    example: ClassVar[str] = "iid"

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """|D_i| = |D| / n."""
        return _cut_evenly(rng.permutation(len(y)), given(clients))


@PARTITIONS.register("normal", summary="the same mix, sizes by a normal distribution", paper="FedAvg-IC, Appendix C")
@dataclass(frozen=True)
class NormalSizes(Partition):
    """Sizes drawn from N(mean, sd^2), labels at random.

    Sizes are truncated to 1 … 2 mean - 1, so that nobody is empty and the mean stays the mean.
    """

    mean: float
    sd: float
    name: ClassVar[str] = "normal"
    example: ClassVar[str] = "normal:60,20 (mean and standard deviation of the sizes)"

    def __post_init__(self) -> None:
        above_0("mean", self.mean)
        above_0("sd", self.sd)
        if self.mean < 1:
            raise BadValue("mean", self.mean, "a number from 1 up")

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """|D_i| ~ N(mean, sd^2)."""
        sizes = _sizes(self.mean, self.sd, 1, 2 * self.mean - 1, given(clients), len(y), str(self), rng)
        return Ragged.cut(rng.permutation(len(y)), sizes)


@PARTITIONS.register("dirichlet", summary="each client's label mix from Dir(alpha)", paper="Group-FEL, section 6.2")
@dataclass(frozen=True)
class Dirichlet(Partition):
    """A label mix of its own for every client; small alpha, few labels.

    Without `max` everybody gets |D| / n samples; with it, sizes are drawn from a normal distribution over `min` … `max`
    (mean in the middle, three standard deviations to either end), or evenly, as Group-FEL's authors do (`sizes`).
    """

    alpha: float
    min: int = field(default=1, kw_only=True)
    max: int | None = field(default=None, kw_only=True)
    sizes: str = field(default="normal", kw_only=True)
    name: ClassVar[str] = "dirichlet"
    example: ClassVar[str] = "dirichlet:0.1 or dirichlet:0.1,min=20,max=200"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        whole("min", self.min, 1)
        if self.max is not None:
            whole("max", self.max, self.min)
        if self.sizes not in ("normal", "uniform"):
            raise BadValue("sizes", self.sizes, "normal or uniform")
        if self.sizes == "uniform" and self.max is None:
            raise BadValue("sizes", self.sizes, "normal unless max is given")

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """p_i ~ Dir(alpha), then |D_i| draws from p_i without replacement, clients in random order."""
        n = given(clients)
        classes, left = np.unique(y, return_counts=True)
        sizes = self._sizes(n, len(y), rng)
        mixes = rng.dirichlet(np.full(len(classes), self.alpha), n)
        order = rng.permutation(n)
        counts = np.zeros((n, len(classes)), np.int64)
        counts[order] = _draws(mixes[order], sizes[order], left, rng)
        return deal(y, classes, counts, rng)

    def _sizes(self, clients: int, samples: int, rng: Rng) -> Indices:
        if self.max is not None and self.sizes == "uniform":
            drawn = rng.integers(self.min, self.max + 1, clients)
            return _enough(drawn, samples, str(self))
        if self.max is not None:
            mean, sd = (self.min + self.max) / 2, (self.max - self.min) / 6
            return _sizes(mean, sd, self.min, self.max, clients, samples, str(self), rng)
        if samples // clients < self.min:
            raise BadValue("min", self.min, f"at most {samples // clients} for {clients} clients of {samples} samples")
        return np.full(clients, samples // clients)


@PARTITIONS.register("shards", summary="sorted by label, a few shards each", paper="McMahan et al. 2017, section 3")
@dataclass(frozen=True)
class Shards(Partition):
    """Pathological: hardly more labels a client than shards."""

    per_client: int = 2
    name: ClassVar[str] = "shards"
    example: ClassVar[str] = "shards:2"

    def __post_init__(self) -> None:
        whole("shards", self.per_client, 1)

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """Sort the pool by label, cut it into n x per_client shards, deal these at random."""
        n = given(clients)
        shards = _cut_evenly(np.argsort(y, kind="stable"), n * self.per_client)
        hands = rng.permutation(len(shards))
        return Ragged.cut(shards.take(hands).flat, shards.sizes[hands].reshape(n, self.per_client).sum(axis=1))


@PARTITIONS.register("power-law", summary="few labels each, few clients with most samples", paper="FedProx, FedML")
@dataclass(frozen=True)
class PowerLaw(Partition):
    """Every client holds `labels` neighbouring classes; how much of them is log-normal, so that few have most.

    The MNIST of FedProx (Li et al. 2020, section 5.1), which FedML and so TornadoAggregate use: 1,000 clients of two
    digits. Client i holds the classes i, i + 1, … (modulo their number) and at least `least` samples of each; the rest
    of a class goes to its holders in proportion to exp(N(0, `sigma`^2)), drawn for every class anew.
    """

    labels: int = 2
    least: int = field(default=5, kw_only=True)
    sigma: float = field(default=2.0, kw_only=True)
    name: ClassVar[str] = "power-law"
    example: ClassVar[str] = "power-law:2 or power-law:2,least=5,sigma=2"

    def __post_init__(self) -> None:
        whole("labels", self.labels, 1)
        whole("least", self.least, 1)
        above_0("sigma", self.sigma)

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """|D_i| log-normal above a floor."""
        n = given(clients)
        classes, left = np.unique(y, return_counts=True)
        many = len(classes)
        if self.labels > many:
            raise BadValue("labels", self.labels, f"at most {many}, the classes there are")
        holds = (np.arange(many)[None, :] - np.arange(n)[:, None]) % many < self.labels
        shares = np.exp(rng.normal(0.0, self.sigma, holds.shape)) * holds
        counts = np.where(holds, self.least, 0)
        over = left - counts.sum(axis=0)
        if over.min() < 0:
            c = int(over.argmin())
            holders = int(holds[:, c].sum())
            raise BadValue("least", self.least, f"at most {left[c] // holders} for {holders} holders of a class")
        totals = np.maximum(shares.sum(axis=0), 1e-300)
        ends = np.rint(np.cumsum(shares / totals, axis=0) * over * (shares.sum(axis=0) > 0)).astype(np.int64)
        counts = counts + np.diff(ends, axis=0, prepend=0)
        return deal(y, classes, counts, rng)


@PARTITIONS.register("natural", summary="one client a writer, role, speaker or user", paper="LEAF (Caldas et al. 2018)")
@dataclass(frozen=True)
class Natural(Partition):
    """As the data came about; fewer clients than owners are picked at random, or are the `first`."""

    pick: str = "random"
    name: ClassVar[str] = "natural"
    example: ClassVar[str] = "natural or natural:first"

    def __post_init__(self) -> None:
        if self.pick not in ("random", "first"):
            raise BadValue("pick", self.pick, "random or first")

    def everybody(self) -> bool:
        """The data's owners are all there are."""
        return True

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """D_i = what owner i has."""
        if owners is None:
            raise BadValue(
                "partition", str(self), "for data stored by owner only, such as mnist-writers or shakespeare"
            )
        known = np.unique(owners)
        if clients and clients > len(known):
            raise BadValue("clients", clients, f"at most {len(known)}, the owners in this data")
        if clients:
            known = known[:clients] if self.pick == "first" else np.sort(rng.choice(known, clients, replace=False))
        return by_owner(owners, known)


def _sizes(
    mean: float, sd: float, low: float, high: float, clients: int, samples: int, partition: str, rng: Rng
) -> Indices:
    sizes = np.rint(truncated_normal(mean, sd, low, high, clients, rng)).astype(np.int64)
    return _enough(sizes, samples, partition)


def _enough(sizes: Indices, samples: int, partition: str) -> Indices:
    """The sizes, if there are enough samples for them."""
    if sizes.sum() > samples:
        raise BadValue(
            "partition",
            partition,
            f"one that {samples} samples suffice for; {len(sizes)} clients would take {sizes.sum()}",
        )
    return sizes


def _cut_evenly(order: Indices, parts: int) -> Ragged:
    """Consecutive parts as equal as can be, the larger ones first."""
    sizes = np.full(parts, len(order) // parts)
    sizes[: len(order) % parts] += 1
    return Ragged.cut(order, sizes)


def _draws(mixes: NDArray[np.float64], sizes: Indices, left: Indices, rng: Rng) -> Indices:
    """How many of each class, client after client: `sizes[i]` draws from `mixes[i]`, never more than are left.

    Many clients are drawn for at once, up to the first with whom a class runs out: the numbers are those of one client
    after another.
    """
    counts = np.zeros(mixes.shape, dtype=np.int64)
    left, first, block = left.copy(), 0, MOST_AT_ONCE
    while first < len(mixes):
        many = slice(first, first + block)
        before = rng.bit_generator.state
        drawn, fits = _draw_many(mixes[many], sizes[many], left, rng)
        if fits < len(drawn):  # the draws behind it never happened
            rng.bit_generator.state = before
            drawn, _ = _draw_many(mixes[many][:fits], sizes[many][:fits], left, rng)
        counts[first : first + fits] = drawn
        left -= drawn.sum(axis=0)
        first += fits
        whole_block = fits == len(mixes[many])
        if not whole_block:
            counts[first] = _draw(mixes[first], sizes[first], left, rng)
            left -= counts[first]
            first += 1
        block = min(MOST_AT_ONCE, 2 * block) if whole_block else max(8, block // 2)
    return counts


def _draw_many(mixes: NDArray[np.float64], sizes: Indices, left: Indices, rng: Rng) -> tuple[Indices, int]:
    """Draws for the clients who can be served, and how many of them, from the first on, leave of every class some."""
    mixes = np.where(left > 0, mixes, 0.0)
    sums = mixes.sum(axis=1)
    served = int(np.argmin(sums > 0)) if not (sums > 0).all() else len(sums)
    drawn = np.zeros((served, len(left)), dtype=np.int64)
    if served:
        drawn = rng.multinomial(sizes[:served], mixes[:served] / sums[:served, None])
    short = ((np.cumsum(drawn, axis=0) >= left) & (left > 0)).any(axis=1)
    return drawn, int(np.argmax(short)) if short.any() else served


def _draw(mix: NDArray[np.float64], size: int, left: Indices, rng: Rng) -> Indices:
    """How many of each class: `size` draws from the mix, never more than are left."""
    counts = np.zeros_like(left)
    while (missing := size - counts.sum()) > 0:
        open_mix = np.where(counts < left, mix, 0.0)
        if not open_mix.sum() > 0:  # all the client asks for is gone: take from what is there
            open_mix = (left - counts).astype(np.float64)
        drawn = rng.multinomial(missing, open_mix / open_mix.sum())
        counts = np.minimum(counts + drawn, left)
    return counts


# how they are written in Python, as in `covey.data.dirichlet(0.1)`
iid, normal_sizes, dirichlet, shards, power_law, natural = Iid, NormalSizes, Dirichlet, Shards, PowerLaw, Natural
