"""Astraea's mediators: fill one group after the other with the client that brings it nearest to even labels.

Duan et al., "Astraea: Self-Balancing Federated Learning for Improving Classification Accuracy of Mobile Deep
Learning Applications", mediator rescheduling: while clients remain, open a mediator m and add
argmin_k KL(P_m + P_k || uniform) until it has gamma clients. gamma is `min_size`.

Departures: sizes are even where the paper leaves the last mediator short. Labels a mediator does not hold add
nothing (0 log 0 = 0). Ties go to the client listed first; nothing is random.
"""

from __future__ import annotations

import numpy as np

from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, even_sizes, how_many
from covey.grouping.measures import kl_of


def astraea(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
) -> Grouping:
    """Groups of even size, each filled greedily by KL divergence from even labels.

    >>> labels = np.array([[9, 0], [9, 0], [0, 9], [0, 9]])
    >>> astraea(labels, groups=2, rng=np.random.default_rng(0)).groups
    ((0, 2), (1, 3))
    """
    labels = check_labels(labels)
    n, m = labels.shape
    uniform = np.ones(m)
    free = np.arange(n)
    found = []
    for size in even_sizes(n, how_many(n, groups, min_size, max_size)):
        members: list[int] = []
        together = np.zeros(m)
        for _ in range(size):
            at = int(kl_of(together + labels[free], uniform).argmin())
            members.append(int(free[at]))
            together += labels[free[at]]
            free = np.delete(free, at)
        found.append(tuple(members))
    return Grouping(tuple(found))


GROUPINGS.add("astraea", astraea, paper="Duan et al., Astraea")
