"""k-medoids that makes groups like the whole fleet, of nodes near one another.

Lee et al., "Accurate and Fast Federated Learning via IID and Communication-Aware Grouping" (FedAvg-IC), Algorithm 1,
NODE_GROUPING, Eq. 7, 8 and 10 to 12. Symbols: K is `groups`, grad F_i is `updates[i]`, |D_i| is `sizes[i]`,
HOPDISTANCE is `distances`, alpha are `alpha_iid` and `alpha_comm`. FedAvg-I is `alpha_comm=0`, FedAvg-C `alpha_iid=0`.

Departures: a node joins where the cost of all groups together, Delta/C_iid + hops/C_comm, grows least, since Eq. 10
(`assign="own"`) ignores what the group was before. C is the mean over 100 random groupings, not the first value. The
search stops after `steady=5` passes without more than 1 % (the paper: 1). Without `updates` label shares stand in for
gradients; without `distances` hops cost nothing. Heads are the servers, the members fewest hops from all.

Not in the paper: `search` passes in which single nodes move to where the whole costs least. Near its least value Delta
grows steeply with every node that moves, so that moves for the sake of hops would not be taken; therefore Delta counts
little in the first passes and more in later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.hops import EdgeHops
from covey.grouping.insertion import Floats, Integers, Term, Weighted, best_of_groups, insertion, measured, relocation
from covey.grouping.measures import shares_of
from covey.grouping.per_edge import members_of
from covey.grouping.terms import FromAll, hops_term

RANDOM_GROUPINGS = 100
"""How many random groupings say what a usual cost is."""

RISING = (0.03, 0.1, 0.3, 1.0)
"""Parts of its weight that Delta has in a search, one after the other."""


def kmedoids(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    updates: Floats | None = None,
    sizes: Floats | None = None,
    distances: Floats | EdgeHops | None = None,
    alpha_iid: float = 1.0,
    alpha_comm: float = 1.0,
    assign: Literal["total", "own"] = "total",
    steady: int = 5,
    search: int = 0,
) -> Grouping:
    """Insert nodes one by one where gradients stay nearest to the mean and hops fewest, around medoids that move.

    `search` is how many passes then move single nodes to where the whole costs least, at each of four weights of Delta.

    >>> labels = np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    >>> sorted(kmedoids(labels, groups=2, rng=np.random.default_rng(0)).sums(labels).tolist())
    [[9, 9], [9, 9]]
    """
    labels = check_labels(labels)
    n = len(labels)
    count = how_many(n, groups, min_size, max_size)
    for name, alpha in (("alpha_iid", alpha_iid), ("alpha_comm", alpha_comm)):
        if not 0 <= alpha < np.inf:
            raise BadValue(name, alpha, "a number from 0 up")
    if assign not in ("total", "own"):
        raise BadValue("assign", assign, "'total' or 'own'")
    if search < 0 or (search and assign == "own"):
        raise BadValue("search", search, "a whole number from 0 up, and 0 with assign='own'")
    alone = assign == "own"
    usual = [rng.permutation(np.arange(n) % count) for _ in range(RANDOM_GROUPINGS)]
    terms = []
    if alpha_iid:
        vectors = shares_of(labels) if updates is None else compact(np.asarray(updates, dtype=np.float64))
        weights = weights_of(labels if sizes is None else np.asarray(sizes)[:, None])
        from_mean = np.linalg.norm(vectors - np.average(vectors, axis=0, weights=weights), axis=1)
        iid = FromAll(vectors, weights, order=2, as_medoid=weights * from_mean, alone=alone)
        terms.append(_normalised(iid, alpha_iid, usual))
    if alpha_comm and distances is not None:
        terms.append(_normalised(hops_term(distances, alone=alone), alpha_comm, usual))
    least = min_size or 1
    group_of, medoids = insertion(
        terms, n, count, rng=rng, steady=steady, min_size=least, max_size=max_size, random_ties=True
    )
    if search and terms:
        relocate = partial(relocation, passes=search, min_size=least, max_size=max_size, rng=rng)
        group_of, medoids = _searched(terms, group_of, count, relocate)
    if distances is not None:
        medoids = best_of_groups(hops_term(distances).measure(group_of)[1], group_of, count)
    return grouping_of(group_of, medoids)


GROUPINGS.add("kmedoids", kmedoids, paper="Lee et al., FedAvg-IC, Algorithm 1")


def weights_of(counts: NDArray[Any]) -> Floats:
    """The samples of every client; all weigh the same where nobody has any.

    >>> weights_of(np.array([[1, 2], [0, 0]])).tolist(), weights_of(np.zeros((2, 1))).tolist()
    ([3.0, 0.0], [1.0, 1.0])
    """
    weights = counts.sum(axis=1).astype(np.float64)
    return weights if weights.any() else np.ones(len(weights))


def grouping_of(group_of: Integers, medoids: Integers) -> Grouping:
    """The groups as lists of members, led by their medoids."""
    members = tuple(tuple(at.tolist()) for at in members_of(group_of))
    return Grouping(members, heads=tuple(medoids.tolist()))


def compact(vectors: Floats) -> Floats:
    """Vectors of at most as many numbers as there are vectors, at the same distances from one another.

    n gradients of d parameters span n dimensions; their coordinates there make every later step cost n, not d.

    >>> short = compact(np.array([[3.0, 0, 4, 0], [0, 0, 0, 0]]))
    >>> short.shape, round(float(np.linalg.norm(short[0] - short[1])), 9)
    ((2, 2), 5.0)
    """
    n, d = vectors.shape
    if d <= n:
        return vectors
    centred = vectors - vectors.mean(axis=0)
    values, directions = np.linalg.eigh(centred @ centred.T)
    coordinates: Floats = directions * np.sqrt(np.maximum(values, 0))
    return coordinates


def _normalised(term: Term, alpha: float, usual: list[Integers]) -> Weighted:
    """Eq. 12: divided by what random groupings cost, as a whole and by medoid."""
    totals, each = zip(*(term.measure(group_of) for group_of in usual), strict=True)
    return Weighted(term, alpha / (np.mean(totals) or 1.0), alpha / (np.mean(each) or 1.0))


def _searched(
    terms: list[Weighted], group_of: Integers, groups: int, relocate: Callable[..., Integers]
) -> tuple[Integers, Integers]:
    """The grouping after a search, or the one before where that costs less."""
    found = group_of
    for part in RISING if len(terms) == 2 else (1.0,):
        rung = [replace(terms[0], assign=part * terms[0].assign), *terms[1:]]
        found = relocate(rung, found, groups)
    before, after = (measured(terms, each, groups) for each in (group_of, found))
    return (found, after[1]) if after[0] < before[0] else (group_of, before[1])
