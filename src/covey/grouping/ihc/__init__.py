"""IHC-FL: clusters around heads, and a network of the heads, at the least cost of communication.

Shih, Kuo, Sheu, "Information-Exchangeable Hierarchical Clustering for Federated Learning With Non-IID Data", problem
(1), three ways: `search` anneals (`search`), `exact` proves (`exact`), `paper` alternates cluster formation around a
neural oracle with topology construction (`paper`). All that is public is `topology`.

Departures from the letter (those of the problem itself are in `problem`):
- distances are 1 - cos of updates, not of models, which share their initialisation and are all alike; without
  updates, of label shares;
- without `distances` a link costs 1 + delta, like the paper's 1 to 2 seconds;
- Delta, the distance of two clusters, is that of their mean updates; `search` and `exact` bound the heads' own
  distance, then check Delta, forbid the links that fail and solve again;
- a gamma without an answer is raised: to the smallest possible by `exact`, to the smallest found by the others;
- `search` solves fleets of more than 2,000 clients in blocks of like clients and joins their networks (`blocks`).
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covey.grouping.base import GROUPINGS, Grouping, Labels, check_labels, how_many
from covey.grouping.hops import EdgeHops
from covey.grouping.ihc.answer import Topology, Wishes
from covey.grouping.measures import shares_of

__all__ = ["topology"]

Floats = NDArray[np.float64]


def topology(
    labels: Labels,
    *,
    groups: int | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    rng: np.random.Generator,
    updates: Floats | None = None,
    distances: Floats | EdgeHops | None = None,
    sizes: NDArray[np.int64] | None = None,
    method: Literal["search", "exact", "paper"] = "search",
    degree: int = 2,
    epsilon: float | None = None,
    gamma: float | None = None,
    between: Literal["clusters", "heads"] = "clusters",
    once: bool = False,
    seconds: float = 60.0,
) -> Topology:
    """Solve problem (1) for a fleet.

    `groups`: how many heads, else as many as are cheapest; `min_size`, `max_size`: the least and most clients of a
    cluster, which may take followers beyond epsilon; `degree`: links of every head; `epsilon`, `gamma`: thresholds, by
    default the paper's; `between`: what gamma bounds, the distance of averaged clusters or of heads alone; `once`:
    count links in one direction only, as the paper's Fig. 1 does; `seconds`: the time limit of `exact` and of each
    program of `paper`.

    >>> updates = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.1, 1.0], [0.2, 1.0], [0.3, 1.0]])
    >>> found = topology(np.ones((6, 2)), updates=updates, epsilon=0.1, method="exact", rng=np.random.default_rng(0))
    >>> found.grouping.groups, found.grouping.links, found.status
    (((0, 1, 2), (3, 4, 5)), ((0, 1),), 'optimal')
    """
    from covey.grouping.ihc.blocks import LARGE, solve_in_blocks  # scipy's solvers, which others need not wait for
    from covey.grouping.ihc.solve import solve

    labels = check_labels(labels)
    how_many(len(labels), groups, min_size, max_size)
    wishes = Wishes(
        groups=groups,
        min_size=min_size,
        max_size=max_size,
        method=method,
        degree=degree,
        epsilon=epsilon,
        gamma=gamma,
        between=between,
        once=once,
        seconds=seconds,
    )
    vectors = shares_of(labels) if updates is None else np.asarray(updates, dtype=np.float64)
    weights = np.asarray(labels.sum(axis=1) if sizes is None else sizes, dtype=np.float64)
    if method == "search" and len(labels) > LARGE:
        return solve_in_blocks(vectors, weights, distances, wishes, rng)
    return solve(vectors, weights, distances, wishes, rng)


@wraps(topology, assigned=())  # the options are those of `topology`, the name and what is said of it are its own
def ihc(labels: Labels, **given: Any) -> Grouping:
    """Clusters of clients with like updates, each around a head, and links between the heads; see `topology`.

    >>> grouping = ihc(np.array([[9, 1], [8, 1], [1, 9], [1, 8]]), rng=np.random.default_rng(0))
    >>> grouping.groups, grouping.links
    (((0, 1), (2, 3)), ((0, 1),))
    """
    return topology(labels, **given).grouping


GROUPINGS.add("ihc", ihc, paper="Shih et al., IHC-FL, problem (1)")
