"""The run loop: plan, walk, server step, learn, evaluate, write down; round after round.

All a run remembers is in `Progress`, and all of that goes into a checkpoint; random numbers come from (seed, round,
purpose). So a run that was killed and resumed ends with the model of one that was not, to the bit.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from covey import plan as plans
from covey import seeds
from covey.algorithms import Algorithm, Outcome, State
from covey.checkpoint import Checkpoint, fingerprint
from covey.errors import RunFailed
from covey.execute.local import LocalExecutor
from covey.execute.walk import Job, Walked, walk
from covey.fleet import Fleet
from covey.merge import ServerStep
from covey.plan import Forest, Mesh, Place, Plan
from covey.store import Store
from covey.theory import Prices, plan_cost

TRIES = 5  # of a round below its quorum


@dataclass
class Progress:
    """Where a run stands: everything that the next round depends on."""

    models: list[Tensor]
    home: NDArray[np.int64]
    where: list[Place | None]
    state: State = field(default_factory=dict)
    server: dict[str, Tensor] = field(default_factory=dict)
    round: int = 0
    seconds: float = 0.0
    trainings: int = 0
    cost: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)
    traffic: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: dict[str, Any] = field(default_factory=dict)
    done: bool = False


@dataclass(frozen=True)
class Report:
    """What a callback sees after every round."""

    run: str
    rounds: int
    metrics: dict[str, Any]
    plan: Plan
    models: list[Tensor]


Callback = Callable[[Report], bool | None]
"""Called after every round; True stops the run."""


class Meter(Protocol):
    """Says what a round cost; what it says is added up and stored with the metrics."""

    def spend(
        self, plan: Plan, where: Sequence[Place | None], failed: Collection[tuple[int, int]], begin: float
    ) -> Mapping[str, float]:
        """Amounts by name, `simulated_seconds` among them.

        The plan ran from models at the places `where`; `failed` are trainings that came to nothing, as (client, visit);
        `begin` is how many simulated seconds had passed.
        """


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a run ends, and how often it looks at itself."""

    rounds: int
    target_accuracy: float | None = None
    budget: float | None = None
    stop_at_seconds: float | None = None
    evaluate_every: int = 1
    checkpoint_every: int = 1
    quorum: float = 0.0


class Loop:
    """One run of one algorithm on one fleet."""

    def __init__(
        self,
        algorithm: Algorithm,
        fleet: Fleet,
        executor: LocalExecutor,
        server: ServerStep,
        limits: Limits,
        *,
        seed: int,
        prices: Prices | None = None,
        meter: Meter | None = None,
        run: str = "",
        store: Store | None = None,
    ) -> None:
        self.algorithm, self.fleet, self.executor, self.server = algorithm, fleet, executor, server
        self.limits, self.seed, self.prices, self.meter, self.run, self.store = limits, seed, prices, meter, run, store
        self.model_bytes = executor.layout.size * 4

    def begin(self) -> Progress:
        """A run before its first round."""
        model = self.executor.layout.initial()
        progress = Progress([model], np.zeros(self.fleet.clients, dtype=np.int64), [None])
        progress.state = self.algorithm.start(self.fleet, seeds.generator(self.seed, 0, "start"))
        self._learn(progress, progress.models, Walked(progress.models, [None]), {})
        return progress

    def go(self, progress: Progress, callbacks: Sequence[Callback] = ()) -> dict[str, Any]:
        """Run to the end and give the summary."""
        limits = self.limits
        while not progress.done:
            plan = self._round(progress)
            ends = progress.round >= limits.rounds or self._used_up(progress)
            scores = self._scores(progress) if ends or progress.round % limits.evaluate_every == 0 else {}
            metrics = self._metrics(progress) | scores
            ends |= limits.target_accuracy is not None and scores.get("accuracy", 0.0) >= limits.target_accuracy
            report = Report(self.run, limits.rounds, metrics, plan, progress.models)
            for callback in callbacks:
                ends |= bool(callback(report))
            if ends and not scores:
                metrics |= self._scores(progress)
            progress.done = ends
            if self.store is not None:
                keep = ends or progress.round % limits.checkpoint_every == 0
                self.store.add_round(self.run, progress.round, metrics, self.checkpoint(progress) if keep else None)
        return self.summary(progress)

    def summary(self, progress: Progress) -> dict[str, Any]:
        """What the run came to; a score that is not a number is none."""
        scores = {"accuracy": None, "loss": None} | progress.last
        end = {"rounds": progress.round, "model_sha256": fingerprint(progress.models)}
        return scores | self._metrics(progress) | end

    def checkpoint(self, progress: Progress) -> Checkpoint:
        """Everything the next round depends on."""
        executor = self.executor
        memory = {"shared": executor.memory.shared, "own": executor.memory.own}
        data = {
            **vars(progress),
            "where": [list(place) if place else None for place in progress.where],
            "traffic": [[*pair, count] for pair, count in progress.traffic.items()],
        }
        return Checkpoint({**data, "memory": memory, "choices": executor.chooser.export()})

    def restore(self, checkpoint: Checkpoint) -> Progress:
        """The progress a checkpoint holds; the executor gets its memory and choices back."""
        data = dict(checkpoint.data)
        memory, choices = data.pop("memory"), data.pop("choices")
        self.executor.memory.shared, self.executor.memory.own = memory["shared"], memory["own"]
        self.executor.chooser.adopt(choices)
        data["where"] = [Place(*place) if place else None for place in data["where"]]
        data["traffic"] = Counter({(a, b): count for a, b, count in data["traffic"]})
        return Progress(**data)

    def _round(self, progress: Progress) -> Plan:
        begun = time.perf_counter()
        progress.round += 1
        before = progress.models
        updates: dict[int, Tensor] = {}
        for attempt in range(TRIES):
            plan = self._plan(progress, attempt)
            self.executor.begin(progress.round, attempt, horizon=self.limits.rounds)
            updates.clear()
            observe = (lambda job, model: _note(updates, job, model)) if self.algorithm.keeps_updates else None
            walked = walk(plan, before, self.fleet.sizes.tolist(), self.executor, progress.where, observe=observe)
            progress.traffic += walked.traffic
            progress.trainings += len(walked.trained)
            progress.cost += self._cost(plan)
            self._spend(progress, plan, walked)
            if self._quorate(walked, progress.round, attempt):
                break
        else:
            raise RunFailed(
                f"round {progress.round} never reached its quorum of {self.limits.quorum:.0%} of the trainings "
                f"in {TRIES} tries; lower quorum, or the learning rate if models are not finite"
            )
        self.executor.end()
        if not isinstance(plan, Mesh | Forest):
            walked.models = [self._step(_one(before), walked.models[0], progress.server)]
        progress.where = walked.where
        progress.home = _home(progress.home, plan)
        self._learn(progress, before, walked, updates)
        progress.seconds += time.perf_counter() - begun
        return plan

    def _plan(self, progress: Progress, attempt: int) -> Plan:
        rng = seeds.generator(self.seed, progress.round, "plan", attempt)
        plan = self.algorithm.plan(progress.round, self.fleet, progress.state, rng)
        plans.check(plan, self.fleet.clients)
        return plan

    def _cost(self, plan: Plan) -> float:
        if self.prices is None:
            return 0.0
        epochs = self.executor.training.epochs
        return plan_cost(plan, self.fleet.sizes.tolist(), epochs=epochs, prices=self.prices)

    def _spend(self, progress: Progress, plan: Plan, walked: Walked) -> None:
        if self.meter is not None:
            begin = progress.spent.get("simulated_seconds", 0.0)
            for name, amount in self.meter.spend(plan, progress.where, walked.failed, begin).items():
                progress.spent[name] = progress.spent.get(name, 0.0) + amount

    def _used_up(self, progress: Progress) -> bool:
        limits, seconds = self.limits, progress.spent.get("simulated_seconds", 0.0)
        too_dear = limits.budget is not None and progress.cost >= limits.budget
        return too_dear or (limits.stop_at_seconds is not None and seconds >= limits.stop_at_seconds)

    def _step(self, before: Tensor, merged: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """The next model: as the local rule settles it, then by the server's step; buffers are merged, not stepped."""
        layout, trained = self.executor.layout, self.executor.layout.trained
        self.executor.rule.settle(layout.views(before), layout.views(merged))
        stepped = self.server.step(before[:trained], merged[:trained], memory)
        return torch.cat([stepped, merged[trained:]])

    def _quorate(self, walked: Walked, round: int, attempt: int) -> bool:
        """Whether enough of the trainings came to something; what was lost goes into the log."""
        if not walked.lost and walked.answered:
            return True
        asked = len(walked.trained) + len(walked.lost)
        enough = walked.answered and len(walked.trained) >= self.limits.quorum * asked
        if self.store is not None:
            reasons = Counter(reason for _, reason in walked.lost)
            text = "; ".join(f"{count} of {asked} trainings: {reason}" for reason, count in reasons.items())
            self.store.add_event(self.run, round, "lost", text)
            if not enough:
                self.store.add_event(self.run, round, "retry", f"try {attempt + 1} fell below the quorum")
        return enough

    def _learn(self, progress: Progress, before: list[Tensor], walked: Walked, updates: dict[int, Tensor]) -> None:
        outcome = Outcome(
            progress.round,
            self.fleet,
            walked.models,
            before,
            progress.home,
            trained=walked.trained,
            lost=walked.lost,
            updates=updates,
            executor=self.executor,
        )
        rng = seeds.generator(self.seed, progress.round, "learn")
        progress.state = self.algorithm.learn(progress.state, outcome, rng)
        progress.traffic += outcome.traffic
        progress.models = [model.clone() for model in outcome.models]
        progress.home = np.minimum(outcome.home, len(outcome.models) - 1)
        progress.where = (progress.where + [None] * len(outcome.models))[: len(outcome.models)]

    def _scores(self, progress: Progress) -> dict[str, Any]:
        begun = time.perf_counter()
        scores = self.executor.evaluate(progress.models, progress.home)
        progress.seconds += time.perf_counter() - begun
        named = {"accuracy": scores.accuracy, "loss": scores.loss, "own_accuracy": scores.own_accuracy}
        progress.last = {name: value for name, value in named.items() if math.isfinite(value)}
        return progress.last

    def _metrics(self, progress: Progress) -> dict[str, Any]:
        tiers = {f"{a}-{b}": count * self.model_bytes for (a, b), count in sorted(progress.traffic.items())}
        return {
            "round": progress.round,
            "models": len(progress.models),
            "trainings": progress.trainings,
            "traffic_bytes": sum(tiers.values()),
            "traffic": tiers,
            **({} if self.prices is None else {"cost": progress.cost}),
            **progress.spent,
            "wall_seconds": progress.seconds,
        }


def _note(updates: dict[int, Tensor], job: Job, model: Tensor) -> None:
    updates[job.client] = model - job.model


def _one(models: list[Tensor]) -> Tensor:
    total = models[0]
    for model in models[1:]:
        total = total + model
    return total / len(models) if len(models) > 1 else total


def _home(home: NDArray[np.int64], plan: Plan) -> NDArray[np.int64]:
    """Which model every client calls its own after that plan; who was not in it keeps its own."""
    if not isinstance(plan, Mesh | Forest):
        return np.zeros_like(home)
    home = home.copy()
    for slot, child in zip(plan.slots, plan.children, strict=True):
        home[list(plans.clients(child))] = slot
    return home
