"""The run loop: plan, walk, server step, learn, evaluate, write down; round after round.

All a run remembers is in `Progress`, and all of that goes into a checkpoint; random numbers come from (seed, round,
purpose). So a run that was killed and resumed ends with the model of one that was not, to the bit.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from covey import plan as plans
from covey import seeds
from covey.algorithms import Algorithm, Outcome
from covey.checkpoint import fingerprint
from covey.effort import check_effort
from covey.errors import BadPlan, BadValue, CoveyError, RunFailed
from covey.execute.effects import Answer, Executor, Job
from covey.execute.evaluate import Evaluator
from covey.execute.layout import Layout
from covey.execute.local import Training
from covey.execute.walk import Brief, Walked, walk
from covey.fleet import Fleet
from covey.local import Rule
from covey.merge import Merges, Moment, RunningMean, ServerStep
from covey.meter import Meter, Ran
from covey.plan import Forest, Mesh, Place, Plan
from covey.progress import Progress, check, pack, unpack

TRIES = 5  # of a round below its quorum
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What code raises that is given data of a shape it does not know."""


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


class Recorder(Protocol):
    """Keeps what a run says of itself; `run` is the run's name."""

    @property
    def run(self) -> str:
        """The run's name."""

    def add_round(self, round: int, metrics: dict[str, Any], data: dict[str, Any] | None) -> None:
        """One more round is done; `data`, where given, is all the next one depends on."""

    def add_event(self, round: int, kind: str, text: str) -> None:
        """Something happened: a lost client, a round tried again, a merge that came to nothing."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a run ends, and how often it looks at itself.

    `at_most` holds amounts by their name among the metrics: the run ends when one of them is reached.
    """

    rounds: int
    target_accuracy: float | None = None
    target_own_accuracy: float | None = None
    at_most: Mapping[str, float] = field(default_factory=dict)
    evaluate_every: int = 1
    score_every: str = "round"
    checkpoint_every: int = 1
    quorum: float = 0.0
    patience: float | None = None

    def met_by(self, scores: Mapping[str, Any]) -> bool:
        """Whether the scores of a round reach a target."""
        targets = {"accuracy": self.target_accuracy, "own_accuracy": self.target_own_accuracy}
        return any(target is not None and (scores.get(name) or 0.0) >= target for name, target in targets.items())


@dataclass(frozen=True, kw_only=True)
class Ways:
    """The ways a run trains and merges: what clients do, how models become one, what the server does then."""

    training: Training
    rule: Rule
    merges: Merges
    server: ServerStep


class Loop:
    """One run of one algorithm on one fleet."""

    def __init__(
        self,
        algorithm: Algorithm,
        fleet: Fleet,
        layout: Layout,
        executor: Executor,
        evaluator: Evaluator,
        ways: Ways,
        limits: Limits,
        *,
        seed: int,
        meters: Sequence[Meter] = (),
        recorder: Recorder | None = None,
    ) -> None:
        self.algorithm, self.fleet, self.layout, self.executor = algorithm, fleet, layout, executor
        self.evaluator, self.ways, self.limits, self.seed = evaluator, ways, limits, seed
        self.meters, self.recorder = meters, recorder
        self.model_bytes = layout.size * 4
        self._sizes = fleet.sizes.tolist()
        self._hides = bool(getattr(ways.merges.clients, "hides", False))
        self._noted: set[tuple[str, str]] = set()
        self._resumed: int | None = None  # the round that follows the checkpoint this run went on from
        self._tickets = itertools.count()  # no two jobs of a run share one, so that late answers are told apart

    @property
    def run(self) -> str:
        """The run's name."""
        return "" if self.recorder is None else self.recorder.run

    def begin(self) -> Progress:
        """A run before its first round."""
        model = self.layout.initial()
        progress = Progress([model], np.zeros(self.fleet.clients, dtype=np.int64), [None])
        progress.shared = {name: torch.zeros_like(model) for name in self.ways.rule.remembers}
        progress.state = self.algorithm.start(self.fleet, seeds.generator(self.seed, 0, "start"))
        self._learn(progress, progress.models, Walked(progress.models, [None]), {})
        self._check_effort(self._plan(progress, 1, 0))
        return progress

    def go(self, progress: Progress, callbacks: Sequence[Callback] = ()) -> dict[str, Any]:
        """Run to the end and give the summary."""
        limits = self.limits
        while not progress.done:
            plan, counts = self._round(progress)
            metrics = self._metrics(progress) | counts
            ends = progress.round >= limits.rounds or self._used_up(metrics)
            scores = self._scores(progress) if ends or progress.round % limits.evaluate_every == 0 else {}
            metrics |= scores | {"wall_seconds": progress.seconds}
            ends |= limits.met_by(scores)
            report = Report(self.run, limits.rounds, metrics, plan, progress.models)
            for callback in callbacks:
                ends |= bool(callback(report))
            if ends and not scores:
                metrics |= self._scores(progress)
            progress.done = ends
            if self.recorder is not None:
                keep = ends or progress.round % limits.checkpoint_every == 0
                self.recorder.add_round(progress.round, metrics, self.checkpoint(progress) if keep else None)
        return self.summary(progress)

    def next_plan(self, progress: Progress) -> Plan:
        """The plan of the round that comes next."""
        return self._plan(progress, progress.round + 1, 0)

    def summary(self, progress: Progress) -> dict[str, Any]:
        """What the run came to; a score that is not a number is none."""
        scores = {"accuracy": None, "loss": None} | progress.last
        end = {"rounds": progress.round, "model_sha256": fingerprint(progress.models)}
        return scores | self._metrics(progress) | end

    def checkpoint(self, progress: Progress) -> dict[str, Any]:
        """Everything the next round depends on, as plain data and tensors."""
        return {**pack(progress), "executor": self.executor.state()}

    def check(self, data: Mapping[str, Any]) -> None:
        """Refuse, with a ValueError, a checkpoint's data that is not of this run's shape."""
        remembers = self.ways.rule.remembers
        check(data, size=self.layout.size, clients=self.fleet.clients, remembers=remembers)
        try:
            self.next_plan(_progress(data))
        except CoveyError:
            pass  # there is a reason not to go on, which the round itself will say
        except UNREADABLE as error:
            raise ValueError(f"the algorithm can make no plan of its state ({_named(error)})") from error
        self.executor.restore(data["executor"])  # which refuses what is no state of its own; last, as it is taken then

    def restore(self, data: Mapping[str, Any]) -> Progress:
        """The progress that a checkpoint's data holds; the executor goes back to its state."""
        self.executor.restore(data["executor"])
        progress = _progress(data)
        self._resumed = progress.round + 1
        return progress

    def _round(self, progress: Progress) -> tuple[Plan, dict[str, Any]]:
        """One round, tried again with another draw where too few answered; its plan and what its merges counted."""
        begun = time.perf_counter()
        progress.round += 1
        before, state = progress.models, self.executor.state()
        for attempt in range(TRIES):
            if attempt:
                self.executor.restore(state)  # what clients remembered in a failed try never happened
            plan, walked, notes = self._try(progress, attempt)
            if self._quorate(walked, progress.round, attempt):
                break
        else:
            raise RunFailed(self._why(walked, progress.round))
        self._gather(progress, notes.changes)
        self._step(progress, plan, before, walked)
        progress.where = walked.where
        progress.home = _home(progress.home, plan)
        self._learn(progress, before, walked, dict(sorted(notes.updates.items())))  # whoever was first
        progress.seconds += time.perf_counter() - begun
        return plan, dict(walked.counts) | self._inside(progress, plan, notes)

    def _try(self, progress: Progress, attempt: int) -> tuple[Plan, Walked, _Notes]:
        """Plan the round and walk the plan; traffic and costs count whatever comes of it."""
        plan = self._plan(progress, progress.round, attempt)
        try:
            self._check_effort(plan)
        except BadValue as error:
            raise RunFailed(f"round {progress.round} cannot be done: {error}") from None
        notes = _Notes(self.algorithm.keeps_updates, self.limits.score_every == "epoch")
        brief = self._brief(progress, attempt)
        walked = walk(
            plan, progress.models, self._sizes, self.executor, progress.where, brief=brief, observe=notes.take
        )
        for text in self.executor.news():
            self._note(progress.round, "executor", text)
        progress.traffic += walked.traffic
        progress.trainings += len(walked.trained)
        ran = Ran(progress.round, plan, tuple(progress.where), walked.failed, dict(progress.spent))
        for meter in self.meters:
            progress.spent |= meter.after(ran)
        return plan, walked, notes

    def _plan(self, progress: Progress, round: int, attempt: int) -> Plan:
        rng = seeds.generator(self.seed, round, "plan", attempt)
        plan = self.algorithm.plan(round, self.fleet, progress.state, rng)
        plans.check(plan, self.fleet.clients)
        return plans.by_epoch(plan, self.ways.training.epochs) if self.limits.score_every == "epoch" else plan

    def _check_effort(self, plan: Plan) -> None:
        training, sizes = self.ways.training, self.fleet.sizes.tolist()
        check_effort(plan, sizes, epochs=training.epochs, batch=training.batch, parameters=self.layout.size)

    def _brief(self, progress: Progress, attempt: int) -> Brief:
        training = self.ways.training
        return Brief(
            round=progress.round,
            attempt=attempt,
            seed=self.seed,
            epochs=training.epochs,
            rate=training.rate(progress.round),
            shared=progress.shared,
            merges=self.ways.merges,
            trained=self.layout.trained,
            fault=_fault,
            singly=self.algorithm.keeps_updates or self.limits.score_every == "epoch",
            patience=self.limits.patience,
            tickets=self._tickets,
        )

    def _used_up(self, metrics: Mapping[str, Any]) -> bool:
        return any(metrics.get(name, 0.0) >= most for name, most in self.limits.at_most.items())

    def _gather(self, progress: Progress, changes: list[Mapping[str, Tensor]]) -> None:
        """The server takes in how the clients' memories have changed."""
        if changes:
            rule = self.ways.rule
            mean = {name: torch.stack([c[name] for c in changes]).mean(dim=0) for name in rule.remembers}
            progress.shared = rule.gather(progress.shared, mean, len(changes) / self.fleet.clients)

    def _step(self, progress: Progress, plan: Plan, before: list[Tensor], walked: Walked) -> None:
        """Every model that is new: as the local rule settles it, then by the server's step, with a memory of its own.

        Buffers are merged, not stepped.
        """
        trained = self.layout.trained
        for slot in walked.answered:
            old = _slot(before, slot) if isinstance(plan, Mesh | Forest) else _mean(before)
            child = plan.children[plan.slots.index(slot)] if isinstance(plan, Mesh | Forest) else plan
            new = walked.models[slot]
            _check_finite(new, f"the merged model of round {progress.round}", "clients' learning rate")
            self.ways.rule.settle(self.layout.views(old), self.layout.views(new))
            rng = seeds.generator(self.seed, progress.round, "server", slot)
            moment = Moment(progress.round, rng, plans.trainings(child))
            memory = progress.server.setdefault(slot, {})
            with self._reading(progress.round, "server's step"):
                stepped = self.ways.server.step(old[:trained], new[:trained], memory, moment)
            walked.models[slot] = torch.cat([stepped, new[trained:]])
            _check_finite(walked.models[slot], f"what the server's step made in round {progress.round}", "its rate")

    @contextmanager
    def _reading(self, round: int, who: str) -> Iterator[None]:
        """What they cannot read right after a resumption stood in the checkpoint; later it is their own fault."""
        try:
            yield
        except CoveyError:
            raise
        except UNREADABLE as error:
            if round != self._resumed:
                raise
            what = f"the {who} cannot go on from what the checkpoint of round {round - 1} says it remembered"
            raise RunFailed(f"round {round} failed: {what} ({_named(error)})") from error

    def _quorate(self, walked: Walked, round: int, attempt: int) -> bool:
        """Whether enough of the trainings came to something; what was lost goes into the log."""
        asked = len(walked.trained) + len(walked.lost)
        enough = bool(walked.answered) and len(walked.trained) >= self.limits.quorum * asked
        for text in (*_reasons(walked, asked), *walked.refused):
            self._note(round, "lost", text)
        if not enough:
            self._note(round, "retry", f"try {attempt + 1} came to too little")
        return enough

    def _why(self, walked: Walked, round: int) -> str:
        """Why a round has failed for good."""
        asked = len(walked.trained) + len(walked.lost)
        found = [*_reasons(walked, asked), *walked.refused]
        what = "; ".join(found) or "no model came out of the plan"
        if walked.answered:
            wanted = f"fewer than the quorum of {self.limits.quorum:.0%} answered"
            remedy = "lower quorum"
        else:
            wanted = "nobody answered"
            remedy = "lower lr" if any("finite" in text for text in found) else "ask clients that can answer"
        return f"round {round} failed {TRIES} times: {wanted} ({what}); {remedy}"

    def note_once(self, round: int, kind: str, text: str) -> None:
        """An event, unless this process has said the same before."""
        if (kind, text) not in self._noted:
            self._noted.add((kind, text))
            self._note(round, kind, text)

    def _note(self, round: int, kind: str, text: str) -> None:
        if self.recorder is not None:
            self.recorder.add_event(round, kind, text)

    def _learn(self, progress: Progress, before: list[Tensor], walked: Walked, updates: dict[int, Tensor]) -> None:
        outcome = Outcome(
            progress.round,
            self.fleet,
            list(walked.models),
            before,
            progress.home,
            list(walked.where),
            trained=sorted(walked.trained),
            lost=sorted(walked.lost),
            updates=updates,
            asked=_Discreet(self, progress.round) if self._hides else self.evaluator,
            views=self.layout.params,
        )
        rng = seeds.generator(self.seed, progress.round, "learn")
        with self._reading(progress.round, "algorithm"):
            progress.state = self.algorithm.learn(progress.state, outcome, rng)
        progress.traffic += outcome.traffic
        progress.where = _where(outcome, walked)
        progress.models = [model.clone() for model in outcome.models]
        progress.home = np.asarray(outcome.home, dtype=np.int64)
        progress.server = _memories(progress.server, outcome, walked)
        if not (progress.home < len(progress.models)).all():
            raise BadPlan(f"a client calls model {progress.home.max()} its own; there are {len(progress.models)}")

    def _scores(self, progress: Progress) -> dict[str, Any]:
        begun = time.perf_counter()
        scores = self.evaluator.scores(progress.models, progress.home)
        progress.seconds += time.perf_counter() - begun
        progress.last = {name: value for name, value in vars(scores).items() if math.isfinite(value)}
        return progress.last

    def _inside(self, progress: Progress, plan: Plan, notes: _Notes) -> dict[str, Any]:
        """Scores inside the round: of the mean of all clients' models after each of their epochs but the last.

        Clients that train one after another have no such mean: their rounds have no scores inside.
        """
        counts = set(notes.visits.values())
        if not notes.means or len(counts) != 1 or plans.epochs(plan, 1) != counts.pop():
            return {}
        ended = progress.spent.get("epochs", 0.0)
        home = np.zeros(self.fleet.clients, dtype=np.int64)
        points = []
        for visit, mean in sorted(notes.means.items())[:-1]:
            scores = self.evaluator.scores([mean.close(())], home)
            told = {"epochs": ended - len(notes.means) + visit + 1, "accuracy": scores.accuracy, "loss": scores.loss}
            points.append({name: value for name, value in told.items() if math.isfinite(value)})
        return {"inside": points}

    def _metrics(self, progress: Progress) -> dict[str, Any]:
        tiers = {f"{a}-{b}": count * self.model_bytes for (a, b), count in sorted(progress.traffic.items())}
        return {
            "round": progress.round,
            "models": len(progress.models),
            "trainings": progress.trainings,
            "traffic_bytes": sum(tiers.values()),
            "traffic": tiers,
            **progress.spent,
            "wall_seconds": progress.seconds,
        }


def _progress(data: Mapping[str, Any]) -> Progress:
    return unpack({name: value for name, value in data.items() if name != "executor"})


def _named(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@dataclass(frozen=True)
class _Discreet:
    """Asks clients whose updates are hidden: not for gradients, which tell as much; for losses, and says so."""

    loop: Loop
    round: int

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """Nobody's."""
        name = type(self.loop.algorithm).__name__
        raise BadValue("merge", "secure", f"another with {name}, which asks every client for its gradient")

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """As the evaluator gives them."""
        self.loop.note_once(self.round, "secure", "clients send their losses in the clear, beside hidden updates")
        return self.loop.evaluator.losses(models, clients)


@dataclass
class _Notes:
    """What is kept of the trainings of one try: updates where the algorithm wants them, changes of memories."""

    keeps_updates: bool
    keeps_means: bool = False
    means: dict[int, RunningMean] = field(default_factory=dict)  # of the clients' models, after each of their trainings
    visits: Counter[int] = field(default_factory=Counter)
    updates: dict[int, Tensor] = field(default_factory=dict)
    changes: list[Mapping[str, Tensor]] = field(default_factory=list)

    def take(self, job: Job, answer: Answer) -> None:
        if self.keeps_means:
            self.means.setdefault(job.visit, RunningMean()).add(job.client, answer.model, answer.samples)
            self.visits[job.client] += 1
        if self.keeps_updates:
            self.updates[job.client] = answer.model - job.model
        if answer.changes:
            self.changes.append(answer.changes)


def _fault(job: Job, answer: Answer) -> str | None:
    """Why an answer is none: a model of another shape, or one that is not finite."""
    if not isinstance(answer.model, Tensor) or answer.model.shape != job.model.shape:
        return f"the trained model is not a vector of {len(job.model)} numbers"
    finite = bool(torch.isfinite(answer.model.sum())) if answer.finite is None else answer.finite
    return None if finite else "the trained model is not finite"


def _check_finite(model: Tensor, what: str, remedy: str) -> None:
    if not torch.isfinite(model.sum()):
        raise RunFailed(f"{what} is not finite; lower {remedy}")


def _slot(models: list[Tensor], slot: int) -> Tensor:
    """The model of a slot; one that has none yet starts from model 0."""
    return models[slot] if slot < len(models) else models[0]


def _reasons(walked: Walked, asked: int) -> list[str]:
    counted = Counter(reason for _, reason in walked.lost)
    return [f"{count} of {asked} trainings: {reason}" for reason, count in counted.items()]


def _mean(models: list[Tensor]) -> Tensor:
    total = models[0]
    for model in models[1:]:
        total = total + model
    return total / len(models) if len(models) > 1 else total


def _where(outcome: Outcome, walked: Walked) -> list[Place | None]:
    """Where the models are after `learn`: those it made are nowhere, unless it said where."""
    if outcome.where != walked.where:
        return (outcome.where + [None] * len(outcome.models))[: len(outcome.models)]
    kept = zip(walked.models, walked.where, strict=True)
    places = [
        place if k < len(outcome.models) and outcome.models[k] is model else None
        for k, (model, place) in enumerate(kept)
    ]
    return (places + [None] * len(outcome.models))[: len(outcome.models)]


def _memories(server: dict[int, dict[str, Tensor]], outcome: Outcome, walked: Walked) -> dict[int, dict[str, Tensor]]:
    """The server's memories after `learn`: a memory goes with its model, and a model that `learn` made has none."""
    memory_of = {id(model): server[slot] for slot, model in enumerate(walked.models) if slot in server}
    return {
        slot: {name: value.clone() for name, value in memory_of[id(model)].items()}  # one each, as copies part ways
        for slot, model in enumerate(outcome.models)
        if id(model) in memory_of
    }


def _home(home: NDArray[np.int64], plan: Plan) -> NDArray[np.int64]:
    """Which model every client calls its own after that plan; who was not in it keeps its own."""
    if not isinstance(plan, Mesh | Forest):
        return np.zeros_like(home)
    home = home.copy()
    for slot, child in zip(plan.slots, plan.children, strict=True):
        home[list(plans.clients(child))] = slot
    return home
