"""What a merge is: it opens with its members, takes their models in as they come, and closes knowing who is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from covey import words
from covey.errors import BadPlan, BadValue
from covey.plan import Place, Plan, Ring, Star, Train, clients, cloud
from covey.registry import Registry, own_class

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
    amount)` adds to the round's metrics. `weights[j]` is the most that the j-th model may weigh.
    """

    members: tuple[tuple[int, ...], ...] = ()
    start: Model = None
    key: int = 0
    round: int = 1
    at: Place = cloud
    trained: int | None = None
    count: Callable[[str, float], None] = _uncounted
    weights: tuple[float, ...] = ()


class Merging(Protocol):
    """One merge under way; as models are added one by one, memory need not grow with their number."""

    def add(self, member: int, model: Model, weight: float) -> None:
        """Take in the model of that member; its `weight` is above 0."""

    def close(self, missing: tuple[int, ...]) -> Model:
        """The merged model, now that these members will not answer any more; `CannotMerge` where there can be none."""


class Merge(Protocol):
    """A way for models to become one, with its settings; the same object serves every Star of a run.

    One that is there for clients, to hide or protect them, has `innermost = True`: as the run's merge it is that of
    Stars in which clients' own models meet, and what comes out of these is merged by the mean. One that shows nobody a
    single model has `hides = True`. One that may be given the weighted mean of some models, with the sum of their
    weights, in place of them has `averages = True`: executors then add up where models are.
    """

    def open(self, gathering: Gathering) -> Merging:
        """Begin one merge."""


_OWN = "a class with open(gathering), which gives an object with add(member, model, weight) and close(missing)"

MERGES: Registry[Callable[..., Merge]] = Registry("merge", own_class(_OWN, "open"))


def make_merge(word: str) -> Merge:
    """A merge from a word such as `mean` or `trimmed-mean:share=0.2`.

    >>> make_merge("mean")
    Mean()
    """
    names = [part.partition(":")[0] for part in word.split("+")] if isinstance(word, str) else []
    if len(names) > 1 and "secure" in names:
        other = next((name for name in names if name != "secure"), "secure")
        raise BadValue(
            "merge",
            word,
            f"secure or {other}: a server that must not see single models cannot compare them (client_merge=secure "
            f"with merge={other} hides clients in groups and compares the groups)",
        )
    return words.make(MERGES, word, field="merge")


class Merges:
    """The merges of a run: of a Star that names one, of Stars in which clients' own models meet, and of all others.

    `clients`, where given, is the word for clients' own models.
    """

    def __init__(self, default: str = "mean", clients: str | None = None) -> None:
        self.clients, self.servers = make_merge(clients or default), make_merge(default)
        if clients is None and getattr(self.clients, "innermost", False):
            self.servers = make_merge("mean")
        self._named: dict[str, Merge] = {}

    def __call__(self, word: str | None, own: bool = False) -> Merge:
        """The merge of a Star that names this word, or none; `own`: clients' own models meet in it."""
        if word is None:
            return self.clients if own else self.servers
        if own and getattr(self.clients, "hides", False):
            raise BadPlan(f"a Star names the merge {word!r}, which would see the models that the run's merge hides")
        if word not in self._named:
            self._named[word] = make_merge(word)
        return self._named[word]


def meets_clients(star: Star) -> bool:
    """Whether clients' own models meet in a Star, and not only what came out of other merges.

    >>> from covey.plan import Ring, Train
    >>> group = Star([Train(0), Ring([Train(1), Train(2)])])
    >>> meets_clients(group), meets_clients(Star([group, group]))
    (True, False)
    """

    def own(plan: Plan) -> bool:
        return isinstance(plan, Train) or (isinstance(plan, Ring) and any(map(own, plan.children)))

    return any(map(own, star.children))


def clients_meeting(plan: Plan) -> list[list[int]]:
    """The clients of every Star in which clients' own models meet: the groups of a plan."""
    if isinstance(plan, Train):
        return []
    if isinstance(plan, Star) and meets_clients(plan):
        return [sorted(clients(plan))]
    return [group for child in plan.children for group in clients_meeting(child)]


def merged(merge: Merge, models: list[Model], weights: list[float], *, trained: int | None = None) -> Model:
    """These models merged at once by a `merge`, with these weights; `trained` as in `Gathering`."""
    merging = merge.open(Gathering(((),) * len(models), models[0], trained=trained))
    for member, (model, weight) in enumerate(zip(models, weights, strict=True)):
        if weight > 0:
            merging.add(member, model, weight)
    return merging.close(())
