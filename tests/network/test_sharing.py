import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.network.sharing import FairShares, max_min

LINKS = 6
paths = st.lists(st.lists(st.integers(0, LINKS - 1), min_size=1, max_size=4, unique=True), min_size=1, max_size=12)
capacities = st.lists(st.floats(0.1, 100.0), min_size=LINKS, max_size=LINKS)


def table(flows, dummy):
    deep = max(map(len, flows))
    return np.array([[*flow, *[dummy] * (deep - len(flow))] for flow in flows]).T


@given(paths, capacities)
def test_rates_are_those_of_the_textbook(reference, flows, capacity):
    fast = max_min(table(flows, LINKS), np.array([*capacity, np.inf]))
    assert fast == pytest.approx(reference.max_min(flows, capacity), rel=1e-9)


@given(paths, capacities)
def test_every_flow_has_a_bottleneck_and_no_link_is_overfull(flows, capacity):
    rates = max_min(table(flows, LINKS), np.array([*capacity, np.inf]))
    on = [[f for f, flow in enumerate(flows) if link in flow] for link in range(LINKS)]
    load = np.array([rates[f].sum() for f in on])
    assert (load <= np.array(capacity) * (1 + 1e-9)).all()
    for f, flow in enumerate(flows):
        assert any(
            load[link] >= capacity[link] * (1 - 1e-9) and rates[f] >= max(rates[on[link]]) * (1 - 1e-9) for link in flow
        )


def test_parking_lot():
    # link 0 of 10 with the long flow and one short; link 1 of 4 with the long flow and three short ones
    rates = max_min(table([[0, 1], [0], [1], [1], [1]], 2), np.array([10.0, 4.0, np.inf]))
    # 4 / 4 = 1 is the least share: link 1 holds its four flows at 1; link 0 has 10 - 1 left for its one short flow
    assert rates.tolist() == [1.0, 9.0, 1.0, 1.0, 1.0]


def test_two_bottlenecks():
    # link 0 of 6 with flows a, b; link 1 of 10 with b, c; b is held at 6 / 2 = 3 by link 0, c gets 10 - 3
    assert max_min(table([[0], [0, 1], [1]], 2), np.array([6.0, 10.0, np.inf])).tolist() == [3.0, 3.0, 7.0]


@settings(max_examples=60)
@given(
    capacities,
    st.lists(
        st.tuples(
            st.lists(st.lists(st.integers(0, LINKS - 1), min_size=1, max_size=4, unique=True), max_size=4),
            st.lists(st.integers(0, 99), max_size=3),
        ),
        min_size=1,
        max_size=12,
    ),
)
def test_rates_stay_right_as_flows_come_and_go(reference, capacity, story):
    shares, flows = FairShares(np.array(capacity)), []
    for come, go in story:
        for flow in come:
            shares.add(flow)
            flows.append(flow)
        slots = np.array(sorted({slot for slot in go if slot < len(flows)}), dtype=np.int64)
        if len(slots):
            holes, last = shares.remove(slots)
            for hole, mover in zip(holes.tolist(), last.tolist(), strict=True):
                flows[hole] = flows[mover]
            del flows[shares.count :]
        shares.refill()
        assert shares.rates.tolist() == pytest.approx(reference.max_min(flows, capacity), rel=1e-9)
        load = [
            sum(rate for rate, flow in zip(shares.rates, flows, strict=True) if link in flow) for link in range(LINKS)
        ]
        assert shares.load[:LINKS].tolist() == pytest.approx(load, rel=1e-9, abs=1e-9)


def test_many_refills_do_not_drift(reference):
    rng = np.random.default_rng(0)
    shares, flows = FairShares(np.full(5, 3.0)), []
    for step in range(1000):
        flow = rng.choice(5, rng.integers(1, 4), replace=False).tolist()
        shares.add(flow)
        flows.append(flow)
        if len(flows) > 20:
            slot = int(rng.integers(len(flows)))
            shares.remove(np.array([slot]))
            flows[slot] = flows[-1]
            flows.pop()
        shares.refill()
        if step % 100 == 99:
            assert shares.rates.tolist() == pytest.approx(reference.max_min(flows, [3.0] * 5), rel=1e-10)
