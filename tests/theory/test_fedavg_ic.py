from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.theory import Divergences, divergences, drift, fedavg_ic_bound, interval_delay

few = st.integers(1, 20)
settings_ = {"eta": 0.1, "beta": 2.0, "rho": 3.0, "omega": 0.5}


def test_drift_by_hand():
    # One step parts models by eta x divergence: 5/4 (0.1 x 4 + 1 - 1) = 0.5
    assert drift(5, 1, eta=0.1, beta=4) == pytest.approx(0.5)
    # Two steps: 5/4 (1.4^2 - 1) = 1.2
    assert drift(5, 2, eta=0.1, beta=4) == pytest.approx(1.2)
    assert drift(5, 0, eta=0.1, beta=4) == 0


def test_a_drift_beyond_floats_is_infinite_unless_nothing_diverges():
    assert drift(1, 10_000, eta=1, beta=1) == inf
    assert drift(0, 10_000, eta=1, beta=1) == 0


@given(st.data())
def test_gradient_descent_stays_within_the_drift(data):
    # Clients with losses a_i/2 (w - c_i)^2, a_i <= beta = 1, descend alone from one model for tau steps. The mean of
    # their distances from the model that descends on all data is at most drift(D, tau), D measured along its way.
    clients = data.draw(st.integers(2, 5))
    draw = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    curve, centre = draw.uniform(0, 1, clients), draw.normal(size=clients)
    sizes = draw.integers(1, 9, clients)
    eta, tau = draw.uniform(0.01, 1), data.draw(st.integers(1, 12))
    share = sizes / sizes.sum()
    alone, together, met = np.zeros(clients), 0.0, []
    for _ in range(tau):
        met.append((curve * (together - centre))[:, None])
        alone = alone - eta * curve * (alone - centre)
        together = together - eta * share @ (curve * (together - centre))
    measured = divergences(met, sizes, [range(clients)])
    assert share @ np.abs(alone - together) <= drift(measured.D, tau, eta=eta, beta=1) + 1e-9


def test_bound_by_hand():
    # 1/(2 x 2 x 3 x 0.1 x 0.5) + 3 (4/2 (1.2^2 - 1) + 1/2 (1.2^6 - 1))
    expected = 1 / 0.6 + 3 * (2 * 0.44 + 0.5 * (1.2**6 - 1))
    assert fedavg_ic_bound(Divergences(4, 1, 9), tau1=2, tau2=3, **settings_) == pytest.approx(expected)


def test_without_divergence_only_the_way_to_go_is_left():
    assert fedavg_ic_bound(Divergences(0, 0, 0), tau1=1, tau2=1, **settings_) == pytest.approx(1 / (2 * 0.1 * 0.5))


def test_with_one_step_each_both_divergences_weigh_alike():
    one, other = Divergences(5, 1, 0), Divergences(1, 5, 0)
    assert fedavg_ic_bound(one, tau1=1, tau2=1, **settings_) == pytest.approx(
        fedavg_ic_bound(other, tau1=1, tau2=1, **settings_)
    )


@given(few, st.integers(2, 10), st.floats(0.1, 10))
def test_big_delta_dominates(tau1, tau2, amount):
    # Remark 1: with group rounds, a group that is unlike all costs more than clients that are unlike their group.
    unlike_group = fedavg_ic_bound(Divergences(amount, 0, 0), tau1=tau1, tau2=tau2, **settings_)
    unlike_all = fedavg_ic_bound(Divergences(0, amount, 0), tau1=tau1, tau2=tau2, **settings_)
    assert unlike_all > unlike_group


@given(few, few, st.floats(0, 10), st.floats(0, 10), st.floats(0, 10))
def test_more_divergence_never_lowers_the_bound(tau1, tau2, delta, big_delta, more):
    bound = fedavg_ic_bound(Divergences(delta, big_delta, 0), tau1=tau1, tau2=tau2, **settings_)
    assert fedavg_ic_bound(Divergences(delta + more, big_delta, 0), tau1=tau1, tau2=tau2, **settings_) >= bound
    assert fedavg_ic_bound(Divergences(delta, big_delta + more, 0), tau1=tau1, tau2=tau2, **settings_) >= bound


def test_delay_of_an_interval():
    # Every fifth aggregation is a global one: 4 x 2 + 10.
    assert interval_delay(d_group=2, d_global=10, tau2=5) == 18
    assert interval_delay(d_group=2, d_global=10, tau2=1) == 10


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"eta": 0.6}, "eta"),  # above 1/beta = 0.5
        ({"eta": 0.0}, "eta"),
        ({"beta": -1.0}, "beta"),
        ({"rho": inf}, "rho"),
        ({"omega": 0.0}, "omega"),
        ({"tau1": 0}, "tau1"),
        ({"tau2": 1.5}, "tau2"),
    ],
)
def test_what_makes_no_sense_is_refused(change, field):
    given_ = {"tau1": 1, "tau2": 1, **settings_} | change
    with pytest.raises(BadValue) as caught:
        fedavg_ic_bound(Divergences(1, 1, 1), **given_)
    assert caught.value.field == field


def test_negative_divergence_is_refused():
    with pytest.raises(BadValue, match="divergence is -1"):
        drift(-1, 2, eta=0.1, beta=1)
