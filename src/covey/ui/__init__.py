"""A local web page on a run store: runs, comparisons, groupings, plans."""
