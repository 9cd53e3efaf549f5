"""The papers' grouping pseudo-code, line by line and in plain Python: what covey's groupings are measured against.

Nothing is kept from one step to the next: every trial recomputes its group from its members, as the pseudo-code
says, and as the papers' complexities count. Where a tie is left open, the client (then the group) listed first wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Counts = Sequence[Sequence[int]]


def counts_of(labels: Counts, members: Iterable[int]) -> list[int]:
    return [sum(column) for column in zip(*(labels[i] for i in members), strict=True)]


def cov(labels: Counts, members: Iterable[int]) -> float:
    """Standard deviation over mean of a group's label counts (Group-FEL, Eq. 31)."""
    counts = counts_of(labels, members)
    mean = sum(counts) / len(counts)
    return math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts)) / mean


def cov_grouping(labels: Counts, *, min_size: int, max_cov: float, picks: Sequence[int]) -> list[list[int]]:
    """Group-FEL, Algorithm 2: O(K^3 m).

    `picks` is the random order from which line 3 takes the first client that is still there. A last group short of
    `min_size` joins the group whose CoV that lowers most, so that Eq. 35 holds.
    """
    remaining = list(range(len(labels)))
    found: list[list[int]] = []
    while remaining:
        first = next(c for c in picks if c in remaining)
        members = [first]
        remaining.remove(first)
        while (cov(labels, members) > max_cov or len(members) < min_size) and remaining:
            best = min(remaining, key=lambda c: cov(labels, [*members, c]))
            if cov(labels, [*members, best]) < cov(labels, members) or len(members) < min_size:
                members.append(best)
                remaining.remove(best)
            else:
                break
        found.append(members)
    if len(found[-1]) < min_size and len(found) > 1:
        last = found.pop()
        min(found, key=lambda g: cov(labels, [*g, *last]) - cov(labels, g)).extend(last)
    return found


def kl_to_uniform(labels: Counts, members: Iterable[int]) -> float:
    """KL(P_g || uniform), labels the group does not hold counted as one sample."""
    counts = [max(count, 1) for count in counts_of(labels, members)]
    total = sum(counts)
    return sum(count / total * math.log(count / total * len(counts)) for count in counts)


def kldg(labels: Counts, *, seeds: Sequence[int]) -> list[list[int]]:
    """SHARE's grouping: always the pair (client, group) that raises the KL divergence least. O(K^4 m)."""
    found = [[seed] for seed in seeds]
    remaining = [c for c in range(len(labels)) if c not in set(seeds)]
    while remaining:
        _, k, client = min(
            (kl_to_uniform(labels, [*members, c]) - kl_to_uniform(labels, members), k, c)
            for k, members in enumerate(found)
            for c in remaining
        )
        found[k].append(client)
        remaining.remove(client)
    return found
