"""Groups that are too small are left out: what the code of Group-FEL's authors does after every grouping."""

from __future__ import annotations

from collections.abc import Sequence

from covey.errors import BadValue
from covey.grouping.base import Grouping


def without_short(found: Sequence[Sequence[int]], least: int) -> Grouping:
    """The groups of at least that many clients; the clients of all others are left out.

    >>> without_short([[0, 3], [1], [2, 4]], 2)
    Grouping(groups=((0, 3), (2, 4)), left_out=(1,), heads=None, links=None)
    """
    whole = tuple(tuple(members) for members in found if len(members) >= least)
    return Grouping(whole, left_out=tuple(i for members in found if len(members) < least for i in members))


def check_someone_is_left(grouping: Grouping, method: str) -> Grouping:
    """The grouping, or `BadValue` where every group was too small."""
    if not len(grouping):
        raise BadValue("drop", True, f"False for this fleet, or a lower min_size: no group of {method} is large enough")
    return grouping
