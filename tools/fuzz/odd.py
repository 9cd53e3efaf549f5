"""Odd texts and numbers: what a person mistypes, a stranger tries and a program writes by accident."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = [
    "", " ", "\t", "-", ":", "::", "a:", ":1", ",", ";", "=", "a=b", "%s", "{0}", "{}", "[]", "[1, 2]", "null",
    "None", "true", "nan", "inf", "-inf", "-1", "0", "1e400", "1_000", "0x10", "٣", "²", "½", "1,5", "1e-320",
    "9" * 30, "9" * 5000, "x" * 300, "[/s]", "[bold]b[/bold]", ":smile:", "\x1b[31mred", "\x07", "a\u202eb", "ü",
    "\udcff", "\ufeff", "\U0001f600", "a\nb", "os:abort", "sys:exit", "builtins:exit", "./mine.py:Pairs", "../..",
    "/", "/dev/zero", "/dev/stdin", ".", "con", "CON.csv", "fedavg", "digits", "star", "mean", "sgd", "adam", "iid",
    "natural", "edges", "auto",
]  # fmt: skip
WHOLE = [-(2**63), -1, 0, 1, 2, 3, 4, 7, 10**12, 10**18, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30, 10**400]
REAL = [
    -1.0,
    -0.0,
    0.0,
    1e-320,
    1e-300,
    1e-9,
    0.01,
    0.1,
    0.3,
    0.5,
    0.99,
    1.0,
    1.5,
    2.0,
    30.0,
    1e9,
    1e38,
    1e300,
    1.7e308,
]

texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=12))
wholes = st.sampled_from(WHOLE)
reals = st.one_of(st.sampled_from(REAL), st.floats())
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(texts, wholes, reals, st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=2)),
    max_leaves=4,
)
json_values = st.one_of(st.none(), values)


def word(names: list[str]) -> st.SearchStrategy[str]:
    """A word that names a part and sets it, or nearly: `fedprox:0.01`, `adam:rate=0.1,beta1=x`."""
    number = st.sampled_from(["0", "1", "2", "3", "0.1", "0.5", "0.01", "-1", "1e300", "nan", "10", "0.2:5", "9" * 20])
    field = st.sampled_from(["rate", "beta1", "share", "alpha", "mu", "value", "x", ""])
    argument = st.one_of(number, st.builds("{}={}".format, field, number), texts)
    arguments = st.lists(argument, min_size=1, max_size=3).map(",".join)
    name = st.sampled_from(names)
    return st.one_of(name, st.builds("{}:{}".format, name, arguments))
