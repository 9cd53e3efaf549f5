"""An attack in a run: an executor that changes attackers' answers, and an evaluator that says how well it works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from covey.attack.base import Attack
from covey.execute.effects import Answer, Executor, Failure, Job, Ticket
from covey.execute.evaluate import Evaluator, Scores, scores, tensors_of
from covey.execute.front import InFront
from covey.execute.layout import Layout
from covey.fleet import FleetData


class Tampering(InFront):
    """Hands jobs on to another executor, and changes what attackers answer."""

    def __init__(self, executor: Executor, attack: Attack, attackers: Sequence[int]) -> None:
        super().__init__(executor)
        self.attack, self.attackers = attack, frozenset(attackers)
        self._jobs: dict[Ticket, Job] = {}

    def start(self, ticket: Ticket, job: Job) -> None:
        """Take on one training."""
        if job.client in self.attackers:
            self._jobs[ticket] = job = replace(job, share=None)  # its own model is wanted, to be changed
        super().start(ticket, job)

    def finished(self, timeout: float | None = None) -> Iterable[tuple[Ticket, Answer | Failure | None]]:
        """What the other executor answers, and what attackers make of it."""
        for ticket, answer in self.executor.finished(timeout):
            job = self._jobs.pop(ticket, None)
            if job is not None and isinstance(answer, Answer):
                answer = self.attack.answer(job, answer, self.attackers)
            yield ticket, answer


@dataclass(frozen=True)
class AttackedScores(Scores):
    """Scores of a run under attack: how often the attack works, too, and by how many attackers."""

    attack_success: float = float("nan")
    attackers: int = 0


class Watching:
    """Asks another evaluator, and tries the attack on the models: mean over them, by the samples of their clients."""

    def __init__(
        self, evaluator: Evaluator, attack: Attack, attackers: Sequence[int], layout: Layout, data: FleetData
    ) -> None:
        self.evaluator, self.layout, self.attackers = evaluator, layout, len(attackers)
        trial = attack.trial(data)
        self.wrong = trial.wrong
        self.x, self.y = tensors_of(layout, trial.x, trial.y)
        self.sizes = data.train_of.sizes

    def scores(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> AttackedScores:
        """Scores of the models, and how often the attack works on them."""
        found = self.evaluator.scores(models, home)
        shares = np.bincount(home, self.sizes, len(models))
        rates = [self._rate(model) if share else 0.0 for model, share in zip(models, shares, strict=True)]
        success = float(shares @ rates / shares.sum())
        return AttackedScores(**vars(found), attack_success=success, attackers=self.attackers)

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The other evaluator's."""
        return self.evaluator.losses(models, clients)

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """The other evaluator's."""
        return self.evaluator.gradients(model, clients)

    def _rate(self, model: Tensor) -> float:
        right = float(scores(self.layout, model, self.x, self.y)[0].mean())
        return 1 - right if self.wrong else right
