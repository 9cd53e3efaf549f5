"""FedGSP's estimates of time and traffic, for any growth function f that says how many groups round r has.

"Heterogeneous Federated Learning via Grouped Sequential-to-Parallel Training", Eq. 15 to 17.

What departs: a round has at most as many groups as clients, also where Eq. 15 aggregates them; fewer than one sampled
group aggregates nothing. The rates of 567 Mbps repeat the 567 GFLOPS and are probably a slip: they are settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from covey.errors import BadValue
from covey.grouping.divergence import Floats
from covey.theory.check import count, not_negative, positive


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a device and its line can do; the defaults are section 4.1's."""

    flops_per_sample: float = 96e6
    """N_calc: operations to train on one sample."""
    flops_per_merge: float = 6.3e6
    """N_aggr: operations to add one model to another."""
    flops_per_second: float = 567e9
    """T_FLOPS: a Snapdragon 835."""
    model_bytes: float = 4 * 6_603_710
    """M: LEAF's FEMNIST network; the paper's 25.2 MB are MiB."""
    bits_in_per_second: float = 567e6
    """R_in: of the server's line, towards it."""
    bits_out_per_second: float = 567e6
    """R_out: of the server's line, away from it."""

    def __post_init__(self) -> None:
        positive(**vars(self))


def computing_seconds(
    growth: Callable[[int], float],
    *,
    rounds: int,
    clients: int,
    samples: float = 226,
    epochs: int = 1,
    kappa: float = 0.3,
    hardware: Hardware | None = None,
) -> Floats:
    """T_comp(1) to T_comp(R) of Eq. 15: seconds of computing up to the end of every round.

    `growth`: f, the number of groups in round r = 1, 2, …; `rounds`: R; `clients`: K; `samples`: n, a client's on
    average; `epochs`: e; `kappa`: share of the groups that are sampled. Clients of a group train one after another,
    groups side by side.

    Six clients, 10 samples each, a sample a second, merging for free: one chain of six, then two chains of three.

    >>> slow = Hardware(flops_per_sample=1, flops_per_merge=1e-9, flops_per_second=1)
    >>> computing_seconds(lambda r: r, rounds=2, clients=6, samples=10, hardware=slow).round(6).tolist()
    [60.0, 90.0]
    """
    hardware = hardware or Hardware()
    count(rounds=rounds, clients=clients, epochs=epochs)
    positive(samples=samples)
    _check_share(kappa)
    groups = np.array([growth(r) for r in range(1, rounds + 1)], dtype=np.float64)
    if not (groups >= 1).all():
        raise BadValue("growth", groups.tolist(), "numbers of groups from 1 up")
    groups = np.minimum(groups, clients)
    training = hardware.flops_per_sample * samples * epochs * clients / groups
    merging = hardware.flops_per_merge * np.maximum(kappa * groups - 1, 0)
    seconds: Floats = np.cumsum((training + merging) / hardware.flops_per_second)
    return seconds


def communication_seconds(*, rounds: int, clients: int, kappa: float = 0.3, hardware: Hardware | None = None) -> float:
    """T_comm of Eq. 16: 8 kappa K M R (1/R_in + 1/R_out), all over the one line of the server.

    >>> line = Hardware(model_bytes=1, bits_in_per_second=8, bits_out_per_second=4)
    >>> communication_seconds(rounds=2, clients=10, kappa=0.5, hardware=line)  # 10 models in and out, 1 s + 2 s each
    30.0
    """
    hardware = hardware or Hardware()
    models = _models_one_way(rounds, clients, kappa)
    return 8 * models * hardware.model_bytes * (1 / hardware.bits_in_per_second + 1 / hardware.bits_out_per_second)


def communication_bytes(*, rounds: int, clients: int, kappa: float = 0.3, hardware: Hardware | None = None) -> float:
    """D_comm of Eq. 17: 2 kappa K M R, both ways: every client that takes part gets a model and gives one back.

    >>> communication_bytes(rounds=2, clients=10, kappa=0.5, hardware=Hardware(model_bytes=3))
    60.0
    """
    return 2 * _models_one_way(rounds, clients, kappa) * (hardware or Hardware()).model_bytes


def _models_one_way(rounds: int, clients: int, kappa: float) -> float:
    """The product kappa K R: whatever the groups, a share kappa of all clients trains in every round."""
    not_negative(rounds=rounds)
    count(clients=clients)
    _check_share(kappa)
    return kappa * clients * rounds


def _check_share(kappa: float) -> None:
    if not 0 < kappa <= 1:
        raise BadValue("kappa", kappa, "a number above 0 and up to 1")
