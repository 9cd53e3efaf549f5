"""Small faults put into the source, one at a time, to see whether a test notices.

    python -m tools.mutants --help

`mutate` makes the faults, `draw` says which are tried with which tests; `python -m tools.mutants` runs these and prints
what went unnoticed.
"""
