"""Who trains with whom: groupings by name, and what they are worth."""

from covey.grouping.astraea import astraea
from covey.grouping.base import (
    GROUPINGS,
    INPUTS,
    Grouping,
    Labels,
    check_labels,
    group,
    how_many,
    missing,
    options,
)
from covey.grouping.cdg import cdg
from covey.grouping.cov import cov
from covey.grouping.icg import icg
from covey.grouping.kldg import kldg
from covey.grouping.local_search import swap_search
from covey.grouping.measures import Measures, measure
from covey.grouping.qcid import qcid
from covey.grouping.simple import edge, random

__all__ = [
    "GROUPINGS",
    "INPUTS",
    "Grouping",
    "Labels",
    "Measures",
    "astraea",
    "cdg",
    "check_labels",
    "cov",
    "edge",
    "group",
    "how_many",
    "icg",
    "kldg",
    "measure",
    "missing",
    "options",
    "qcid",
    "random",
    "swap_search",
]
