"""The tables and figures of the five papers, each a file of `covey.compare` in `papers/`, and what came out of them."""

from covey.reproduce.catalogue import Item, find, items, missing_data, state_of
from covey.reproduce.result import Result, result_of

__all__ = ["Item", "Result", "find", "items", "missing_data", "result_of", "state_of"]
