"""What clients run on: how long they train, what group operations cost them, how much energy that takes.

Speeds. FedAvg-IC (App. C.3, footnotes 6 and 7): 5 GFLOPS, a Galaxy S8's CPU, and 250 GFLOPS, a PowerVR GT7600 GPU.
FedGSP (Section 4.1): 567 GFLOPS, a Snapdragon 835 with Adreno 540. Group-FEL (Section 2.3, Fig. 9): curves measured
on a Raspberry Pi 4, an epoch over n samples linear in n, group operations quadratic in the group's size, with the
coefficients of the authors' published code. The fitted curves fall below zero for a few samples or members; time does
not: it is 0.

Energy, where no paper says it. A phone sustains about 4 W (AnandTech, "HiSilicon Kirin 970", 2018: the thermal
envelope); a Raspberry Pi 4 takes 6.4 W with all cores busy and its Linpack runs at 8 GFLOPS (Pi Dramble, "Power
consumption benchmarks"; Feiereisen, "Benchmarking the Raspberry Pi 4", 2022). Wi-Fi takes 283.17 mW per Mbps sent and
137.01 per Mbps received (Huang et al., "A close examination of performance and power characteristics of 4G LTE
networks", MobiSys 2012, Table 4): 8 times that in nJ per byte. These are defaults to replace, not measurements of
these devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from covey.errors import BadValue, UnknownName
from covey.network import units
from covey.prices import PRICES
from covey.profile import Profile
from covey.registry import Registry

_ANY_SPEED = 5e9  # of a measured device, whose trainings go by its curves: only merges at a client go by speed
Curve = tuple[float, ...]
"""Coefficients of a polynomial, the highest power first."""

_WIFI_SENT, _WIFI_RECEIVED = 8 * 283.17e-9, 8 * 137.01e-9


@dataclass(frozen=True)
class Device:
    """A kind of device.

    `speed` is in floating-point operations per second. Where `training` has curves (seconds of one epoch over n
    samples, by local rule; a rule without one costs what `sgd` does) they are used instead of the speed.
    `group_costs` are seconds that a group operation takes each member, by the size of the group.
    """

    name: str
    speed: float
    training: Mapping[str, Curve] = field(default_factory=lambda: MappingProxyType({}))
    group_costs: Mapping[str, Curve] = field(default_factory=lambda: MappingProxyType({}))
    watts: float = 4.0
    joules_per_byte_sent: float = _WIFI_SENT
    joules_per_byte_received: float = _WIFI_RECEIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "speed", units.speed(self.speed))
        for name in ("watts", "joules_per_byte_sent", "joules_per_byte_received"):
            if not getattr(self, name) >= 0:
                raise BadValue(name, getattr(self, name), "a number from 0 up")

    def train_seconds(self, samples: int, *, flops: float, epochs: int = 1, rule: str = "sgd") -> float:
        """Time to train for this many epochs, at `flops` operations per sample forward and backward.

        >>> DEVICES["phone-5gflops"].train_seconds(600, flops=100e6, epochs=2)  # 2 x 600 x 0.1 / 5
        24.0
        """
        if self.training:
            curve = self.training.get(rule, self.training["sgd"])
            return epochs * _at(curve, samples)
        return epochs * samples * flops / self.speed

    def merge_seconds(self, parameters: int, models: int) -> float:
        """Time to average this many models: one addition per parameter and further model (FedGSP, Eq. 15)."""
        return parameters * max(models - 1, 0) / self.speed

    def group_seconds(self, operation: str, size: int) -> float:
        """Time that a group operation takes each member of a group of that size.

        >>> pi = DEVICES["raspberry-pi-4"]  # .01629675 x 100 - .02373668 x 10 + .55442565
        >>> round(pi.group_seconds("secure-aggregation", 10), 6)
        1.946734
        """
        if operation not in self.group_costs:
            raise UnknownName(f"group operation of {self.name}", operation, self.group_costs)
        return _at(self.group_costs[operation], size)

    def joules(self, *, busy_seconds: float = 0.0, sent: float = 0.0, received: float = 0.0) -> float:
        """Energy for that much time computing and that many bytes sent and received.

        >>> DEVICES["raspberry-pi-4"].joules(busy_seconds=10)
        64.0
        """
        radio = self.joules_per_byte_sent * sent + self.joules_per_byte_received * received
        return self.watts * busy_seconds + radio


def _at(curve: Curve, x: float) -> float:
    return max(0.0, float(np.polyval(curve, x)))


DEVICES: Registry[Device] = Registry("device")

for _name, _speed, _summary, _paper in (
    ("phone-5gflops", 5e9, "a phone that trains on its CPU, 5 GFLOPS", "FedAvg-IC"),
    ("phone-250gflops", 250e9, "a phone that trains on its GPU, 250 GFLOPS", "FedAvg-IC"),
    ("chip-567gflops", 567e9, "a Snapdragon 835 chip, 567 GFLOPS", "FedGSP"),
):
    DEVICES.add(_name, Device(_name, _speed), summary=_summary, paper=_paper)

for _name, _data, _summary in (
    ("raspberry-pi-4", "cifar", "a Raspberry Pi 4 as measured with a ResNet on CIFAR-10"),
    ("raspberry-pi-4-speech", "speech", "a Raspberry Pi 4 as measured with a small CNN on Speech Commands"),
):
    _secure, _scaffold, _fedprox, _backdoor = (
        PRICES[f"{_data}-{kind}"] for kind in ("secure", "scaffold", "fedprox", "backdoor")
    )
    _measured = Device(
        _name,
        8e9,
        training={"sgd": _secure.train, "scaffold": _scaffold.train, "fedprox": _fedprox.train},
        group_costs={
            "secure-aggregation": _secure.group,
            "secure-aggregation-scaffold": _scaffold.group,
            "backdoor-detection": _backdoor.group,
        },
        watts=6.4,
    )
    DEVICES.add(_name, _measured, summary=_summary, paper="Group-FEL")


def device(text: str) -> Device:
    """A device by name, one that is only a speed, or one that `covey bench-groupops` has measured: a file.

    >>> device("phone-5gflops").speed == device("5GFLOPS").speed
    True
    """
    if text.endswith(".toml"):
        measured = Profile.read(Path(text))
        return Device(text, _ANY_SPEED, training=measured.training, group_costs=measured.group_costs)
    if text in DEVICES or not text[:1].isdigit():
        return DEVICES[text]
    return Device(text, units.speed(text, "device"))
