"""How many classes a node and an edge hold: the six splits of FedAvg-IC.

"Accurate and Fast Federated Learning via IID and Communication-Aware Grouping", Table 2 and Appendix C.1: in `dtq` a
tenth of the classes can exist per node and a quarter per edge. The paper leaves open which classes and how many
samples; as the authors' code does, classes that nobody holds yet are dealt first, and all samples are used. That code
also redraws until the mean number of classes is met to 0.1, which need not end in a small fleet and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from covey.data.partition import PARTITIONS, Partition, Rng, above_0, deal, edge_of, given, truncated_normal
from covey.errors import BadValue
from covey.ragged import Indices, Ragged


@PARTITIONS.register(
    "class-diversity", summary="a share of the classes per node and per edge", paper="FedAvg-IC, Table 2"
)
@dataclass(frozen=True)
class ClassDiversity(Partition):
    """A node holds a share `node` of all classes, all nodes of an edge together a share `edge`.

    How many exactly is N(share x classes, classes_sd^2) truncated to what there is, at least 1. Classes nobody holds
    yet are dealt first. A class is divided among its holders by N(mean, samples_sd^2) draws. The paper's Figure 10
    varies both; 1 is the authors' default.
    """

    node: float
    edge: float
    classes_sd: float = field(default=1.0, kw_only=True)
    samples_sd: float = field(default=1.0, kw_only=True)
    name: ClassVar[str] = "class-diversity"
    example: ClassVar[str] = "class-diversity:0.1,0.25 (shares per node and per edge), or dtt, dtq, dth, dqq, dqh, dhh"

    def __post_init__(self) -> None:
        above_0("node", self.node)
        above_0("edge", self.edge)
        if not self.node <= self.edge <= 1:
            raise BadValue("edge", self.edge, f"a share from that of a node, {self.node}, to 1")
        above_0("classes_sd", self.classes_sd)
        above_0("samples_sd", self.samples_sd)

    def split(self, y: Indices, clients: int | None, edges: int, owners: Indices | None, rng: Rng) -> Ragged:
        """Classes to edges, classes of an edge to its nodes, samples of a class to the nodes that hold it."""
        n = given(clients)
        classes, sizes = np.unique(y, return_counts=True)
        many, share = len(classes), sizes / len(y)
        holds = np.zeros((n, many), dtype=bool)
        of_edge = _hands(rng.permutation(many), self._how_many(self.edge * many, many, edges, rng), share, rng)
        for e, hand in enumerate(of_edge):
            nodes = np.flatnonzero(edge_of(n, edges) == e)
            order = rng.permutation(hand)
            order = order[np.argsort(holds[:, order].any(axis=0), kind="stable")]
            of_node = _hands(order, self._how_many(self.node * many, len(hand), len(nodes), rng), share, rng)
            for i, held in zip(nodes, of_node, strict=True):
                holds[i, held] = True
        if lost := many - int(holds.any(axis=0).sum()):
            few = ("edges", edges) if sum(map(len, of_edge)) < many else ("clients", n)
            raise BadValue(*few, f"more for {self}: {n} clients at {edges} edges leave {lost} of {many} classes out")
        counts = np.zeros((n, many), np.int64)
        for c in range(many):
            holders = np.flatnonzero(holds[:, c])
            counts[holders, c] = _shares(int(sizes[c]), len(holders), self.samples_sd, rng)
        return deal(y, classes, counts, rng)

    def __str__(self) -> str:
        letters = {share: letter for letter, share in DIVERSITY.items()}
        usual = self.classes_sd == self.samples_sd == 1
        if usual and self.node in letters and self.edge in letters:
            return f"d{letters[self.node]}{letters[self.edge]}"
        return super().__str__()

    def _how_many(self, mean: float, most: int, size: int, rng: Rng) -> Indices:
        """Numbers of classes: N(mean, sd^2) in 1 … most, rounded; with the usual sd exactly a bound the mean is at."""
        if self.classes_sd == 1 and (mean <= 1 or mean >= most):
            return np.full(size, 1 if mean <= 1 else most)
        middle = min(max(mean, 1.0), float(most))
        drawn = truncated_normal(middle, self.classes_sd, 0.5, most + 0.5, size, rng)
        return np.rint(drawn).clip(1, most).astype(np.int64)


# a tenth, a quarter or half of the classes
DIVERSITY = {"t": 0.1, "q": 0.25, "h": 0.5}
for _node, _edge in ("tt", "tq", "th", "qq", "qh", "hh"):
    PARTITIONS.add(
        f"d{_node}{_edge}",
        partial(ClassDiversity, DIVERSITY[_node], DIVERSITY[_edge]),
        summary=f"{DIVERSITY[_node]:.0%} of the classes per node, {DIVERSITY[_edge]:.0%} per edge",
        paper="FedAvg-IC, Table 2",
    )


def _hands(classes: Indices, how_many: Indices, share: NDArray[np.float64], rng: Rng) -> list[Indices]:
    """Different classes for every hand: first each once, in the order given, then by their share of the samples."""
    fresh, hands = classes, []
    for k in how_many:
        hand, fresh = fresh[:k], fresh[k:]
        others = np.setdiff1d(classes, hand)
        odds = share[others] / share[others].sum() if len(others) else None
        hands.append(np.concatenate((hand, rng.choice(others, k - len(hand), replace=False, p=odds))))
    return hands


def _shares(total: int, parts: int, sd: float, rng: Rng) -> Indices:
    """Whole numbers that sum up to the total, each near N(total / parts, sd^2), at least 1 where there is enough."""
    mean, sure = total / parts, int(total >= parts)
    draws = truncated_normal(mean, sd, min(1, mean), 2 * mean, parts, rng) - sure
    ends: Indices = np.rint(np.cumsum(draws) / draws.sum() * (total - sure * parts)).astype(np.int64)
    return sure + np.diff(ends, prepend=0)


# how it is written in Python, as in `covey.data.class_diversity(0.1, 0.25)`
class_diversity = ClassDiversity
