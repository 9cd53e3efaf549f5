"""Astraea: rare classes are augmented, and mediators pass a model through clients that balance one another.

Duan et al., "Astraea: Self-Balancing Federated Learning for Improving Classification Accuracy of Mobile Deep Learning
Applications", ICCD 2019 (journal: "Self-Balancing Federated Learning With Global Imbalanced Data in Mobile Systems"),
Algorithms 1 to 3. alpha is `alpha`, gamma is `gamma`, E is `tau1`, E_m is `passes`.

Departures: mediators are of even size where the paper leaves the last one short; images are shifted by up to an eighth
of their width where the paper also shears, zooms and rotates, other samples get a little noise.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, State, settings
from covey.algorithms.common import Sample, Tau1
from covey.augment import augmented
from covey.fleet import Fleet
from covey.grouping import group
from covey.plan import Ring, Star, Train
from covey.sampling import sample_clients


@ALGORITHMS.register("astraea", paper="Duan et al. 2019")
@settings
class Astraea(Algorithm):
    """STAR-rings: mediators whose clients together hold even labels, after augmentation of rare classes."""

    sketch: ClassVar[str] = "Star(Ring(Train))"

    alpha: Annotated[float, Field(ge=0, description="how far rare classes are augmented: 0 not, 1 to the mean")] = 0.67
    gamma: Annotated[int, Field(ge=1, description="clients of a mediator")] = 10
    tau1: Tau1 = None
    passes: Annotated[int, Field(ge=1, description="passes through a mediator's clients in a round")] = 1
    sample: Sample = 1.0

    def prepare(self, fleet: Fleet, rng: np.random.Generator) -> Fleet:
        """Every client augments its samples of classes that are rare in the whole fleet."""
        return augmented(fleet, self.alpha, rng)

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star:
        """Reschedule the sampled clients to mediators; a mediator is a ring in random order."""
        taken = np.array(sample_clients(fleet, self.sample, rng))
        mediators = group("astraea", fleet.labels[taken], min_size=min(self.gamma, len(taken)), rng=rng)
        return Star(
            Ring([Train(i, self.tau1) for _ in range(self.passes) for i in rng.permutation(members)])
            for members in mediators.renamed(taken)
        )
