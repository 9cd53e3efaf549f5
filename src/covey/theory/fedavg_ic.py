"""FedAvg-IC's convergence bound ("Accurate and Fast Federated Learning via IID and Communication-Aware Grouping").

Theorem 1 (Eq. 9), for convex, rho-Lipschitz and beta-smooth losses and full gradient steps:

    F(w(T)) - F(w*) <= 1/(2 tau1 tau2 eta omega) + rho (delta/beta h(tau1) + Delta/beta h(tau1 tau2)),
    h(t) = (eta beta + 1)^t - 1

The bound does not fall with the number of rounds T, since it is about one interval between two global aggregations.
"""

from __future__ import annotations

import numpy as np

from covey.errors import BadValue
from covey.grouping.divergence import Divergences
from covey.theory.check import count, not_negative, positive


def drift(divergence: float, steps: float, *, eta: float, beta: float) -> float:
    """How far apart models can be after this many steps (Lemma 3): divergence/beta ((eta beta + 1)^steps - 1).

    `divergence`: how much their gradients differ; `eta`: learning rate; `beta`: smoothness of the loss. A number too
    big for a float is infinite.

    >>> drift(2.0, 3, eta=0.5, beta=2.0)  # 2/2 (2^3 - 1)
    7.0
    """
    not_negative(divergence=divergence, steps=steps)
    positive(eta=eta, beta=beta)
    if divergence == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return float(divergence / beta * (np.float64(eta * beta + 1) ** steps - 1))


def fedavg_ic_bound(
    measured: Divergences, *, tau1: int, tau2: int, eta: float, beta: float, rho: float, omega: float
) -> float:
    """How far the loss can be from the best one after a global aggregation (Theorem 1, Eq. 9).

    `measured`: delta and Delta; `tau1`: local steps per group aggregation; `tau2`: group aggregations per global one;
    `eta`: learning rate, at most 1/beta; `beta`: smoothness; `rho`: Lipschitz constant; `omega`: 1/||w - w*||^2 at the
    start of the interval that began farthest from the best model w*.

    1/(2 x 2 x 0.5 x 1) + 1 (1/1 (1.5 - 1) + 2/1 (1.5^2 - 1)) = 0.5 + 0.5 + 2.5

    >>> fedavg_ic_bound(Divergences(delta=1, Delta=2, D=3), tau1=1, tau2=2, eta=0.5, beta=1, rho=1, omega=1)
    3.5
    """
    count(tau1=tau1, tau2=tau2)
    positive(eta=eta, beta=beta, rho=rho, omega=omega)
    if eta > 1 / beta:
        raise BadValue("eta", eta, f"at most 1/beta = {1 / beta:g}")
    local = drift(measured.delta, tau1, eta=eta, beta=beta)
    group = drift(measured.Delta, tau1 * tau2, eta=eta, beta=beta)
    return 1 / (2 * tau1 * tau2 * eta * omega) + rho * (local + group)


def interval_delay(*, d_group: float, d_global: float, tau2: int) -> float:
    """What communication takes between two global aggregations (Eq. 5): d_group (tau2 - 1) + d_global.

    `d_group`, `d_global`: the delay of one group and of one global aggregation.

    >>> interval_delay(d_group=2, d_global=10, tau2=5)
    18
    """
    not_negative(d_group=d_group, d_global=d_global)
    count(tau2=tau2)
    return d_group * (tau2 - 1) + d_global
