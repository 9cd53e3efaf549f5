import math

import numpy as np
import pytest

from covey.errors import BadValue
from covey.grouping.privacy import discrete_gaussian, discrete_laplace, gaussian_sigma, noised


def rng():
    return np.random.default_rng(0)


def shares(draws, upto):
    return np.array([(draws == x).mean() for x in range(-upto, upto + 1)])


def test_discrete_laplace_has_its_distribution():
    draws = discrete_laplace(2.0, (200_000,), rng())
    odds = np.exp(-np.abs(np.arange(-60, 61)) / 2.0)
    expected = (odds / odds.sum())[55:66]
    assert np.abs(shares(draws, 5) - expected).max() < 0.004


@pytest.mark.parametrize("sigma", [0.6, 3.0])
def test_discrete_gaussian_has_its_distribution(sigma):
    draws = discrete_gaussian(sigma, (400, 500), rng()).ravel()
    odds = np.exp(-(np.arange(-60, 61) ** 2) / (2 * sigma**2))
    expected = (odds / odds.sum())[55:66]
    assert np.abs(shares(draws, 5) - expected).max() < 0.004


def test_one_sample_more_changes_the_odds_by_epsilon_at_most():
    # P(x) / P(x - 1) of the two-sided geometric is exp(+-epsilon) everywhere
    epsilon, count = 0.7, 400_000
    draws = discrete_laplace(1 / epsilon, (count,), rng())
    ratio = np.log((draws == 1).mean() / (draws == 2).mean())
    assert abs(ratio - epsilon) < 0.03


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_sigma_is_the_least_that_keeps_the_promise(epsilon):
    for sigma, kept in ((gaussian_sigma(epsilon, 1e-6), True), (0.99 * gaussian_sigma(epsilon, 1e-6), False)):
        rho = 1 / (2 * sigma**2)
        assert (rho + 2 * math.sqrt(rho * math.log(1e6)) <= epsilon + 1e-9) is kept


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_reports_are_counts_and_near_the_truth_when_epsilon_is_large(fleet, mechanism):
    labels = fleet(50)
    report = noised(labels, epsilon=0.2, mechanism=mechanism, rng=rng())
    assert report.dtype == np.int64
    assert report.min() >= 0
    assert not np.array_equal(report, labels)
    near = noised(labels, epsilon=100.0, mechanism=mechanism, rng=rng())
    assert np.abs(near - labels).max() <= 2


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": float("inf")}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "mechanism": "none"}],
)
def test_bad_settings(wrong):
    with pytest.raises(BadValue):
        noised([[1]], rng=rng(), **wrong)
