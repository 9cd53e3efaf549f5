"""The rounds of an experiment without its training: the plans that would run, and what they cost.

Everything is real but the trainings: the data and its split, grouping and sampling, what `learn` makes of a round, the
clients' losses and full-data gradients where it asks for them. A training gives back the model it got; for algorithms
that look at the clients' updates it is one full-batch gradient step. So plans that do not depend on training are those
that run, and groups formed from gradients are those of the initial model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from covey.errors import BadValue
from covey.execute.local import LocalExecutor, Scores
from covey.execute.walk import Failure, Job
from covey.experiment import Experiment
from covey.fleet import Fleet
from covey.network.price import Meter, Price, Round, price
from covey.network.site import Site
from covey.plan import Place, Plan


class Understudy(LocalExecutor):
    """Hands models back untrained."""

    def finished(self) -> Iterator[tuple[int, Tensor | Failure | None]]:
        """All that waits is over at once; a failure is drawn as in the run."""
        wave, self._jobs = self._jobs, []
        for ticket, job in wave:
            reason = self.fail(job, self.round, self.attempt) if self.fail else None
            yield ticket, self._stand_in(job) if reason is None else Failure(reason)

    def _stand_in(self, job: Job) -> Tensor:
        model: Tensor = job.model
        return model

    def evaluate(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """Untrained models are not worth testing."""
        return Scores(float("nan"), float("nan"), float("nan"))


class Stepping(Understudy):
    """Hands models back after one full-batch gradient step."""

    def _stand_in(self, job: Job) -> Tensor:
        model: Tensor = job.model.clone()
        model[: self.layout.trained] -= self._rate * torch.from_numpy(self.gradients(job.model, [job.client])[0])
        return model


class Ledger(Meter):
    """A meter that keeps the whole price of every round."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.prices: list[Price] = []

    def spend(
        self, plan: Plan, where: Sequence[Place | None], failed: Collection[tuple[int, int]], begin: float
    ) -> dict[str, float]:
        """Price a round."""
        spent = super().spend(plan, where, failed, begin)
        self.prices.append(self._price)
        return spent

    def _measure(self, asked: Round) -> dict[str, float]:
        self._price = price(asked.plan, self.site, asked.where, begin=asked.begin, failed=asked.failed)
        return {"simulated_seconds": self._price.seconds, "joules": self._price.joules}


def rehearse(experiment: Experiment, *, fleet: Fleet | None = None) -> Ledger:
    """Go through an experiment's rounds on its network; gives their prices.

    >>> ledger = rehearse(Experiment.make({"algorithm": "fedavg", "clients": 4, "rounds": 2, "network": "star"}))
    >>> len(ledger.prices), ledger.prices[0].tiers == ledger.prices[1].tiers
    (2, True)
    """
    if experiment.network is None:
        raise BadValue("network", None, "a network such as star, tree:5, fat-tree:10, jellyfish:20,4, or a file")
    ledgers: list[Ledger] = []

    def keep(site: Site) -> Ledger:
        ledgers.append(Ledger(site))
        return ledgers[0]

    algorithm = experiment.make_algorithm()
    understudy = Stepping if algorithm.keeps_updates else Understudy
    loop = experiment.make_loop(algorithm=algorithm, fleet=fleet, make_executor=understudy, make_meter=keep)
    loop.go(loop.begin())
    return ledgers[0]
