"""Thousands of inputs that are odd, damaged or forged, and what covey must not do with any of them.

    python -m tools.fuzz --help

`damage` and `odd` are what inputs are made of; `settings`, `tables` and `stores` the kinds of inputs; `call` is one
covey in a process of its own; `judge` says what is a fault.
"""
