from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue, UnknownName
from covey.network.crew import Windows, mix, stragglers


@given(
    st.integers(1, 200),
    st.lists(st.floats(0, 10), min_size=1, max_size=3).filter(lambda s: sum(s) > 1e-3),
    st.integers(0, 99),
)
def test_counts_follow_the_shares(clients, shares, seed):
    names = ["phone-5gflops", "phone-250gflops", "chip-567gflops"][: len(shares)]
    crew = mix(dict(zip(names, shares, strict=True)), clients, np.random.default_rng(seed))
    counts = Counter(made.name for made in crew)
    assert len(crew) == clients
    for name, share in zip(names, shares, strict=True):
        assert abs(counts[name] - clients * share / sum(shares)) < 1
    assert crew == mix(dict(zip(names, shares, strict=True)), clients, np.random.default_rng(seed))


def test_text_and_single_devices():
    rng = np.random.default_rng(0)
    assert {made.name for made in mix("phone-5gflops", 5, rng)} == {"phone-5gflops"}
    assert Counter(made.speed for made in mix("5GFLOPS:1, 10GFLOPS:1", 6, rng)) == {5e9: 3, 10e9: 3}


def test_the_order_is_drawn():
    orders = {tuple(made.name for made in mix("5GFLOPS,9GFLOPS", 20, np.random.default_rng(s))) for s in range(5)}
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ("phone-5gflops:x", "share of phone-5gflops is 'x'; allowed is a number"),
        ("phone-5gflops:nan", "share of phone-5gflops is 'nan'"),
        ("phone-5gflops:1e999", "share of phone-5gflops is '1e999'"),
        ("phone-5gflops:", "share of phone-5gflops is ''"),
        ("phone-5gflops:1,phone-5gflops:2", "a mix that has 'phone-5gflops' once"),
        ("phone-5gflops:-1", "device is"),
        ("phone-5gflops:0", "device is"),
        ({}, "device is"),
    ],
)
def test_bad_shares(bad, sentence):
    with pytest.raises(BadValue, match=sentence):
        mix(bad, 3, np.random.default_rng(0))


def test_shares_may_be_as_large_as_numbers_are():
    crew = mix("5GFLOPS:1e308,9GFLOPS:1e308,7GFLOPS:0", 6, np.random.default_rng(0))
    assert Counter(made.speed for made in crew) == {5e9: 3, 9e9: 3}


def test_unknown_devices():
    with pytest.raises(UnknownName):
        mix("fridge:1", 3, np.random.default_rng(0))


def test_stragglers_are_as_many_as_the_share_says():
    factors = stragglers(10, share=0.3, slowdown=4, rng=np.random.default_rng(0))
    assert Counter(factors.tolist()) == {1.0: 7, 4.0: 3}
    assert (stragglers(5, share=0, slowdown=4, rng=np.random.default_rng(0)) == 1).all()
    with pytest.raises(BadValue, match=r"share of stragglers is 1\.5"):
        stragglers(5, share=1.5, slowdown=4, rng=np.random.default_rng(0))
    with pytest.raises(BadValue, match=r"slowdown is 0\.5"):
        stragglers(5, share=0.5, slowdown=0.5, rng=np.random.default_rng(0))


@given(st.integers(1, 6), st.floats(0, 100), st.data())
def test_exactly_one_window_is_open_at_any_time(parts, time, data):
    windows = Windows(list(range(parts)), parts=parts, day=7.0)
    awake = [i for i in range(parts) if windows.awake(i, time)]
    assert len(awake) == 1
    client = data.draw(st.integers(0, parts - 1))
    opens = windows.next_awake(client, time)
    assert time <= opens < time + 7.0 + 1e-9
    assert windows.awake(client, opens)


def test_work_pauses_at_night():
    # a day of 10 s in 2 windows: client 1 is awake in [5, 10), [15, 20), [25, 30)
    windows = Windows([0, 1], parts=2, day=10.0)
    assert windows.finish(1, 0.0, 2.0) == 7  # waits until 5
    assert windows.finish(1, 6.0, 4.0) == 10  # ends with its window
    assert windows.finish(1, 6.0, 5.0) == 16  # 4 s until 10, 1 s from 15
    assert windows.finish(1, 6.0, 9.0) == 20  # 4 s, and all 5 of the next window
    assert windows.finish(1, 6.0, 10.0) == 26
    assert windows.finish(0, 12.0, 0.0) == 12


@given(st.integers(0, 3), st.floats(0, 100), st.floats(0.01, 60))
def test_work_takes_as_long_awake_as_it_needs(client, time, seconds):
    windows = Windows(list(range(4)), parts=4, day=8.0)  # windows of 2 s
    done = windows.finish(client, time, seconds)
    starts = [day * 8.0 + client * 2.0 for day in range(60)]
    awake = sum(max(0.0, min(done, opens + 2) - max(time, opens)) for opens in starts)
    assert awake == pytest.approx(seconds)


def test_bad_windows():
    with pytest.raises(BadValue, match="window_of is \\[0, 2\\]; allowed is windows from 0 to 1"):
        Windows([0, 2], parts=2)
    with pytest.raises(BadValue, match="availability"):
        Windows([0], parts=0)
