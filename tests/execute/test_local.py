import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.fakes import small_fleet
from torch import nn

from covey.errors import BadValue
from covey.execute.dropout import Dropout, by_chance
from covey.execute.effects import Job
from covey.execute.evaluate import LocalEvaluator
from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.walk import Brief, walk
from covey.local import make_rule
from covey.plan import Forest, Mesh, Ring, Star, Train, edge

SIZES = [3, 10, 17, 24, 5, 40]
FLEET = small_fleet(SIZES)


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def task_of(*, fleet=FLEET, module=None, training=None, rule=None):
    rule = make_rule(rule) if rule else None
    return make_task(module or network(), fleet.data, training or Training(batch=8), rule)


def executor_of(*, mode="one-by-one", **options):
    return LocalExecutor(task_of(**options), mode=mode)


def evaluator_of(*, fleet=FLEET, module=None):
    task = task_of(fleet=fleet, module=module)
    return LocalEvaluator(task.layout, fleet.data)


def fault(job, answer):
    return None if answer.finite else "not finite"


def run(plan, executor, models=None, round=1, attempt=0, rate=0.1, seed=0, **more):
    layout = getattr(executor, "executor", executor).task.layout
    shared = {name: torch.zeros(layout.size) for name in getattr(executor, "executor", executor).task.rule.remembers}
    brief = Brief(round=round, attempt=attempt, rate=rate, seed=seed, shared=shared, fault=fault)
    return walk(plan, models or [layout.initial()], FLEET.sizes.tolist(), executor, brief=brief, **more)


def ill(client):
    """The fleet with a client of which a sample is not a number."""
    x = FLEET.data.x.copy()
    x[FLEET.data.train_of[client][0]] = np.nan
    return replace(FLEET, data=replace(FLEET.data, x=x))


EVERYTHING = Star(
    [
        Star([Train(0), Train(1)], rounds=2, at=edge(0)),
        Ring([Train(2), Train(3), Train(0)]),
        Mesh([Train(4), Train(5, epochs=2)], [(0, 1)]),
    ]
)


@pytest.mark.parametrize("mode", ["auto", "stacked"])
def test_a_round_is_the_same_however_clients_are_trained(mode):
    alone, together = (run(EVERYTHING, executor_of(mode=m)) for m in ("one-by-one", mode))
    assert together.traffic == alone.traffic
    assert sorted(together.trained) == sorted(alone.trained)
    assert torch.allclose(together.models[0], alone.models[0], rtol=1e-4, atol=1e-5)


def test_the_same_round_twice_is_the_same_to_the_bit():
    first, second = (run(EVERYTHING, executor_of(mode="stacked")).models[0] for _ in range(2))
    assert torch.equal(first, second)


def test_rounds_and_seeds_have_batches_of_their_own():
    plan = Train(3)
    first, second = run(plan, executor_of()), run(plan, executor_of(), round=2)
    other = run(plan, executor_of(), seed=1)
    assert len({walked.models[0].sum().item() for walked in (first, second, other)}) == 3


def test_a_try_trains_on_the_same_batches_again():
    assert torch.equal(run(Train(3), executor_of()).models[0], run(Train(3), executor_of(), attempt=3).models[0])


def test_rounds_of_a_star_train_on_the_batches_of_a_ring_of_stars():
    star = [Train(i) for i in range(6)]
    rounds, ring = run(Star(star, rounds=2), executor_of()), run(Ring([Star(star), Star(star)]), executor_of())
    assert torch.equal(rounds.models[0], ring.models[0])


def test_the_learning_rate_decays():
    training = Training(lr=0.8, decay=0.5, decay_every=2)
    assert [training.rate(round) for round in (1, 2, 3, 4, 5)] == [0.8, 0.8, 0.4, 0.4, 0.2]


def test_a_job_is_trained_at_its_own_rate():
    executor = executor_of(training=Training(batch=0))
    start = executor.task.layout.initial()
    steps = [run(Train(1, rate=rate), executor, rate=0.1).models[0] - start for rate in (1.0, 0.5)]
    assert torch.allclose(steps[0], 2 * steps[1], atol=1e-6)


# --- failures


def test_a_model_that_is_not_finite_counts_as_lost():
    walked = run(Star([Train(0), Train(1), Train(2)]), executor_of(fleet=ill(1)))
    assert walked.lost == [(1, "not finite")]
    assert torch.equal(walked.models[0], run(Star([Train(0), Train(2)]), executor_of()).models[0])


def test_failures_can_be_injected_by_round_and_try():
    asleep = (1, 2, 1)
    lose = lambda job: "asleep" if (job.client, job.round, job.attempt) == asleep else None  # noqa: E731
    executor = Dropout(executor_of(), lose)
    plan = Star([Train(0), Train(1)])
    assert not run(plan, executor, round=2, attempt=0).lost
    assert run(plan, executor, round=2, attempt=1).lost == [(1, "asleep")]
    assert not run(plan, executor, round=3, attempt=1).lost


def test_a_wave_of_failures_only():
    local = executor_of()
    executor = Dropout(local, lambda job: "gone")
    start = local.task.layout.initial()
    walked = run(Star([Train(0), Train(1)]), executor)
    assert not walked.answered
    assert torch.equal(walked.models[0], start)


OTHER: list[dict[str, Any]] = [{"round": 7}, {"attempt": 7}, {"client": 7}, {"visit": 7}]


def test_dropouts_are_drawn_by_seed_round_try_client_and_visit():
    base = Job(1, None, round=1, attempt=0, visit=0)
    others = [replace(base, **changed) for changed in OTHER]
    drawn: dict[int, list[bool]] = {}
    for seed in range(40):
        for number, job in enumerate([base, *others]):
            drawn.setdefault(number, []).append(by_chance(seed, 0.5)(job) is None)
    assert len({tuple(draws) for draws in drawn.values()}) == 5  # no two of them fail in step
    assert 8 < sum(drawn[0]) < 32
    assert by_chance(3, 0.0)(base) is None
    assert by_chance(3, 1.0)(base) == "the client dropped out"


# --- what local rules remember


def test_memory_is_kept_between_rounds_and_its_changes_are_answered():
    executor = executor_of(rule="scaffold")
    changes: dict[int, dict[int, Any]] = {}
    note = lambda job, answer: changes.setdefault(job.round, {}).update({job.client: answer.changes})  # noqa: E731
    first = run(Star([Train(0), Train(1)]), executor, observe=note)
    before = executor.state()["memory"]["variate"]
    run(Star([Train(0)]), executor, models=first.models, round=2, observe=note)
    after = executor.state()["memory"]["variate"]
    assert sorted(after) == [0, 1]
    assert torch.equal(changes[1][0]["variate"], before[0])  # from nothing
    assert torch.equal(changes[2][0]["variate"], after[0] - before[0])
    assert torch.equal(after[1], before[1])


def test_going_back_to_a_state_forgets_what_came_after():
    executor = executor_of(rule="scaffold")
    run(Star([Train(0)]), executor)
    state = executor.state()
    kept = state["memory"]["variate"][0].clone()
    run(Star([Train(0), Train(1)]), executor, round=2, attempt=0)
    executor.restore(state)
    run(Star([Train(2)]), executor, round=2, attempt=1)
    now = executor.state()["memory"]["variate"]
    assert sorted(now) == [0, 2]
    assert torch.equal(now[0], kept)
    assert sorted(state["memory"]["variate"]) == [0]


def test_clients_that_fail_remember_nothing():
    executor = executor_of(rule="scaffold", fleet=ill(0))
    run(Star([Train(0), Train(1)]), executor)
    assert list(executor.memory.own["variate"]) == [1]


# --- memory does not grow with the clients of a Star


def test_models_are_merged_as_they_come():
    fleet = small_fleet([4] * 60)
    executor = executor_of(fleet=fleet)
    alive, most = [], []
    trainer = executor.chooser.trainer

    def watched(way):
        real = trainer(way)

        class Watch:
            def train(self, *given):
                for done in real.train(*given):
                    alive.append(weakref.ref(done.model))
                    most.append(sum(ref() is not None for ref in alive))
                    yield done

        return Watch()

    executor.chooser.trainer = watched
    walked = walk(Star(Train(i) for i in range(60)), [executor.task.layout.initial()], [4] * 60, executor)
    assert len(walked.trained) == len(most) == 60
    assert max(most) <= 4


# --- evaluation


def test_scores_of_one_model():
    evaluator = evaluator_of()
    model = run(Star(Train(i) for i in range(6)), executor_of()).models[0]
    scores = evaluator.scores([model], np.zeros(6, dtype=int))
    with torch.no_grad(), evaluator.layout.loaded(model) as module:
        out = module(torch.from_numpy(FLEET.data.test_x))
        right = (out.argmax(dim=1).numpy() == FLEET.data.test_y).mean()
        loss = nn.functional.cross_entropy(out, torch.from_numpy(FLEET.data.test_y))
        own = [
            (module(torch.from_numpy(FLEET.data.x[mine])).argmax(dim=1).numpy() == FLEET.data.y[mine]).mean()
            for mine in FLEET.data.test_of
        ]
    assert scores.accuracy == pytest.approx(right)
    assert scores.loss == pytest.approx(loss.item())
    assert scores.own_accuracy == pytest.approx(np.mean(own))


def test_every_client_is_tested_with_its_own_model_and_the_world_with_their_mean():
    evaluator = evaluator_of(module=nn.Linear(4, 3))
    always = [torch.zeros(15) for _ in range(3)]
    for c, model in enumerate(always):
        model[12 + c] = 1.0  # the bias of class c: says c, whatever it sees
    home = np.array([0, 1, 2, 0, 1, 2])
    own = evaluator.own_accuracies(always, home)
    said = [(FLEET.data.y[mine] == home[i]).mean() for i, mine in enumerate(FLEET.data.test_of)]
    assert own.tolist() == pytest.approx(said)
    # samples of the homes: 3 + 24, 10 + 5, 17 + 40; the mean model says the class with most of them, 2
    assert evaluator.scores(always, home).accuracy == pytest.approx((FLEET.data.test_y == 2).mean())


def test_clients_without_tests_of_their_own_are_left_out():
    fleet = small_fleet([5, 5], tests=0)
    evaluator = evaluator_of(fleet=fleet)
    model = evaluator.layout.initial()
    assert np.isnan(evaluator.own_accuracies([model], np.zeros(2, dtype=int))).all()
    assert np.isnan(evaluator.scores([model], np.zeros(2, dtype=int)).own_accuracy)


def test_losses_and_gradients_of_clients():
    evaluator = evaluator_of()
    models = [evaluator.layout.initial(), evaluator.layout.initial() * 2]
    losses = evaluator.losses(models, [1, 4])
    assert losses.shape == (2, 2)
    gradients = evaluator.gradients(models[0], [1, 4])
    assert gradients.shape == (2, evaluator.layout.trained)
    # a small step against the gradient of client 1 lowers its loss by step x |gradient|^2
    step = 1e-3
    lower = evaluator.losses([models[0] - step * torch.from_numpy(gradients[0])], [1])[0, 0]
    assert losses[0, 0] - lower == pytest.approx(step * float(gradients[0] @ gradients[0]), rel=0.02)


# --- batches that batch norm cannot take


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.norm(x))


def test_a_batch_of_one_is_refused_for_batch_norm_before_anything_runs():
    with pytest.raises(BadValue, match="batch is 8; allowed is a size that leaves nobody a batch of one sample"):
        executor_of(module=Normed())  # 17 = 2 x 8 + 1
    with pytest.raises(BadValue, match=r"batch is 1; .* client 0 has 3 samples"):
        executor_of(module=Normed(), training=Training(batch=1))


def test_other_batches_are_fine_and_statistics_are_merged():
    executor = executor_of(module=Normed(), training=Training(batch=6), mode="auto")
    layout = executor.task.layout
    before = layout.views(layout.initial())
    walked = run(Forest([Star([Train(0), Train(1)]), Train(3)]), executor)
    for model in walked.models:
        after = layout.views(model)
        assert not torch.equal(after["norm.running_mean"], before["norm.running_mean"])
