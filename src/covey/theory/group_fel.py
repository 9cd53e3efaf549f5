"""Group-FEL's convergence bound.

"Group Formation and Sampling in Group-based Hierarchical Federated Learning", Theorem 5. The mean squared gradient norm
over T global rounds is at most the sum of three terms (Eq. 10): one that falls with the number of rounds, one that
sampling groups adds, and one that differences between the clients' data add. The constants gamma, Gamma and Gamma_p
(Eq. 11, 12) are measured from a grouping; sigma, zeta, zeta_g and L are properties of the losses that have to be given.

What departs: gamma and |g| are the paper's constants of "the" group; for groups that differ, give the largest gamma and
the smallest size. Eq. 13 prints (1 + 10 eta^2 E^2 L^2 sigma^2), which stays when sigma is 0, where the proof of Lemma 7
ends with E^2 (1 + 10 eta^2 E^2 L^2) sigma^2: `lambda_s` chooses. Eq. 24 drops the factor L/2 of Eq. 23, so the bound
needs L <= 2; rescale the loss otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from covey.errors import BadValue
from covey.grouping.divergence import Floats, Groups, checked_groups, checked_sizes
from covey.theory.check import count, not_negative, positive


def client_spread(sizes: ArrayLike, groups: Groups) -> Floats:
    """The gamma of every group (Eq. 11): 1 + CoV^2 of its clients' sample counts; 1 where all have as many.

    `sizes[i]`: samples n_i of client i. For 1 and 3 samples: mean 2, variance 1, so 1 + 1/4.

    >>> client_spread([1, 3, 5], [(0, 1), (2,)]).tolist()
    [1.25, 1.0]
    """
    samples = checked_sizes(sizes)
    return np.array([_spread(samples[members]) for members in checked_groups(groups, len(samples))])


def group_spread(sizes: ArrayLike, groups: Groups) -> float:
    """Gamma (Eq. 12): 1 + CoV^2 of the groups' sample counts; 1 where all groups have as many.

    >>> group_spread([1, 2, 9], [(0, 1), (2,)])  # groups of 3 and 9: mean 6, variance 9
    1.25
    """
    samples = checked_sizes(sizes)
    return _spread(np.array([samples[members].sum() for members in checked_groups(groups, len(samples))]))


def sampling_spread(probabilities: ArrayLike) -> float:
    """Gamma_p (Eq. 12) at its smallest: sum over groups of 1/p_g; |G|^2 where all are as likely, else more.

    >>> sampling_spread([0.5, 0.5]), sampling_spread([0.8, 0.2])  # 1.25 + 5
    (4.0, 6.25)
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not (p > 0).all() or not np.isclose(p.sum(), 1):
        raise BadValue("probabilities", np.asarray(probabilities).tolist(), "numbers above 0 that add up to 1")
    return float((1 / p).sum())


@dataclass(frozen=True)
class GroupFelBound:
    """The three terms of Eq. 10.

    `descent` falls with the number of rounds, `sampling` is what sampling groups adds, `heterogeneity` what differences
    between the clients' data add.
    """

    descent: float
    sampling: float
    heterogeneity: float

    @property
    def total(self) -> float:
        """The bound."""
        return self.descent + self.sampling + self.heterogeneity


def largest_rate(*, K: int, E: int, L: float, gamma: float = 1.0) -> float:
    """The largest learning rate that Eq. 19 and 20 allow.

    `K`, `E`: group rounds in a global round and local epochs in a group round; `L`: smoothness of the losses; `gamma`:
    from `client_spread`.

    >>> largest_rate(K=1, E=1, L=1)
    0.5
    """
    count(K=K, E=E)
    positive(L=L, gamma=gamma)
    local = 6 * (E - 1) * (2 * E - 1) * L**2
    group = 36 * gamma * (K - 1) * (2 * K - 1) * E**2 * L**2
    return min(1 / (2 * K * E), *(1 / sqrt(x) if x else inf for x in (local, group)))


def group_fel_bound(
    *,
    loss_gap: float,
    T: int,
    K: int,
    E: int,
    S: int,
    eta: float,
    L: float,
    sigma: float,
    zeta: float,
    zeta_g: float,
    gamma: float = 1.0,
    Gamma: float = 1.0,
    Gamma_p: float = 1.0,
    group_size: float = 1.0,
    lambda_s: Literal["printed", "proved"] = "printed",
) -> GroupFelBound:
    """The bound on the mean of ||grad f(x_t)||^2 over rounds (Theorem 5, Eq. 10 to 20).

    `loss_gap`: f(x_0) - E f(x_T); `T`, `K`, `E`: global, group and local rounds; `S`: groups sampled a round; `eta`:
    learning rate; `L`: smoothness; `sigma`, `zeta`, `zeta_g`: how far a client's stochastic gradient is from its full
    one, a client's from everyone's, a group's from everyone's; `gamma`, `Gamma`, `Gamma_p`: from `client_spread`,
    `group_spread`, `sampling_spread`; `group_size`: |g|; `lambda_s`: as Eq. 13 is printed, or as the paper proves it
    (see above). lambda_1 is as large as Eq. 14 allows.
    """
    if lambda_s not in ("printed", "proved"):
        raise BadValue("lambda_s", lambda_s, "'printed' or 'proved'")
    count(T=T, K=K, E=E, S=S)
    not_negative(loss_gap=loss_gap, sigma=sigma, zeta=zeta, zeta_g=zeta_g)
    positive(eta=eta, L=L, gamma=gamma, Gamma=Gamma, Gamma_p=Gamma_p, group_size=group_size)
    limit = largest_rate(K=K, E=E, L=L, gamma=gamma)
    if eta > limit:
        raise BadValue("eta", eta, f"at most {limit:g} (Eq. 19, 20)")
    a = eta**2 * E**2 * L**2
    lambda_f = 30 * eta**2 * K**2 * (1 + 90 * gamma * a)
    lambda_1 = 0.5 - 3 * lambda_f * eta * gamma * Gamma * K * E * L**2
    if lambda_1 <= 0:
        raise BadValue("eta", eta, f"small enough for lambda_1 (Eq. 14) above 0; it is {lambda_1:g}")
    of_local = ((1 + 6 * K) * E + 9 * K) * 10 * eta**2 * E * L**2
    lambda_sigma = 5 * K * eta**2 * E**2 * (1 + of_local + 18 * K / (group_size * E))
    lambda_2 = 3 * lambda_sigma * gamma * L**2 + 5 * a
    lambda_3 = 2700 * eta**4 * gamma * K**2 * E**4 * L**2
    lambda_4 = 90 * K**2 * a
    noise = {"printed": 1 + 10 * a * sigma**2, "proved": E**2 * (1 + 10 * a) * sigma**2}[lambda_s]
    return GroupFelBound(
        descent=loss_gap / (lambda_1 * eta * T * K * E),
        sampling=eta * gamma * Gamma * K**2 * noise * Gamma_p / S / (lambda_1 * K * E),
        heterogeneity=gamma * Gamma * (lambda_2 * sigma**2 + lambda_3 * zeta**2 + lambda_4 * zeta_g**2) / lambda_1,
    )


def _spread(samples: Floats) -> float:
    """k^2 (1/k^2 + Var(n_i/n)) of k counts n_i with sum n, with the variance of all (not of a sample)."""
    return float(1 + samples.var() / samples.mean() ** 2)
