"""Who trains with whom: groupings by name, and what they are worth.

`group("cov", labels, min_size=5, rng=rng)` calls a grouping by name, `covey.grouping.cov.cov(…)` the same directly.
"""

from covey.grouping import (  # noqa: F401 (each registers its groupings)
    astraea,
    cdg,
    cov,
    emd,
    icg,
    kldg,
    kmedoids,
    qcid,
    simple,
    updates,
)
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
from covey.grouping.local_search import swap_search
from covey.grouping.measures import Measures, measure

__all__ = [
    "GROUPINGS",
    "INPUTS",
    "Grouping",
    "Labels",
    "Measures",
    "check_labels",
    "group",
    "how_many",
    "measure",
    "missing",
    "options",
    "swap_search",
]
