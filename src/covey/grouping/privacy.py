"""Label counts with noise, so that grouping by labels does not reveal what a client holds.

Every client adds the noise itself before it reports. Two data sets are neighbours if one has one sample more, so one
count differs by one. Negative results become 0, which costs no privacy.

- "laplace": the discrete Laplace mechanism (Ghosh et al., "Universally Utility-Maximizing Privacy Mechanisms"):
  P(x) ~ exp(-epsilon |x|), epsilon-differentially private.
- "gaussian": the discrete Gaussian (Canonne et al., "The Discrete Gaussian for Differential Privacy"): P(x) ~
  exp(-x^2 / (2 sigma^2)) is rho = 1 / (2 sigma^2) concentrated private, and that is (epsilon, delta) private for
  epsilon = rho + 2 sqrt(rho ln(1/delta)); sigma is the least for which this holds.

The draws use the given generator, which is repeatable and thus meant for simulation; a real client draws from the
operating system's randomness.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.grouping.base import Labels, check_labels

Mechanism = Literal["laplace", "gaussian"]


def noised(
    labels: ArrayLike,
    *,
    epsilon: float,
    delta: float = 1e-5,
    mechanism: Mechanism = "laplace",
    rng: np.random.Generator,
) -> Labels:
    """The counts with noise, as whole numbers from 0 up.

    `delta` matters to "gaussian" alone. One client's report of all its counts is private as a whole: one sample
    changes one count.

    >>> noised([[50, 0], [0, 50]], epsilon=0.5, rng=np.random.default_rng(0)).tolist()
    [[49, 0], [0, 48]]
    """
    table = check_labels(labels)
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise BadValue("epsilon", epsilon, "a number above 0")
    if not 0 < delta < 1:
        raise BadValue("delta", delta, "a number between 0 and 1")
    if mechanism == "laplace":
        noise = discrete_laplace(1 / epsilon, table.shape, rng)
    elif mechanism == "gaussian":
        noise = discrete_gaussian(gaussian_sigma(epsilon, delta), table.shape, rng)
    else:
        raise BadValue("mechanism", mechanism, "'laplace' or 'gaussian'")
    reported: Labels = np.maximum(table + noise, 0)
    return reported


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least sigma whose rho = 1 / (2 sigma^2) satisfies rho + 2 sqrt(rho ln(1/delta)) <= epsilon.

    >>> sigma = gaussian_sigma(1.0, 1e-5)
    >>> rho = 1 / (2 * sigma**2)
    >>> round(rho + 2 * math.sqrt(rho * math.log(1e5)), 9)
    1.0
    """
    log = math.log(1 / delta)
    root_rho = math.sqrt(log + epsilon) - math.sqrt(log)
    return 1 / (math.sqrt(2) * root_rho)


def discrete_laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with P(x) ~ exp(-|x| / scale): the difference of two geometric numbers."""
    success = -math.expm1(-1 / scale)
    return (rng.geometric(success, shape) - rng.geometric(success, shape)).astype(np.int64)


def discrete_gaussian(sigma: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with P(x) ~ exp(-x^2 / (2 sigma^2)), by rejection from the discrete Laplace (Algorithm 3)."""
    t = math.floor(sigma) + 1
    drawn = np.empty(math.prod(shape), dtype=np.int64)
    waiting = np.arange(len(drawn))
    while len(waiting):
        proposed = discrete_laplace(t, waiting.shape, rng)
        accepted = rng.random(len(waiting)) < np.exp(-((np.abs(proposed) - sigma**2 / t) ** 2) / (2 * sigma**2))
        drawn[waiting[accepted]] = proposed[accepted]
        waiting = waiting[~accepted]
    return drawn.reshape(shape)
