"""What covey raises when the fault is not covey's: one clear sentence each.

The command line prints these sentences and exits with code 2; everything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

_LONGEST = 200


def shown(value: object) -> str:
    """A value in an error: on one line, and cut where it is long.

    >>> shown([1, 2]), shown(10**5000), len(shown("x" * 1000))
    ('[1, 2]', 'a number of more than 4300 digits', 200)
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # what Python says of such numbers
        return f"a number of more than {sys.get_int_max_str_digits()} digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


class CoveyError(Exception):
    """Base of every error that tells a person what to change."""


class BadValue(CoveyError, ValueError):
    """A setting outside what is allowed.

    >>> raise BadValue("rounds", -1, "a whole number from 1 up")
    Traceback (most recent call last):
    covey.errors.BadValue: rounds is -1; allowed is a whole number from 1 up
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field, self.value, self.allowed = field, value, allowed
        super().__init__(f"{field} is {shown(value)}; allowed is {allowed}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again in another process, with the value as it is shown, for it may be anything."""
        return _remade, (type(self), str(self), self.field, shown(self.value), self.allowed)


def _remade(kind: type[BadValue], text: str, field: str, value: str, allowed: str) -> BadValue:
    error = kind.__new__(kind, text)
    error.field, error.value, error.allowed = field, value, allowed
    return error


class UnknownName(BadValue, LookupError):
    """A name that nothing is registered under; the nearest name comes first.

    >>> raise UnknownName("algorithm", "fedavgg", ["fedavg", "ring"])
    Traceback (most recent call last):
    covey.errors.UnknownName: algorithm is 'fedavgg'; allowed is one of fedavg (did you mean 'fedavg'?), ring
    """

    def __init__(self, field: str, value: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(value, names, n=1, cutoff=0.5)
        told = [f"{name} (did you mean {name!r}?)" for name in near] + [name for name in names if name not in near]
        super().__init__(field, value, f"one of {', '.join(told)}")


class BadPlan(CoveyError, ValueError):
    """A plan that means nothing: an empty node, weights of the wrong length, one-way links, an unknown client."""


class BadData(CoveyError, ValueError):
    """A data file that is missing, truncated, corrupt or not in the format its name promises."""


class Stopped(CoveyError):
    """What a person stopped with Ctrl-C; the text says how to go on."""


class RunFailed(CoveyError, RuntimeError):
    """A run that cannot go on (quorum not met, disk full); what it had is kept and can be resumed."""


def first_fault(error: ValidationError, owner: str) -> BadValue:
    """The first thing that is wrong, in one sentence; `owner` where no field is to blame."""
    first = error.errors()[0]
    if isinstance(fault := first.get("ctx", {}).get("error"), BadValue):
        return fault
    wanted = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    kind = "a number " if wanted.startswith(("greater", "less")) else ""
    return BadValue(".".join(map(str, first["loc"])) or owner, first["input"], kind + wanted)
