import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.fleet import Fleet
from covey.sampling import group_odds, sample_clients, sample_groups

SAMPLINGS = ["uniform", "rcov", "srcov", "ercov", "esrcov"]
covs = st.lists(st.floats(0, 3), min_size=1, max_size=30)


def test_odds_by_hand():
    # 1/CoV is 2 and 1: weights 2 : 1, 4 : 1, e^2 : e^1 and e^4 : e^1.
    assert np.exp(group_odds([0.5, 1.0], "rcov")) == pytest.approx([2 / 3, 1 / 3])
    assert np.exp(group_odds([0.5, 1.0], "srcov")) == pytest.approx([4 / 5, 1 / 5])
    assert np.exp(group_odds([0.5, 1.0], "ercov")) == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])
    assert np.exp(group_odds([0.5, 1.0], "esrcov")) == pytest.approx([1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@given(covs=covs)
def test_odds_are_probabilities_and_never_overflow(sampling, covs):
    odds = group_odds(covs, sampling)
    assert np.exp(odds).sum() == pytest.approx(1)
    assert np.isfinite(odds).all()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@given(covs=covs)
def test_a_smaller_cov_is_never_less_likely(sampling, covs):
    odds = group_odds(sorted(covs), sampling)
    assert (np.diff(odds) <= 1e-9).all()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@given(cov=st.floats(0, 3), count=st.integers(1, 20))
def test_equal_covs_are_uniform(sampling, cov, count):
    assert np.exp(group_odds([cov] * count, sampling)) == pytest.approx([1 / count] * count)


@given(covs=covs, data=st.data())
def test_without_replacement_every_group_comes_once(covs, data):
    count = data.draw(st.integers(1, len(covs)))
    drawn = sample_groups(group_odds(covs, "esrcov"), count, np.random.default_rng(0))
    assert len(set(drawn)) == len(drawn) == count
    assert drawn == sorted(drawn)


def test_draws_follow_the_odds():
    # One of two after the other without replacement: P(both of the first two) = .5 x .3/.5 + .3 x .5/.7.
    odds, rng = np.log([0.5, 0.3, 0.2]), np.random.default_rng(0)
    draws = [tuple(sample_groups(odds, 2, rng)) for _ in range(4000)]
    assert draws.count((0, 1)) / 4000 == pytest.approx(0.5 * 0.3 / 0.5 + 0.3 * 0.5 / 0.7, abs=0.03)
    once = np.bincount([sample_groups(odds, 1, rng)[0] for _ in range(4000)], minlength=3) / 4000
    assert once == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    again = np.bincount([k for _ in range(2000) for k in sample_groups(odds, 2, rng, replacement=True)]) / 4000
    assert again == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_clients_are_sampled_without_replacement_and_at_least_one():
    fleet = Fleet(np.ones((10, 1)))
    assert len(sample_clients(fleet, 0.01, np.random.default_rng(0))) == 1
    assert sample_clients(fleet, 1.0, np.random.default_rng(0)) == list(range(10))
    assert len(set(sample_clients(fleet, 0.55, np.random.default_rng(0)))) == 5


def test_a_sample_is_a_share_or_a_number():
    fleet = Fleet(np.ones((40, 1)))
    sizes = [len(sample_clients(fleet, sample, np.random.default_rng(0))) for sample in (0.01, 0.25, 1, 2, 39, 100)]
    assert sizes == [1, 10, 40, 2, 39, 40]
