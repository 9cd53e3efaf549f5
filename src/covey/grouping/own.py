"""A user's own grouping: a plain function that names what it wants and gives lists of clients."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from covey.errors import BadValue
from covey.grouping.base import Grouping
from covey.outside import Unloadable, guarded
from covey.registry import WrongKind

ALWAYS = ("groups", "min_size", "rng")


def own_grouping(thing: object) -> Callable[..., Grouping]:
    """The grouping that a function is; it is given what it names, and may give lists of clients.

    Its first parameter is the table of labels. Of `groups`, `min_size`, `rng` and the inputs (edges, distances,
    updates, sizes) it gets those it has parameters for; every other parameter is an option. Clients in none of its
    groups are left out.

    >>> halves = own_grouping(lambda labels: (range(len(labels) // 2), range(len(labels) // 2, len(labels))))
    >>> halves(np.ones((4, 2)), groups=None, min_size=None, rng=np.random.default_rng(0)).groups
    ((0, 1), (2, 3))
    """
    if not inspect.isfunction(thing):
        raise WrongKind("a function of the clients' labels that gives lists of clients")
    first, *others = inspect.signature(thing).parameters.values()
    takes = {p.name for p in others}

    @wraps(thing)
    def grouping(labels: Any, **given: Any) -> Grouping:
        wanted = {name: value for name, value in given.items() if name in takes}
        try:
            return _grouping(guarded(lambda: thing(labels, **wanted)), len(labels))
        except Unloadable as error:
            raise BadValue("grouping", thing.__name__, f"one that can group these clients ({error})") from error

    named = [p.replace(kind=p.KEYWORD_ONLY) for p in others if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    more = [inspect.Parameter(name, first.KEYWORD_ONLY, default=None) for name in ALWAYS if name not in takes]
    grouping.__signature__ = inspect.Signature([first, *more, *named])  # type: ignore[attr-defined]
    return grouping


def _grouping(found: object, clients: int) -> Grouping:
    """What the function gave, as a grouping of this many clients."""
    if isinstance(found, Grouping):
        groups, left_out = [list(members) for members in found.groups], found.left_out
    else:
        groups = [np.asarray(list(members)).tolist() for members in found]  # type: ignore[attr-defined]
        grouped = {i for members in groups for i in members}
        left_out = tuple(i for i in range(clients) if i not in grouped)
    everybody = [i for members in (*groups, left_out) for i in members]
    if not all(isinstance(i, int) for i in everybody) or sorted(everybody) != list(range(clients)) or not all(groups):
        raise Unloadable(f"its groups are not lists of clients from 0 to {clients - 1}, each in one at most")
    if isinstance(found, Grouping):
        return found
    return Grouping(tuple(map(tuple, groups)), left_out=left_out)
