"""Several runs side by side: what is compared (`comparison`), the runs themselves (`work`), what came out (`rows`)."""

from covey.compare.comparison import Cell, Comparison, Entry, seeds_from
from covey.compare.rows import Row, Verdict, judged, mean_of, rows_of, spread_of, verdicts
from covey.compare.work import Done, carry_out

__all__ = [
    "Cell",
    "Comparison",
    "Done",
    "Entry",
    "Row",
    "Verdict",
    "carry_out",
    "judged",
    "mean_of",
    "rows_of",
    "seeds_from",
    "spread_of",
    "verdicts",
]
