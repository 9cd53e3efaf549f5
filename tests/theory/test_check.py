from math import inf, nan

import pytest

from covey.errors import BadValue
from covey.theory.check import count, not_negative, positive


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (positive, [1e-9, 1, 1e9], [0, -1, inf, nan]),
        (not_negative, [0, 1e-9, 1e9], [-1e-9, inf, nan]),
        (count, [1, 2.0, 10**9], [0, -1, 1.5, inf, nan]),
    ],
)
def test_checks(check, good, bad):
    for value in good:
        check(x=value)
    for value in bad:
        with pytest.raises(BadValue, match=f"x is {value}"):
            check(fine=1, x=value)
