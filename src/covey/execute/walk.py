"""What the nodes of a plan mean: the only code that knows.

A plan is walked by cooperating coroutines, one a branch. Each yields effects and gets their answers: `Job` (train this
model on this client), `Send` (move a model), `Meet` (models become one), `Fork` (go on in several branches). `drive`
passes them to an executor and everything ready at the same time is under way together, so that an executor can train a
whole wave at once, spread it over machines, or only keep the time. Models are opaque here: merges can add them.

Failures have one meaning: a Star merges who answered, a Ring hands the model past the one who did not, a Mesh mixes
with the neighbours that are left, and a node of which nobody answered counts as not having answered itself.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from covey import seeds
from covey.execute.effects import Answer, Executor, Failure, Job, KeepsTime, Meet, Send, Share
from covey.merge import CannotMerge, Gathering, Merge, Merges, Model, meets_clients, merged
from covey.plan import Forest, Mesh, Place, Plan, Ring, Star, Train, clients, ends_at, leaves, starts_at

Path: TypeAlias = tuple[int, ...]
"""Which node of the walk: the child's number at every level, before it the round's where the parent is a Star."""


@dataclass(frozen=True, eq=False)
class Brief:
    """What all jobs and merges of one round have in common.

    `epochs` are those of a Train that names none, and a Train's own rate is a factor of `rate`. `merges` finds a Star's
    merge by the word it names. `fault` looks at an answer and may say why it is not one. `singly` says that somebody
    looks at the models of single trainings, so that none may be averaged before they meet. After `patience` seconds
    without any answer, what is under way counts as lost.
    """

    round: int = 1
    attempt: int = 0
    seed: int = 0
    epochs: int = 1
    rate: float = 1.0
    shared: Mapping[str, Model] = field(default_factory=dict)
    merges: Callable[[str | None, bool], Merge] = field(default_factory=Merges)
    trained: int | None = None
    fault: Callable[[Job, Answer], str | None] | None = None
    singly: bool = False
    patience: float | None = None
    tickets: Iterator[int] = field(default_factory=itertools.count)

    @property
    def key(self) -> int:
        """The seed of the round's batches."""
        return seeds.key(self.seed, self.round, "batches")


@dataclass(frozen=True, slots=True)
class Fork:
    """Go on in several branches; answered when the last of them is done."""

    branches: list[Branch]


@dataclass(frozen=True, slots=True, eq=False)
class Got:
    """What came out of a node: a model, and the samples of the clients that shaped it.

    `weight`, where given, is what the model weighs when it meets others, as an executor's partial mean does.
    """

    model: Model
    samples: float
    weight: float | None = None


T = TypeVar("T")
Steps: TypeAlias = Generator[Job | Send | Meet | Fork, Any, T]
Branch: TypeAlias = Steps[Any]


@dataclass(slots=True)
class Walked:
    """What a round did: the models and where they are, who trained, what was lost, what travelled.

    `answered` are the slots whose model is new, `counts` what merges counted, `refused` why merges came to nothing.
    """

    models: list[Model]
    where: list[Place | None]
    trained: list[int] = field(default_factory=list)
    lost: list[tuple[int, str]] = field(default_factory=list)
    failed: set[tuple[int, int]] = field(default_factory=set)  # who, in which of its trainings
    traffic: Counter[tuple[str, str]] = field(default_factory=Counter)
    answered: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)


def walk(
    plan: Plan,
    models: Sequence[Model],
    sizes: Sequence[int],
    executor: Executor,
    where: Sequence[Place | None] = (),
    *,
    brief: Brief | None = None,
    observe: Callable[[Job, Answer], None] | None = None,
) -> Walked:
    """Run one round.

    `models` are the run's models (a root Forest or Mesh reads and writes them by slot, any other root works on their
    mean), `where` the places the last round left them at, `sizes` the samples of every client, for executors that do
    not say. `observe` sees every training and its answer.
    """
    walked = Walked(list(models), list(where) or [None] * len(models))
    brief = brief or Brief()
    steps = _Steps(sizes, walked, brief, brief.key, _visits(plan), observe)
    drive(steps.root(plan), executor, walked, tickets=brief.tickets, patience=brief.patience)
    return walked


def drive(
    root: Branch,
    executor: Executor,
    walked: Walked,
    *,
    tickets: Iterator[int] | None = None,
    patience: float | None = None,
) -> None:
    """Step branches until all are done, handing their jobs and sends to the executor."""
    waiting: dict[int, tuple[Branch, _Join | None]] = {}
    tickets = itertools.count() if tickets is None else tickets
    keeper = executor if isinstance(executor, KeepsTime) else None

    def resume(branch: Branch, join: _Join | None, answer: Any) -> None:
        todo = [(branch, join, answer)]
        while todo:
            branch, join, answer = todo.pop()
            try:
                effect = branch.send(answer)
            except StopIteration:
                if join is not None:
                    join.open -= 1
                    if not join.open:
                        todo.append((join.branch, join.join, None))
                continue
            if isinstance(effect, Send):
                walked.traffic[effect.source.kind, effect.target.kind] += 1
            if isinstance(effect, Fork) and effect.branches:
                inner = _Join(branch, join, len(effect.branches))
                todo += [(b, inner, None) for b in reversed(effect.branches)]
                continue
            if (keeper is None and not isinstance(effect, Job)) or isinstance(effect, Fork):
                todo.append((branch, join, None))
                continue
            ticket = next(tickets)
            waiting[ticket] = (branch, join)
            if isinstance(effect, Job):
                executor.start(ticket, effect)
            elif keeper is not None and isinstance(effect, Send):
                keeper.send(ticket, effect)
            elif keeper is not None and isinstance(effect, Meet):
                keeper.meet(ticket, effect)

    resume(root, None, None)
    heard = time.monotonic()
    while waiting:
        for ticket, answer in executor.finished(patience):
            if ticket in waiting:  # else it was answered before, or given up
                resume(*waiting.pop(ticket), answer)
            heard = time.monotonic()
        if patience is not None and time.monotonic() - heard >= patience:
            for ticket in list(waiting):
                resume(*waiting.pop(ticket), Failure(f"no answer within {patience:g} s"))
            heard = time.monotonic()


@dataclass(slots=True)
class _Join:
    """A branch that waits for the branches it forked."""

    branch: Branch
    join: _Join | None
    open: int


def _visits(plan: Plan) -> dict[Path, int]:
    """Numbers every training by how often its client has trained before, reading the plan from left to right.

    Batches are drawn by it, so that plans that mean the same train on the same batches, whoever runs them and in
    whatever order.
    """
    numbers: dict[Path, int] = {}
    seen: Counter[int] = Counter()

    def visit(plan: Plan, path: Path) -> None:
        if isinstance(plan, Train):
            numbers[path] = seen[plan.client]
            seen[plan.client] += 1
        elif isinstance(plan, Star):
            for r in range(plan.rounds):
                for j, child in enumerate(plan.children):
                    visit(child, (*path, r, j))
        else:
            for j, child in enumerate(plan.children):
                visit(child, (*path, j))

    visit(plan, ())
    return numbers


@dataclass(slots=True)
class _Steps:
    """One coroutine a kind of node; each takes a model and returns what it got, or None where nobody answered."""

    sizes: Sequence[int]
    walked: Walked
    brief: Brief
    key: int
    visits: dict[Path, int]
    observe: Callable[[Job, Answer], None] | None

    def root(self, plan: Plan) -> Branch:
        walked = self.walked
        if isinstance(plan, Mesh | Forest):
            while len(walked.models) <= max(plan.slots):
                walked.models.append(walked.models[0])
                walked.where.append(walked.where[0])
            models = [walked.models[s] for s in plan.slots]
            where = [walked.where[s] for s in plan.slots]
            results = yield from self.several(plan, models, where, ())
            for j, got in enumerate(results):
                if got is not None:
                    walked.models[plan.slots[j]] = got.model
                    walked.where[plan.slots[j]] = ends_at(plan.children[j])
                    walked.answered.append(plan.slots[j])
            return
        model = walked.models[0] if len(walked.models) == 1 else self.mean(walked.models)
        yield Fork([self.send(place, starts_at(plan), plan) for place in walked.where if place is not None])
        got = yield from self.one(plan, model, ())
        walked.answered = [] if got is None else [0]
        walked.models = [model if got is None else got.model]
        walked.where = [ends_at(plan)]

    def one(self, plan: Plan, model: Model, path: Path, cohort: tuple[int, ...] = ()) -> Steps[Got | None]:
        """The node in a place where one model goes in and one comes out."""
        if isinstance(plan, Train):
            return (yield from self.train(plan, model, path, cohort))
        if isinstance(plan, Star):
            return (yield from self.star(plan, model, path))
        if isinstance(plan, Ring):
            return (yield from self.ring(plan, model, path, cohort))
        count = len(plan.children)
        results = yield from self.several(plan, [model] * count, [plan.at] * count, path)
        answered = {j: got for j, got in enumerate(results) if got is not None and got.samples > 0}
        if not answered:
            return None
        ends = [ends_at(plan.children[j]) for j in answered]
        yield Fork([self.send(end, plan.at, plan) for end in ends])
        yield _meeting(plan.at, ends)
        samples = [got.samples for got in answered.values()]
        return Got(self.mean([got.model for got in answered.values()], samples), sum(samples))

    def train(
        self, plan: Train, model: Model, path: Path, cohort: tuple[int, ...], share: Share | None = None
    ) -> Steps[Got | None]:
        brief, visit = self.brief, self.visits[path]
        job = Job(
            plan.client,
            model,
            round=brief.round,
            attempt=brief.attempt,
            visit=visit,
            epochs=plan.epochs or brief.epochs,
            rate=brief.rate * plan.rate,
            key=self.key,
            shared=brief.shared,
            cohort=cohort,
            share=share,
        )
        answer = yield job
        if isinstance(answer, Answer) and brief.fault is not None:
            reason = brief.fault(job, answer)
            answer = answer if reason is None else Failure(reason)
        if isinstance(answer, Failure):
            self.walked.lost.append((plan.client, answer.reason))
            self.walked.failed.add((plan.client, visit))
            return None
        self.walked.trained.append(plan.client)
        if answer is None:  # an executor that trains nothing
            return Got(None, float(self.sizes[plan.client]))
        if self.observe is not None:
            self.observe(job, answer)
        return Got(answer.model, float(answer.samples), answer.weight)

    def star(self, plan: Star, model: Model, path: Path) -> Steps[Got | None]:
        merge = self.brief.merges(plan.merge, meets_clients(plan))
        averages = getattr(merge, "averages", False) and not self.brief.singly
        members = tuple(tuple(sorted(clients(child))) for child in plan.children)
        cohort = tuple(sorted({client for member in members for client in member}))
        samples = 0.0
        ends: list[Place] = []
        missing: list[int] = []

        def branch(j: int, child: Plan, path: Path) -> Branch:
            nonlocal samples
            yield from self.send(plan.at, starts_at(child), plan)
            if isinstance(child, Train) and averages:
                weight = float(self.sizes[child.client]) if plan.weights is None else plan.weights[j]
                share = Share(path[:-1], weight) if weight > 0 else None
                got = yield from self.train(child, model, path, cohort, share)
            else:
                got = yield from self.one(child, model, path, cohort)
            if got is None:
                missing.append(j)
                return
            yield from self.send(ends_at(child), plan.at, plan)
            ends.append(ends_at(child))
            own = got.samples if plan.weights is None else plan.weights[j]
            weight = own if got.weight is None else got.weight
            if weight > 0:
                merging.add(j, got.model, weight)
            if own > 0:
                samples += got.samples

        answered = None
        for r in range(plan.rounds):
            merging, samples = merge.open(self.gathering(plan, model, members, (*path, r))), 0.0
            ends.clear()
            missing.clear()
            yield Fork([branch(j, child, (*path, r, j)) for j, child in enumerate(plan.children)])
            if samples > 0:
                yield _meeting(plan.at, ends)
                try:
                    model = merging.close(tuple(sorted(missing)))
                except CannotMerge as reason:
                    self.walked.refused.append(f"models could not be merged at {plan.at}: {reason}")
                else:
                    answered = Got(model, samples)
        return answered

    def gathering(self, plan: Star, start: Model, members: tuple[tuple[int, ...], ...], path: Path) -> Gathering:
        brief = self.brief

        def count(name: str, amount: float) -> None:
            self.walked.counts[name] += amount  # type: ignore[assignment]  # amounts need not be whole

        key = seeds.key(brief.seed, brief.round, "merge", brief.attempt, *path)
        weights = plan.weights or [sum(self.sizes[leaf.client] for leaf in leaves(child)) for child in plan.children]
        return Gathering(members, start, key, brief.round, plan.at, brief.trained, count, tuple(map(float, weights)))

    def ring(self, plan: Ring, model: Model, path: Path, cohort: tuple[int, ...]) -> Steps[Got | None]:
        at = starts_at(plan)
        samples = 0.0
        for j, child in enumerate(plan.children):
            if plan.via is not None and at != starts_at(child):
                yield from self.send(at, plan.via, plan)
                at = plan.via
            yield from self.send(at, starts_at(child), plan)
            got = yield from self.one(child, model, (*path, j), cohort)
            if got is not None:
                model, at = got.model, ends_at(child)
                samples += got.samples
        return Got(model, samples) if samples > 0 else None

    def several(
        self, plan: Mesh | Forest, models: list[Model], where: Sequence[Place | None], path: Path
    ) -> Steps[list[Got | None]]:
        results: list[Got | None] = [None] * len(plan.children)

        def branch(j: int, child: Plan) -> Branch:
            source = where[j]
            if source is not None:
                yield from self.send(source, starts_at(child), plan)
            results[j] = yield from self.one(child, models[j], (*path, j))

        yield Fork([branch(j, child) for j, child in enumerate(plan.children)])
        if isinstance(plan, Mesh):
            return (yield from self.mix(plan, results))
        return results

    def mix(self, plan: Mesh, results: list[Got | None]) -> Steps[list[Got | None]]:
        answered = {j: got for j, got in enumerate(results) if got is not None}
        alive = [(a, b) for a, b in plan.links if a in answered and b in answered]
        places = [ends_at(child) for child in plan.children]
        yield Fork([self.send(places[s], places[t], plan) for a, b in alive for s, t in ((a, b), (b, a))])
        met = Counter(j for link in alive for j in link)
        yield Fork([_meet(Meet(places[j], 1 + met[j])) for j in answered])
        mixed: list[Got | None] = []
        for j, got in enumerate(results):
            if got is None:
                mixed.append(None)
                continue
            near = sorted({j} | {a + b - j for a, b in alive if j in (a, b)})
            shares = [answered[i].samples if plan.weights == "samples" else _share(plan, i) for i in near]
            if any(shares):
                got = Got(self.mean([answered[i].model for i in near], shares), got.samples)
            mixed.append(got)
        return mixed

    def send(self, source: Place, target: Place, owner: Plan) -> Branch:
        if source != target:
            yield Send(source, target, owner)

    def mean(self, models: Sequence[Model], shares: Sequence[float] | None = None) -> Model:
        return merged(self.brief.merges("mean", False), list(models), list(shares or [1.0] * len(models)))


def _meeting(at: Place, ends: Sequence[Place]) -> Meet:
    """The meeting of models that come from these places."""
    return Meet(at, len(ends), tuple(end.number for end in ends if end.kind == "client"))


def _meet(meeting: Meet) -> Branch:
    yield meeting


def _share(plan: Mesh, child: int) -> float:
    return plan.weights[child] if isinstance(plan.weights, tuple) else 1.0
