"""The rounds of an experiment without its training: the plans that would run, and what they cost.

Everything is real but the trainings: the data and its split, grouping and sampling, what `learn` makes of a round, the
clients' losses and full-data gradients where it asks for them. A training gives back the model it got; for algorithms
that look at the clients' updates it is one full-batch gradient step. So plans that do not depend on training are those
that run, and groups formed from gradients are those of the initial model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from covey.errors import BadValue
from covey.execute.backend import Backend, Work
from covey.execute.effects import Answer, ExecutorState, Job
from covey.execute.evaluate import LocalEvaluator, Scores
from covey.experiment import Experiment
from covey.experiment.assembly import algorithm_of, assemble
from covey.fleet import Fleet
from covey.network.price import Ledger
from covey.network.site import Site


class Unscored(LocalEvaluator):
    """Answers what algorithms ask, and scores nothing: untrained models are not worth testing."""

    def scores(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """No scores."""
        return Scores()


class Understudy:
    """An executor that hands models back untrained, or after one full-batch gradient step."""

    def __init__(self, work: Work, *, steps: bool) -> None:
        self.deck, self.layout, self.steps = work.task.deck, work.task.layout, steps
        self.evaluator = Unscored(work.task.layout, work.data)
        self._waiting: list[tuple[int, Job]] = []

    def start(self, ticket: int, job: Job) -> None:
        """Take on one training."""
        self._waiting.append((ticket, job))

    def finished(self, timeout: float | None = None) -> Iterator[tuple[int, Answer]]:
        """All that waits is over at once."""
        wave, self._waiting = self._waiting, []
        for ticket, job in wave:
            yield ticket, Answer(self._stand_in(job), float(self.deck.sizes[job.client]), finite=True)

    def _stand_in(self, job: Job) -> Tensor:
        model: Tensor = job.model
        if not self.steps:
            return model
        model = model.clone()
        model[: self.layout.trained] -= job.rate * torch.from_numpy(
            self.evaluator.gradients(job.model, [job.client])[0]
        )
        return model

    def state(self) -> ExecutorState:
        """Nothing is remembered."""
        return {}

    def restore(self, state: ExecutorState) -> None:
        """Nothing to go back to."""

    def news(self) -> list[str]:
        """Nothing happens here."""
        return []

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class Rehearsal(Backend):
    """Understudies in the place of clients; `steps`: each takes one gradient step."""

    steps: bool = False

    def executor(self, work: Work) -> Understudy:
        """An understudy for all."""
        return Understudy(work, steps=self.steps)

    def evaluator(self, work: Work) -> Unscored:
        """Nobody scores."""
        return Unscored(work.task.layout, work.data)


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

    algorithm = algorithm_of(experiment)
    backend = Rehearsal(steps=algorithm.keeps_updates)
    loop = assemble(experiment, algorithm=algorithm, fleet=fleet, backend=backend, make_meter=keep)
    loop.go(loop.begin())
    return ledgers[0]
