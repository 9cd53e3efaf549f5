"""Settings that several algorithms have, and how they sample the clients of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import AfterValidator, Field

from covey.algorithms.base import Outcome
from covey.errors import BadValue
from covey.fleet import Fleet
from covey.sampling import part_of, sample_clients, sample_size


def _share_or_number(sample: float) -> float:
    if sample > 1 and not sample.is_integer():
        raise BadValue("sample", sample, "a share above 0 and up to 1, or a whole number of clients from 2 up")
    return sample


Sample: TypeAlias = Annotated[
    float,
    Field(gt=0, allow_inf_nan=False, description="share of the clients that take part in a round; above 1, how many"),
    AfterValidator(_share_or_number),
]
GroupCount: TypeAlias = Annotated[int, Field(ge=1, description="number of groups")]
Chains: TypeAlias = Annotated[int, Field(ge=1, description="chains of a ring, at most one per node")]
Tau1: TypeAlias = Annotated[int | None, Field(ge=1, description="local epochs; the run's setting unless given")]
Tau2: TypeAlias = Annotated[int, Field(ge=1, description="group rounds in a global round")]


def sampled(groups: Sequence[Sequence[int]], fleet: Fleet, sample: float, rng: np.random.Generator) -> list[list[int]]:
    """The members of every group that are in one sample of all clients; a group may come out empty.

    >>> sampled([[0, 2], [1]], Fleet(np.ones((3, 1))), 1.0, np.random.default_rng(0))
    [[0, 2], [1]]
    """
    taken = set(sample_clients(fleet, sample, rng))
    return [[i for i in members if i in taken] for members in groups]


def some_of(members: Sequence[int], fleet: Fleet, sample: float, rng: np.random.Generator) -> list[int]:
    """As many members of one group as a sample of all clients has of it on average, at least one, in ascending order.

    >>> fleet, rng = Fleet(np.ones((9, 1))), np.random.default_rng(0)
    >>> some_of([3, 5, 8], fleet, 1.0, rng), len(some_of([3, 5, 8], fleet, 0.1, rng))
    ([3, 5, 8], 1)
    >>> len(some_of([3, 5, 8], fleet, 6, rng))  # 6 of 9 clients are 2 of these 3
    2
    """
    count = part_of(sample_size(sample, fleet.clients) / fleet.clients if sample > 1 else sample, len(members))
    return sorted(members) if count == len(members) else sorted(rng.choice(members, count, replace=False).tolist())


def model_per_group(outcome: Outcome, groups: Sequence[Sequence[int]]) -> None:
    """Give every group a copy of the run's one model; its members call that copy theirs, whether they train or not."""
    outcome.models = outcome.models[:1] * len(groups)
    for k, members in enumerate(groups):
        outcome.home[list(members)] = k
