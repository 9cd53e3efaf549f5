"""Who trains with whom: groupings by name, and what they are worth.

`group("cov", labels, min_size=5, rng=rng)` calls a grouping by name, `covey.grouping.cov.cov(…)` the same directly.
"""

from covey.grouping import (  # noqa: F401 (each registers its groupings)
    astraea,
    cdg,
    cov,
    emd,
    icg,
    ihc,
    kldg,
    kmedoids,
    qcid,
    simple,
    updates,
)
from covey.grouping.auto import Choice, choose_groups
from covey.grouping.base import GROUPINGS, INPUTS, Grouping, Labels, check_labels, how_many
from covey.grouping.by_name import group, keeps_to_edges, missing, options
from covey.grouping.hops import EdgeHops
from covey.grouping.local_search import swap_search
from covey.grouping.measures import Measures, measure

__all__ = [
    "GROUPINGS",
    "INPUTS",
    "Choice",
    "EdgeHops",
    "Grouping",
    "Labels",
    "Measures",
    "check_labels",
    "choose_groups",
    "group",
    "how_many",
    "keeps_to_edges",
    "measure",
    "missing",
    "options",
    "swap_search",
]
