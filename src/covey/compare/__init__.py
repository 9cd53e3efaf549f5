"""Several runs side by side: what is compared (`comparison`), the runs themselves (`work`), what came out (`rows`)."""

from covey.compare.comparison import Cell, Comparison, Entry, seeds_from
from covey.compare.rows import Row, Verdict, rows_of, verdicts
from covey.compare.work import Done, carry_out

__all__ = [
    "Cell",
    "Comparison",
    "Done",
    "Entry",
    "Row",
    "Verdict",
    "carry_out",
    "rows_of",
    "seeds_from",
    "verdicts",
]
