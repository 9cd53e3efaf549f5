"""What training and group operations cost a client, in seconds on a Raspberry Pi 4.

Liu et al., "Group Formation and Sampling in Group-based Hierarchical Federated Learning" (Group-FEL), Eq. 5: training
is linear in a client's samples, group operations are quadratic in the group's size. The coefficients are those that the
authors fitted to their measurements and published with their code.

What departs: a fit that falls below 0 for tiny groups counts as 0; backdoor detection has no training price of its own
and takes that of plain training, which is the one beside secure aggregation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.registry import Registry


@dataclass(frozen=True)
class Prices:
    """`group`: coefficients of g^2, g and 1 in the seconds of a group operation; `train`: of n and 1 in an epoch's."""

    group: tuple[float, float, float]
    train: tuple[float, float]

    def group_seconds(self, size: float) -> float:
        """O_g(|g|): what one group operation costs each client of a group of that size."""
        return max(0.0, float(np.polyval(self.group, size)))

    def train_seconds(self, samples: float) -> float:
        """H_i(n_i): what one epoch over this many samples costs a client."""
        return max(0.0, float(np.polyval(self.train, samples)))


PRICES: Registry[Prices] = Registry("prices")
_CIFAR_PLAIN, _SPEECH_PLAIN = (0.07093414, -0.00559966), (0.00244381, 0.10137752)
_CIFAR_SECURE, _SPEECH_SECURE = (0.01629675, -0.02373668, 0.55442565), (0.00564634, 0.04887151, 0.03296802)


def _add(name: str, summary: str, group: tuple[float, float, float], train: tuple[float, float]) -> Prices:
    return PRICES.add(name, Prices(group, train), summary=summary, paper="Group-FEL")


CIFAR_SECURE = _add("cifar-secure", "CIFAR-10, secure aggregation", _CIFAR_SECURE, _CIFAR_PLAIN)
CIFAR_SCAFFOLD = _add(
    "cifar-scaffold",
    "CIFAR-10, SCAFFOLD with secure aggregation",
    (0.01879308, 0.18775216, 0.19883809),
    (0.07093414, 0.02784322),
)
CIFAR_FEDPROX = _add(
    "cifar-fedprox", "CIFAR-10, FedProx with secure aggregation", _CIFAR_SECURE, (0.06719291, 0.14201339)
)
CIFAR_BACKDOOR = _add(
    "cifar-backdoor", "CIFAR-10, backdoor detection", (0.00548707, 0.0038231, -0.06900253), _CIFAR_PLAIN
)
SPEECH_SECURE = _add("speech-secure", "Speech Commands, secure aggregation", _SPEECH_SECURE, _SPEECH_PLAIN)
SPEECH_SCAFFOLD = _add(
    "speech-scaffold",
    "Speech Commands, SCAFFOLD with secure aggregation",
    (0.01546567, -0.14052762, 0.8393565),
    (0.00259606, 0.10145685),
)
SPEECH_FEDPROX = _add(
    "speech-fedprox", "Speech Commands, FedProx with secure aggregation", _SPEECH_SECURE, (0.00247751, 0.10650803)
)
SPEECH_BACKDOOR = _add(
    "speech-backdoor", "Speech Commands, backdoor detection", (0.00079432, -0.00142096, 0.02028448), _SPEECH_PLAIN
)
