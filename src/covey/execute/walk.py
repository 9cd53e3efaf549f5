"""What the nodes of a plan mean: the only code that knows.

A plan is walked by cooperating coroutines, one a branch. Each yields effects and gets their answers: `Job` (train this
model on this client), `Send` (move a model), `Meet` (models become one), `Fork` (go on in several branches). `drive`
passes them to an executor and everything ready at the same time is under way together, so that an executor can train a
whole wave at once, spread it over machines, or only keep the time. Models are opaque here: mergers can add them.

Failures have one meaning: a Star merges who answered, a Ring hands the model past the one who did not, a Mesh mixes
with the neighbours that are left, and a node of which nobody answered counts as not having answered itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from covey.execute.effects import Executor, Failure, Job, KeepsTime, Meet, Send
from covey.merge import Model
from covey.plan import Forest, Mesh, Place, Plan, Ring, Star, Train, ends_at, starts_at

__all__ = ["Executor", "Failure", "Job", "Meet", "Send", "Walked", "drive", "walk"]


@dataclass(frozen=True, slots=True)
class Fork:
    """Go on in several branches; answered when the last of them is done."""

    branches: list[Branch]


@dataclass(frozen=True, slots=True, eq=False)
class Got:
    """What came out of a node: a model, and the samples of the clients that shaped it."""

    model: Model
    samples: float


T = TypeVar("T")
Steps: TypeAlias = Generator[Job | Send | Meet | Fork, Any, T]
Branch: TypeAlias = Steps[Any]


@dataclass(slots=True)
class Walked:
    """What a round did: the models and where they are, who trained, what was lost, what travelled."""

    models: list[Model]
    where: list[Place | None]
    trained: list[int] = field(default_factory=list)
    lost: list[tuple[int, str]] = field(default_factory=list)
    failed: set[tuple[int, int]] = field(default_factory=set)  # who, in which of its trainings
    traffic: Counter[tuple[str, str]] = field(default_factory=Counter)
    answered: bool = True


def walk(
    plan: Plan,
    models: Sequence[Model],
    sizes: Sequence[int],
    executor: Executor,
    where: Sequence[Place | None] = (),
    *,
    observe: Callable[[Job, Model], None] | None = None,
) -> Walked:
    """Run one round.

    `models` are the run's models (a root Forest or Mesh reads and writes them by slot, any other root works on their
    mean), `where` the places the last round left them at, `sizes` the samples of every client. `observe` sees every
    training and its result.
    """
    walked = Walked(list(models), list(where) or [None] * len(models))
    steps = _Steps(sizes, executor, walked, observe)
    drive(steps.root(plan, _visits(plan, Counter())), executor, walked)
    return walked


def drive(root: Branch, executor: Executor, walked: Walked) -> None:
    """Step branches until all are done, handing their jobs and sends to the executor."""
    waiting: dict[int, tuple[Branch, _Join | None]] = {}
    tickets = 0
    keeper = executor if isinstance(executor, KeepsTime) else None

    def resume(branch: Branch, join: _Join | None, answer: Any) -> None:
        nonlocal tickets
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
            if isinstance(effect, Job):
                executor.start(tickets, effect)
            elif keeper is None or isinstance(effect, Fork):
                todo.append((branch, join, None))
                continue
            elif isinstance(effect, Send):
                keeper.send(tickets, effect)
            else:
                keeper.meet(tickets, effect)
            waiting[tickets] = (branch, join)
            tickets += 1

    resume(root, None, None)
    while waiting:
        for ticket, answer in executor.finished():
            resume(*waiting.pop(ticket), answer)


@dataclass(slots=True)
class _Join:
    """A branch that waits for the branches it forked."""

    branch: Branch
    join: _Join | None
    open: int


def _visits(plan: Plan, seen: Counter[int]) -> Any:
    """Numbers every training by how often its client has trained before, reading the plan from left to right.

    A Train's number, a Star's list of rounds of lists, any other node's list: batches are drawn by it, so that plans
    that mean the same train on the same batches, whoever runs them and in whatever order.
    """
    if isinstance(plan, Train):
        seen[plan.client] += 1
        return seen[plan.client] - 1
    if isinstance(plan, Star):
        return [[_visits(child, seen) for child in plan.children] for _ in range(plan.rounds)]
    return [_visits(child, seen) for child in plan.children]


@dataclass(slots=True)
class _Steps:
    """One coroutine a kind of node; each takes a model and returns what it got, or None where nobody answered."""

    sizes: Sequence[int]
    executor: Executor
    walked: Walked
    observe: Callable[[Job, Model], None] | None

    def root(self, plan: Plan, visits: Any) -> Branch:
        walked = self.walked
        if isinstance(plan, Mesh | Forest):
            while len(walked.models) <= max(plan.slots):
                walked.models.append(walked.models[0])
                walked.where.append(walked.where[0])
            models = [walked.models[s] for s in plan.slots]
            where = [walked.where[s] for s in plan.slots]
            results = yield from self.several(plan, models, where, visits, group=False)
            for j, got in enumerate(results):
                if got is not None:
                    walked.models[plan.slots[j]] = got.model
                    walked.where[plan.slots[j]] = ends_at(plan.children[j])
            walked.answered = any(results)
            return
        model = walked.models[0] if len(walked.models) == 1 else self.merge(walked.models)
        yield Fork([self.send(place, starts_at(plan)) for place in walked.where if place is not None])
        got = yield from self.one(plan, model, visits, group=False)
        walked.answered = got is not None
        walked.models = [model if got is None else got.model]
        walked.where = [ends_at(plan)]

    def one(self, plan: Plan, model: Model, visits: Any, *, group: bool) -> Steps[Got | None]:
        """The node in a place where one model goes in and one comes out; `group` as in `Send`."""
        if isinstance(plan, Train):
            return (yield from self.train(plan, model, visits))
        if isinstance(plan, Star):
            return (yield from self.star(plan, model, visits, group=group))
        if isinstance(plan, Ring):
            return (yield from self.ring(plan, model, visits, group=group))
        count = len(plan.children)
        results = yield from self.several(plan, [model] * count, [plan.at] * count, visits, group=group)
        answered = {j: got for j, got in enumerate(results) if got is not None and got.samples > 0}
        if not answered:
            return None
        ends = [ends_at(plan.children[j]) for j in answered]
        yield Fork([self.send(end, plan.at, group=group) for end in ends])
        yield _meeting(plan.at, ends)
        samples = [got.samples for got in answered.values()]
        return Got(self.merge([got.model for got in answered.values()], samples), sum(samples))

    def train(self, plan: Train, model: Model, visit: int) -> Steps[Got | None]:
        job = Job(plan.client, model, plan.epochs, plan.rate, visit)
        answer = yield job
        if isinstance(answer, Failure):
            self.walked.lost.append((plan.client, answer.reason))
            self.walked.failed.add((plan.client, visit))
            return None
        self.walked.trained.append(plan.client)
        if self.observe is not None:
            self.observe(job, answer)
        return Got(answer, float(self.sizes[plan.client]))

    def star(self, plan: Star, model: Model, visits: Any, *, group: bool) -> Steps[Got | None]:
        samples = 0.0
        ends: list[Place] = []

        def branch(j: int, child: Plan, visits: Any) -> Branch:
            nonlocal samples
            yield from self.send(plan.at, starts_at(child), group=group)
            gathers = isinstance(child, Star) and child.rounds == 1
            got = yield from self.one(child, model, visits, group=group or not gathers)
            if got is not None:
                yield from self.send(ends_at(child), plan.at, group=group)
                ends.append(ends_at(child))
                weight = got.samples if plan.weights is None else plan.weights[j]
                if weight > 0:
                    merger.add(got.model, weight)
                    samples += got.samples

        answered = None
        for round_visits in visits:
            merger, samples = self.executor.merger(plan.merge), 0.0
            ends.clear()
            yield Fork([branch(j, child, round_visits[j]) for j, child in enumerate(plan.children)])
            if samples > 0:
                yield _meeting(plan.at, ends)
                model = merger.result()
                answered = Got(model, samples)
        return answered

    def ring(self, plan: Ring, model: Model, visits: Any, *, group: bool) -> Steps[Got | None]:
        at = starts_at(plan)
        samples = 0.0
        for child, child_visits in zip(plan.children, visits, strict=True):
            yield from self.send(at, starts_at(child), group=group)
            got = yield from self.one(child, model, child_visits, group=True)
            if got is not None:
                model, at = got.model, ends_at(child)
                samples += got.samples
        return Got(model, samples) if samples > 0 else None

    def several(
        self, plan: Mesh | Forest, models: list[Model], where: Sequence[Place | None], visits: Any, *, group: bool
    ) -> Steps[list[Got | None]]:
        results: list[Got | None] = [None] * len(plan.children)

        def branch(j: int, child: Plan) -> Branch:
            source = where[j]
            if source is not None:
                yield from self.send(source, starts_at(child), group=group)
            results[j] = yield from self.one(child, models[j], visits[j], group=True)

        yield Fork([branch(j, child) for j, child in enumerate(plan.children)])
        if isinstance(plan, Mesh):
            return (yield from self.mix(plan, results, group=group))
        return results

    def mix(self, plan: Mesh, results: list[Got | None], *, group: bool) -> Steps[list[Got | None]]:
        answered = {j: got for j, got in enumerate(results) if got is not None}
        alive = [(a, b) for a, b in plan.links if a in answered and b in answered]
        places = [ends_at(child) for child in plan.children]
        yield Fork([self.send(places[s], places[t], group=group) for a, b in alive for s, t in ((a, b), (b, a))])
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
                got = Got(self.merge([answered[i].model for i in near], shares), got.samples)
            mixed.append(got)
        return mixed

    def send(self, source: Place, target: Place, *, group: bool = False) -> Branch:
        if source != target:
            yield Send(source, target, group)

    def merge(self, models: Sequence[Model], shares: Sequence[float] | None = None) -> Model:
        merger = self.executor.merger("mean")
        for model, share in zip(models, shares or [1.0] * len(models), strict=True):
            if share > 0:
                merger.add(model, share)
        return merger.result()


def _meeting(at: Place, ends: Sequence[Place]) -> Meet:
    """The meeting of models that come from these places."""
    return Meet(at, len(ends), tuple(end.number for end in ends if end.kind == "client"))


def _meet(meeting: Meet) -> Branch:
    yield meeting


def _share(plan: Mesh, child: int) -> float:
    return plan.weights[child] if isinstance(plan.weights, tuple) else 1.0
