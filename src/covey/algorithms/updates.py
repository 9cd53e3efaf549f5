"""What algorithms that cluster by updates share: updates as rows of a table, and a cluster's mean model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covey.algorithms.base import Outcome

if TYPE_CHECKING:
    from torch import Tensor


def rows(outcome: Outcome, members: Sequence[int]) -> NDArray[np.float64]:
    """The members' updates, one per row; who has none gets the mean of the others'."""
    given = {i: update.numpy().astype(np.float64) for i, update in outcome.updates.items()}
    mean: NDArray[np.float64] = np.mean(list(given.values()), axis=0)
    return np.stack([given.get(i, mean) for i in members])


def mean_model(outcome: Outcome, members: Sequence[int], model: int = 0) -> Tensor:
    """The model the round began with plus the members' mean update, weighted by samples."""
    there = [i for i in members if i in outcome.updates]
    before = outcome.before[model]
    if not there:
        return before
    total = sum(int(outcome.fleet.sizes[i]) for i in there)
    terms = [outcome.updates[i] * (int(outcome.fleet.sizes[i]) / total) for i in there]
    return before + sum(terms[1:], start=terms[0])
