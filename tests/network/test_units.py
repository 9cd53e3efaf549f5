import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.network import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10MB/s", 10e6),
        ("10 MB/s", 10e6),
        ("10MBps", 10e6),
        ("100Mbps", 100e6 / 8),
        ("100Mbit/s", 100e6 / 8),
        ("1GiB/s", 2.0**30),
        ("8b/s", 1.0),
        ("1e3B/s", 1000.0),
        (2500, 2500.0),
    ],
)
def test_rates(text, expected):
    assert units.rate(text) == expected


def test_times_sizes_and_speeds():
    assert units.seconds("1ms") == 1e-3
    assert units.seconds("250 us") == pytest.approx(250e-6)
    assert units.seconds(0) == 0
    assert units.size("1KiB") == 1024
    assert units.speed("250GFLOPS") == 250e9
    assert units.speed("1.5 TFLOP/s") == 1.5e12


@pytest.mark.parametrize("text", ["10", "10 MB", "0MB/s", "-1MB/s", "fast", "10mb/s", "1e999MB/s", "", "nanMB/s"])
def test_a_rate_needs_a_known_unit_and_more_than_nothing(text):
    with pytest.raises(BadValue, match=r"capacity is .*; allowed is a rate above 0, such as 10MB/s"):
        units.rate(text)


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan])
def test_bare_numbers_are_checked_too(value):
    with pytest.raises(BadValue):
        units.rate(value)
    with pytest.raises(BadValue):
        units.speed(value)


def test_a_latency_may_be_none_at_all_but_not_negative():
    assert units.seconds("0s") == 0
    with pytest.raises(BadValue, match="latency is '-1ms'"):
        units.seconds("-1ms")
    with pytest.raises(BadValue, match="latency is '1 fortnight'"):
        units.seconds("1 fortnight")


@given(st.floats(0.001, 1e6), st.sampled_from(sorted(units.RATES)))
def test_reading_what_was_written(number, unit):
    assert units.rate(f"{number!r}{unit}") == number * units.RATES[unit]
