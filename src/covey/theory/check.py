"""Refusing numbers for which a bound means nothing."""

from __future__ import annotations

from math import isfinite

from covey.errors import BadValue


def positive(**values: float) -> None:
    """Refuse what is not a finite number above 0.

    >>> positive(eta=0.1, beta=0)
    Traceback (most recent call last):
    covey.errors.BadValue: beta is 0; allowed is a finite number above 0
    """
    for name, value in values.items():
        if not (isfinite(value) and value > 0):
            raise BadValue(name, value, "a finite number above 0")


def not_negative(**values: float) -> None:
    """Refuse what is not a finite number from 0 up."""
    for name, value in values.items():
        if not (isfinite(value) and value >= 0):
            raise BadValue(name, value, "a finite number from 0 up")


def count(**values: float) -> None:
    """Refuse what is not a whole number from 1 up."""
    for name, value in values.items():
        if not (isfinite(value) and value >= 1 and value == int(value)):
            raise BadValue(name, value, "a whole number from 1 up")
