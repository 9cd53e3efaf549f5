"""What a device was measured to need: the curves of `covey bench-groupops`, as a file.

A profile is TOML: under `training` the coefficients of n and 1 in the seconds of an epoch over n samples, under
`group_costs` those of g^2, g and 1 in the seconds that a group operation takes each member of a group of g clients.
Eq. 5's prices, the clock and `covey group` read it; `FILE.toml` means its secure aggregation, `FILE.toml:OPERATION`
another operation.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from covey.errors import BadData, UnknownName
from covey.prices import PRICES, Prices

SECURE = "secure-aggregation"


@dataclass(frozen=True)
class Profile:
    """Curves by name: `training` by local rule, `group_costs` by group operation; `notes` say how it was measured."""

    training: Mapping[str, tuple[float, float]]
    group_costs: Mapping[str, tuple[float, float, float]]
    notes: Mapping[str, Any] = field(default_factory=dict)

    def prices(self, operation: str = SECURE) -> Prices:
        """What Eq. 5 needs: plain training, and one group operation."""
        return Prices(self.group_cost(operation), self.training["sgd"])

    def group_cost(self, operation: str = SECURE) -> tuple[float, float, float]:
        """The curve of one group operation."""
        if operation not in self.group_costs:
            raise UnknownName("group operation", operation, self.group_costs)
        return self.group_costs[operation]

    def write(self, path: Path) -> None:
        """Write the file that `read` reads."""
        lines = [f"{name} = {_text(value)}" for name, value in self.notes.items()]
        for table, curves in (("training", self.training), ("group_costs", self.group_costs)):
            lines += ["", f"[{table}]"] + [f"{name} = {_text(list(curve))}" for name, curve in curves.items()]
        path.write_text("\n".join(lines).lstrip("\n") + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Profile:
        """A profile from a file."""
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise BadData(f"profile {path} cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits and deep nesting, too
            raise BadData(f"profile {path} is not TOML: {error}") from None
        tables = {}
        for table, length in (("training", 2), ("group_costs", 3)):
            curves = found.pop(table, None)
            if not isinstance(curves, dict) or not curves:
                raise BadData(f"profile {path} has no table [{table}]; covey bench-groupops --out writes one")
            for name, curve in curves.items():
                if not _is_curve(curve, length):
                    raise BadData(f"profile {path}: {name} in [{table}] is {curve!r}; expected are {length} numbers")
            tables[table] = {name: tuple(map(float, curve)) for name, curve in curves.items()}
        if "sgd" not in tables["training"]:
            raise BadData(f"profile {path} has no sgd in [training]")
        return cls(**tables, notes=found)  # type: ignore[arg-type]


def is_profile(word: str) -> bool:
    """Whether a word names a file with a profile: `FILE.toml`, or `FILE.toml:OPERATION`.

    >>> is_profile("pi.toml:backdoor-detection"), is_profile("cifar-secure")
    (True, False)
    """
    return ".toml" in word


def split(word: str) -> tuple[Profile, str]:
    """The profile and the group operation that such a word names."""
    file, _, operation = word.partition(".toml:")
    return Profile.read(Path(file.removesuffix(".toml") + ".toml")), operation or SECURE


def make_prices(word: str) -> Prices:
    """Prices by name, or those of a profile.

    >>> make_prices("cifar-secure") is PRICES["cifar-secure"]
    True
    """
    if not is_profile(word):
        return PRICES[word]
    profile, operation = split(word)
    return profile.prices(operation)


def fit(x: Sequence[float], y: Sequence[float], degree: int) -> tuple[tuple[float, ...], float]:
    """The polynomial nearest to some points, the highest power first, and its R^2.

    >>> curve, r2 = fit([1, 2, 3, 4], [3, 6, 11, 18], 2)  # g^2 + 2
    >>> [round(c, 6) + 0.0 for c in curve], round(r2, 6)
    ([1.0, 0.0, 2.0], 1.0)
    """
    curve = np.polyfit(x, y, degree)
    left = np.asarray(y) - np.polyval(curve, x)
    spread = np.asarray(y) - np.mean(y)
    total = float(spread @ spread)
    return tuple(curve.tolist()), 1 - float(left @ left) / total if total else 1.0


def _is_curve(curve: Any, length: int) -> bool:
    if not isinstance(curve, list) or len(curve) != length:
        return False
    return all(isinstance(c, int | float) and not isinstance(c, bool) and math.isfinite(c) for c in curve)


def _text(value: Any) -> str:
    """A number, a text or a list of them as TOML has it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
