"""What Group-FEL costs: "Group Formation and Sampling in Group-based Hierarchical Federated Learning", Eq. 5.

The prices themselves, seconds on a Raspberry Pi 4, are in `covey.prices`.
"""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from covey.grouping.divergence import Groups, checked_groups, checked_sizes
from covey.prices import CIFAR_SECURE, Prices
from covey.theory.check import count


def round_cost(groups: Groups, sizes: ArrayLike, *, K: int, E: int, prices: Prices = CIFAR_SECURE) -> float:
    """What one global round costs all clients of the sampled groups together: K (O_g(|g|) + E H_i(n_i)) each.

    `groups`: the sampled groups S_t; `sizes[i]`: samples n_i of client i; `K`, `E`: group rounds and local epochs.

    Two clients with 3 and 5 samples, prices g^2 and n: 1 x (4 + 2 x 3) + 1 x (4 + 2 x 5).

    >>> round_cost([(0, 1)], [3, 5], K=1, E=2, prices=Prices((1, 0, 0), (1, 0)))
    24.0
    """
    count(K=K, E=E)
    samples = checked_sizes(sizes)
    return K * sum(
        prices.group_seconds(len(members)) + E * prices.train_seconds(samples[i])
        for members in checked_groups(groups, len(samples))
        for i in members
    )


def total_cost(rounds: Iterable[Groups], sizes: ArrayLike, *, K: int, E: int, prices: Prices = CIFAR_SECURE) -> float:
    """What a whole training costs (Eq. 5): the sum of `round_cost` over `rounds`, the sampled groups of every round.

    `sizes`, `K`, `E` and `prices` as in `round_cost`.
    """
    return sum(round_cost(groups, sizes, K=K, E=E, prices=prices) for groups in rounds)
