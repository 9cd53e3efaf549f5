"""What a merge is: it opens with its members, takes their models in as they come, and closes knowing who is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from covey import words
from covey.plan import Place, cloud
from covey.registry import Registry

Model: TypeAlias = Any  # a flat vector for those who train, nothing at all for the clock


class CannotMerge(Exception):
    """Too little came in to make a model of; the node then counts as one that has not answered."""


def _uncounted(name: str, amount: float) -> None:
    """Nobody keeps count."""


@dataclass(frozen=True, eq=False)
class Gathering:
    """What is known when models set out to become one.

    `members[j]` are the clients behind the j-th model that is expected, `start` is the model they all started from,
    `key` seeds what this one merge draws at random, and `at` is where the models meet. The first `trained` values of a
    model are parameters, the rest are buffers such as batch statistics (None: all are parameters). `count(name,
    amount)` adds to the round's metrics.
    """

    members: tuple[tuple[int, ...], ...] = ()
    start: Model = None
    key: int = 0
    round: int = 1
    at: Place = cloud
    trained: int | None = None
    count: Callable[[str, float], None] = _uncounted


class Merging(Protocol):
    """One merge under way; as models are added one by one, memory need not grow with their number."""

    def add(self, member: int, model: Model, weight: float) -> None:
        """Take in the model of that member; weights are above 0."""

    def close(self, missing: tuple[int, ...]) -> Model:
        """The merged model, now that these members will not answer any more; `CannotMerge` where there can be none."""


class Merge(Protocol):
    """A way for models to become one, with its settings; the same object serves every Star of a run."""

    def open(self, gathering: Gathering) -> Merging:
        """Begin one merge."""


MERGES: Registry[Callable[..., Merge]] = Registry("merge")


def make_merge(word: str) -> Merge:
    """A merge from a word such as `mean` or `trimmed-mean:share=0.2`.

    >>> make_merge("mean")
    Mean()
    """
    return words.make(MERGES, word, field="merge")


class Merges:
    """The merges of a run by the word a Star names; a Star that names none is merged as the run is."""

    def __init__(self, default: str = "mean") -> None:
        self.default = default
        self._made: dict[str, Merge] = {}
        self(None)  # what is wrong with the word shows here

    def __call__(self, word: str | None) -> Merge:
        """The merge of that word."""
        word = word or self.default
        if word not in self._made:
            self._made[word] = make_merge(word)
        return self._made[word]


def merged(merge: Merge, models: list[Model], weights: list[float], *, trained: int | None = None) -> Model:
    """These models merged at once."""
    merging = merge.open(Gathering(((),) * len(models), models[0], trained=trained))
    for member, (model, weight) in enumerate(zip(models, weights, strict=True)):
        if weight > 0:
            merging.add(member, model, weight)
    return merging.close(())
