"""The secure mean: whoever merges the models learns their weighted mean, and no single one.

Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS 2017, by `covey.secure`;
with `neighbours=log` Bell et al.'s SecAgg+ (CCS 2020). What is added up are the members' weights and weight x update,
as fixed-point numbers; an update is a member's model less the one all started from. Keys and shares are exchanged when
the merge opens, models are masked as they come, and members that will not answer any more are lost between the two.

With `noise`, everybody's update is cut to the length `norm`, everybody counts alike, and everybody adds a share of
discrete Gaussian noise before masking: Kairouz et al., "The Distributed Discrete Gaussian Mechanism for Federated
Learning with Secure Aggregation", ICML 2021. As many as have to answer add up to a deviation of noise x norm; who
answers beyond that only adds to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from covey.errors import BadValue
from covey.merge.base import MERGES, CannotMerge, Gathering
from covey.merge.private import check_noise
from covey.secure import FixedPoint, Session, Terms, TooFew
from covey.secure.graph import complete_threshold

ROOM = 10.0  # standard deviations of a client's noise that fit beside its values


@MERGES.register("secure", paper="Bonawitz et al. 2017")
@dataclass(frozen=True)
class Secure:
    """The weighted mean by secure aggregation: whoever merges learns no single model.

    Updates beyond `clip` are clipped and counted. More than `threshold` of those who share secrets have to answer.
    Every member shares its secrets with all others, or with `neighbours`, an even number, of them, or log. `noise` adds
    differential privacy for updates of length `norm`; epsilon is for `delta`, and `amplify` is as in `private`. Secrets
    come from the run's seed, so that it can be resumed to the bit, unless `seeded` is false.
    """

    innermost: ClassVar[bool] = True
    hides: ClassVar[bool] = True

    clip: float = 8.0
    levels: int = 0
    threshold: float = 2 / 3
    neighbours: int | Literal["all", "log"] = "all"
    norm: float = 1.0
    noise: float = 0.0
    delta: float = 1e-5
    amplify: bool = False
    seeded: bool = True

    def __post_init__(self) -> None:
        FixedPoint(self.clip, self.levels or 2)
        if not 0.5 <= self.threshold < 1:
            raise BadValue("threshold of secure", self.threshold, "a share from a half up and below 1")
        if isinstance(self.neighbours, int) and (self.neighbours < 2 or self.neighbours % 2):
            raise BadValue("neighbours of secure", self.neighbours, "an even number from 2 up, all, or log")
        if self.noise:
            check_noise("secure", self.norm, self.noise, self.delta)
            if self.levels:
                raise BadValue("levels of secure", self.levels, "0 where there is noise, whose levels are computed")

    def open(self, gathering: Gathering) -> _Secured:
        """Exchange keys and shares."""
        return _Secured(self, gathering)

    def terms(self, gathering: Gathering) -> Terms:
        """What is added up by the members of a gathering."""
        members, values = len(gathering.members), len(gathering.start)
        needed = complete_threshold(members, self.threshold)
        agreed: dict[str, float] = {"clip": self.clip, "max_weight": _power(max(gathering.weights, default=1.0))}
        if self.noise:
            agreed = self._with_noise(members, values, needed)
        return Terms(
            clients=tuple(range(members)),
            values=values,
            levels=self.levels,
            neighbours=0 if self.neighbours == "all" else self.neighbours,
            share=self.threshold,
            least=needed,
            **agreed,  # type: ignore[arg-type]
        )

    def _with_noise(self, members: int, values: int, needed: int) -> dict[str, float]:
        """Clip, norm and each client's noise. Rounding may lengthen an update, by half a level per value."""
        share = self.noise / math.sqrt(needed)
        clip = 1.01 * self.norm * (1 + ROOM * share)
        longest = self.norm + FixedPoint.fitting(clip, members).resolution * math.sqrt(values) / 2
        noise = share * longest
        if self.norm + ROOM * noise > clip:
            raise CannotMerge(f"{members} clients with {values:,} values leave too few levels for noise")
        return {"clip": clip, "max_weight": 1.0, "norm": self.norm, "noise": noise}


class _Secured:
    """One session. What goes wrong in it shows when it is closed: a merge that opens may still come to nothing."""

    def __init__(self, settings: Secure, gathering: Gathering) -> None:
        self._gathering = gathering
        self._fault: str | None = None
        self._came = False
        self._alike = bool(settings.noise)
        rng = np.random.default_rng(gathering.key) if settings.seeded else None
        try:
            self._session = Session(settings.terms(gathering), simulation_rng=rng)
            self._session.open()
        except (TooFew, CannotMerge) as error:
            self._fault = str(error)

    def add(self, member: int, model: Tensor, weight: float) -> None:
        """Mask the update of one member."""
        self._came = True
        if self._fault is None:
            update = (model - self._gathering.start).numpy()
            self._session.add(member, update, 1.0 if self._alike else weight)

    def close(self, missing: tuple[int, ...]) -> Tensor:
        """The mean, on top of the model that all started from."""
        if not self._came:
            raise CannotMerge("no model came in")
        if self._fault is None:
            try:
                total = self._session.close()
            except TooFew as error:
                self._fault = str(error)
        if self._fault is not None:
            raise CannotMerge(self._fault)
        count, session = self._gathering.count, self._session
        count("clipped_values", total.clipped)
        count("refused_clients", len(session.server.refused))
        count("secure_bytes", sum(session.bytes[u] for u in session.clients))
        start: Tensor = self._gathering.start
        return start + torch.from_numpy(total.mean).to(start.dtype)


def _power(weight: float) -> float:
    """The next power of two: a bound of the weights that tells little about them.

    >>> _power(100.0), _power(64.0), _power(0.3)
    (128.0, 64.0, 0.5)
    """
    return 2.0 ** math.ceil(math.log2(weight))
