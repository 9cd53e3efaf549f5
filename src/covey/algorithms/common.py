"""Settings that several algorithms have, and how they sample the clients of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from covey.fleet import Fleet
from covey.sampling import part_of, sample_clients

Sample: TypeAlias = Annotated[float, Field(gt=0, le=1, description="share of the clients that take part in a round")]
Groups: TypeAlias = Annotated[int, Field(ge=1, description="number of groups")]
Chains: TypeAlias = Annotated[int, Field(ge=1, description="chains of a ring, at most one a node")]
Tau1: TypeAlias = Annotated[int | None, Field(ge=1, description="local epochs; the run's setting unless given")]
Tau2: TypeAlias = Annotated[int, Field(ge=1, description="group rounds in a global round")]


def awake(groups: Sequence[Sequence[int]], fleet: Fleet, share: float, rng: np.random.Generator) -> list[list[int]]:
    """The sampled clients of every group; a group may come out empty.

    >>> awake([[0, 2], [1]], Fleet(np.ones((3, 1))), 1.0, np.random.default_rng(0))
    [[0, 2], [1]]
    """
    taken = set(sample_clients(fleet, share, rng))
    return [[i for i in members if i in taken] for members in groups]


def some_of(members: Sequence[int], share: float, rng: np.random.Generator) -> list[int]:
    """A share of the members of one group, at least one, in ascending order.

    >>> some_of([3, 5, 9], 1.0, np.random.default_rng(0)), len(some_of([3, 5, 9], 0.1, np.random.default_rng(0)))
    ([3, 5, 9], 1)
    """
    count = part_of(share, len(members))
    return sorted(members) if count == len(members) else sorted(rng.choice(members, count, replace=False).tolist())
