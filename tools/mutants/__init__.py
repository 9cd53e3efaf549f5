"""Small faults put into the source, one at a time, to see whether a test notices.

    python -m tools.mutants --help

`mutate` makes the faults; `python -m tools.mutants` draws some of them, runs the tests near each, and prints what went
unnoticed.
"""
