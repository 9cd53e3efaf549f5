"""What every executor promises, and what a run makes of one that keeps no promise.

An executor enrols by its word in EXECUTORS; the example of a user's own is among them.
"""

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.algorithms.test_every_algorithm import OPTIONS, SMALL
from tests.execute.test_trainers import network
from tests.fakes import small_fleet
from torch import nn

from covey.algorithms import ALGORITHMS
from covey.checkpoint import Checkpoint
from covey.errors import RunFailed
from covey.execute.backend import EXECUTORS, Work, make_backend
from covey.execute.effects import Answer, Job
from covey.execute.local import LocalExecutor, Training, make_task
from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.experiment.life import Kept
from covey.local import make_rule

OWN = "./examples/processes.py:Processes"
DEVICES = "./tests/flower/here.py:InProcess"
WORDS = [*EXECUTORS.names, OWN, DEVICES]
SIZES = [3, 10, 17, 24, 5, 40]
FLEET = small_fleet(SIZES)


def backend(word):
    return make_backend({"ray": "ray:workers=1"}.get(word, word))


def executor_of(word, rule="sgd", augment="none"):
    x, test_x = (x.reshape(-1, 1, 2, 2) for x in (FLEET.data.x, FLEET.data.test_x))  # of which there are random views
    data = replace(FLEET.data, x=x, test_x=test_x)
    training = Training(batch=8, momentum=0.5, augment=augment)
    task = make_task(nn.Sequential(nn.Flatten(), *network()), data, training, make_rule(rule))
    return backend(word).executor(Work(task, data, mode="one-by-one")), task


def jobs_of(task, round=1):
    model = task.layout.initial()
    shared = {name: torch.full((task.layout.size,), 0.01) for name in task.rule.remembers}
    return [Job(i, model + i, round=round, rate=0.1, key=7, shared=shared, epochs=1 + i % 2) for i in range(len(SIZES))]


def answers(executor, jobs):
    """Every job answered once, by its ticket."""
    for ticket, job in enumerate(jobs):
        executor.start(ticket, job)
    found: dict[int, Any] = {}
    while len(found) < len(jobs):
        for ticket, answer in executor.finished(60):
            assert ticket not in found
            found[ticket] = answer
    return [found[ticket] for ticket in range(len(jobs))]


@pytest.fixture(scope="module")
def one_ray():
    """A Ray that all tests share, since one takes seconds to start; each has a worker of its own."""
    from covey.execute.crew import LOCAL, connect, disconnect

    connect(LOCAL, num_cpus=1, object_store_memory=2**27)
    yield
    disconnect()


@pytest.mark.parametrize("word", WORDS)
class TestEveryExecutor:
    @pytest.fixture(autouse=True)
    def ray(self, word, request):
        if word == "ray":
            request.getfixturevalue("one_ray")

    @pytest.mark.parametrize(
        ("rule", "augment"), [("sgd", "none"), ("fedprox:0.5", "none"), ("scaffold", "none"), ("sgd", "crop:1+flip")]
    )
    def test_it_trains_as_one_client_after_another_does(self, word, rule, augment):
        executor, task = executor_of(word, rule, augment)
        jobs = jobs_of(task)
        local = answers(LocalExecutor(task, mode="one-by-one"), jobs)
        try:
            for job, mine, wanted in zip(jobs, answers(executor, jobs), local, strict=True):
                torch.testing.assert_close(mine.model, wanted.model, rtol=1e-4, atol=1e-5)
                assert (mine.samples, mine.steps) == (SIZES[job.client], wanted.steps)
                assert set(mine.changes) == set(task.rule.remembers)
                for name, change in mine.changes.items():
                    torch.testing.assert_close(change, wanted.changes[name], rtol=1e-3, atol=1e-4)
        finally:
            executor.close()

    def test_its_state_can_be_saved_and_gone_back_to(self, word, tmp_path):
        executor, task = executor_of(word, "scaffold")
        try:
            answers(executor, jobs_of(task))
            path = tmp_path / "state"
            path.write_bytes(Checkpoint(executor.state()).encode())
            second = answers(executor, jobs_of(task, round=2))
            executor.restore(Checkpoint.load(path).data)
            again = answers(executor, jobs_of(task, round=2))
        finally:
            executor.close()
        for before, after in zip(second, again, strict=True):
            assert torch.equal(before.model, after.model)
            assert torch.equal(before.changes["variate"], after.changes["variate"])

    def test_a_job_of_nan_is_answered_and_said_not_to_be_finite(self, word):
        executor, task = executor_of(word)
        jobs = [replace(job, model=job.model * float("nan")) for job in jobs_of(task)[:2]]
        try:
            assert [answer.finite for answer in answers(executor, jobs)] == [False, False]
        finally:
            executor.close()


@pytest.fixture(scope="module")
def fleet():
    return make_fleet(Experiment.make(SMALL))


@pytest.mark.parametrize("name", ALGORITHMS.names)
def test_a_run_on_processes_is_the_run_on_the_local_executor(name, fleet):
    models = []
    for word in ("local", OWN):
        settings = {**SMALL, "mode": "one-by-one", "algorithm": name, "options": OPTIONS.get(name, {}), "rounds": 2}
        loop = assemble(Experiment.make({**settings, "executor": word}), fleet=fleet)
        progress = loop.begin()
        loop.go(progress)
        loop.executor.close()
        models.append(torch.stack(progress.models))
    torch.testing.assert_close(models[1], models[0], rtol=1e-4, atol=1e-5)


# --- executors that keep no promise


class Unruly:
    """Stands before an executor: answers in another order, twice, late, wrong or never."""

    def __init__(self, executor, *, change=None, lose=(), twice=False, late=False, reverse=False):
        self.executor, self.change, self.lose = executor, change or {}, lose
        self.twice, self.late, self.reverse = twice, late, reverse
        self.clients, self.held, self.open = {}, [], 0

    def start(self, ticket, job):
        self.clients[ticket] = job.client
        self.open += 1
        self.executor.start(ticket, job)

    def finished(self, timeout=None):
        if not self.open:
            return
        found = [(t, a) for t, a in self.executor.finished(timeout) if self.clients[t] not in self.lose]
        self.open = 0
        if self.late:  # what was answered before comes once more, from a round that is over
            yield from self.held
            self.held = found[:2]
        for ticket, answer in reversed(found) if self.reverse else found:
            wrong = self.change.get(self.clients[ticket])
            yield ticket, answer if wrong is None else wrong(answer)
            if self.twice:
                yield ticket, replace(answer, model=answer.model * 0)

    def state(self):
        return self.executor.state()

    def restore(self, state):
        self.executor.restore(state)

    def news(self):
        return self.executor.news()

    def close(self):
        self.executor.close()


def run(*, rounds=2, patience=None, settings=None, **unruly):
    kept = Kept("unruly")
    given = {"algorithm": "fedavg", "model": "softmax-regression", "mode": "one-by-one", "batch": 8}
    wanted = Experiment.make({**given, "rounds": rounds, "patience": patience, **(settings or {})})
    loop = assemble(wanted, fleet=FLEET, recorder=kept)
    loop.executor = Unruly(loop.executor, **unruly)
    progress = loop.begin()
    loop.go(progress)
    return progress.models[0], kept


@pytest.mark.parametrize("unruly", [{"reverse": True}, {"twice": True}, {"late": True}, {"late": True, "twice": True}])
def test_order_repetition_and_lateness_change_nothing(unruly):
    plain, _ = run()
    model, kept = run(**unruly)
    torch.testing.assert_close(model, plain, rtol=1e-5, atol=1e-6)
    assert not kept.events


WRONG = {
    "the trained model is not finite": lambda answer: replace(answer, model=answer.model * float("nan"), finite=None),
    "the trained model is not a vector of 15 numbers": lambda answer: Answer(answer.model[:3], answer.samples),
}


@pytest.mark.parametrize("reason", WRONG)
def test_an_answer_that_is_none_counts_as_lost(reason):
    model, kept = run(rounds=1, change={1: WRONG[reason]})
    assert [event["text"] for event in kept.events] == [f"1 of 6 trainings: {reason}"]
    lost, _ = run(rounds=1, lose=(1,), patience=0.01)
    assert torch.equal(model, lost)


def test_what_is_never_answered_is_given_up():
    model, kept = run(lose=(1, 4), patience=0.01)
    assert torch.isfinite(model).all()
    assert {event["text"] for event in kept.events} == {"2 of 6 trainings: no answer within 0.01 s"}


def test_a_round_that_nobody_answers_says_so():
    with pytest.raises(
        RunFailed, match=r"round 1 failed 5 times: nobody answered \(6 of 6 trainings: no answer within"
    ):
        run(lose=range(6), patience=0.01)


def test_tickets_are_never_used_again():
    seen = []

    class Noting(Unruly):
        def start(self, ticket, job):
            seen.append(ticket)
            super().start(ticket, job)

    loop = assemble(Experiment.make({"algorithm": "fedavg", "rounds": 3, "mode": "one-by-one"}), fleet=FLEET)
    loop.executor = Noting(loop.executor)
    loop.go(loop.begin())
    assert seen == list(itertools.islice(itertools.count(), 18))
