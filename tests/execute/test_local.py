import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.fakes import small_fleet
from torch import nn

from covey.errors import BadValue
from covey.execute.local import LocalExecutor, Training
from covey.execute.walk import walk
from covey.local import make_rule
from covey.plan import Forest, Mesh, Ring, Star, Train, edge

SIZES = [3, 10, 17, 24, 5, 40]
FLEET = small_fleet(SIZES)


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def executor_of(*, mode="one-by-one", fleet=FLEET, module=None, training=None, rule=None, **options):
    training = training or Training(lr=0.1, batch=8)
    rule = make_rule(rule) if rule else None
    return LocalExecutor(module or network(), fleet.data, training, rule=rule, mode=mode, **options)


def run(plan, executor, models=None, round=1, attempt=0):
    executor.begin(round, attempt)
    return walk(plan, models or [executor.layout.initial()], FLEET.sizes.tolist(), executor)


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
    other = run(plan, executor_of(seed=1))
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
    executor = executor_of(training=Training(lr=0.1, decay=0.5, batch=0))
    start = executor.layout.initial()
    steps = [run(Train(1), executor, round=round).models[0] - start for round in (1, 2)]
    assert torch.allclose(steps[0], 2 * steps[1], atol=1e-6)


# --- failures


def test_a_model_that_is_not_finite_counts_as_lost():
    walked = run(Star([Train(0), Train(1), Train(2)]), executor_of(fleet=ill(1)))
    assert walked.lost == [(1, "the trained model is not finite")]
    assert torch.equal(walked.models[0], run(Star([Train(0), Train(2)]), executor_of()).models[0])


def test_failures_can_be_injected_by_round_and_try():
    executor = executor_of(fail=lambda job, *when: "asleep" if (job.client, *when) == (1, 2, 1) else None)
    plan = Star([Train(0), Train(1)])
    assert not run(plan, executor, round=2, attempt=0).lost
    assert run(plan, executor, round=2, attempt=1).lost == [(1, "asleep")]
    assert not run(plan, executor, round=3, attempt=1).lost


def test_a_wave_of_failures_only():
    executor = executor_of(fail=lambda *_: "gone")
    start = executor.layout.initial()
    walked = run(Star([Train(0), Train(1)]), executor)
    assert not walked.answered
    assert torch.equal(walked.models[0], start)


# --- what local rules remember


def test_memory_is_kept_between_rounds_and_gathered_at_the_end():
    executor = executor_of(rule="scaffold")
    run(Star([Train(0), Train(1)]), executor)
    assert sorted(executor.memory.own["variate"]) == [0, 1]
    executor.end()
    # c + |S|/N x mean of the changes, from nothing: 2/6 of their mean
    own = executor.memory.own["variate"]
    assert torch.allclose(executor.memory.shared["variate"], (own[0] + own[1]) / 2 * (2 / 6))


def test_a_try_below_the_quorum_leaves_no_memory():
    executor = executor_of(rule="scaffold")
    run(Star([Train(0)]), executor)
    executor.end()
    kept = executor.memory.own["variate"][0].clone()
    run(Star([Train(0), Train(1)]), executor, round=2, attempt=0)
    run(Star([Train(2)]), executor, round=2, attempt=1)
    executor.end()
    assert sorted(executor.memory.own["variate"]) == [0, 2]
    assert torch.equal(executor.memory.own["variate"][0], kept)


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

    def watched(jobs, horizon):
        real = trainer(jobs, horizon)

        class Watch:
            def train(self, *given):
                for done in real.train(*given):
                    alive.append(weakref.ref(done.model))
                    most.append(sum(ref() is not None for ref in alive))
                    yield done

        return Watch()

    executor.chooser.trainer = watched
    executor.begin(1)
    walked = walk(Star(Train(i) for i in range(60)), [executor.layout.initial()], [4] * 60, executor)
    assert len(walked.trained) == len(most) == 60
    assert max(most) <= 4


# --- evaluation


def test_scores_of_one_model():
    executor = executor_of()
    model = run(Star(Train(i) for i in range(6)), executor).models[0]
    scores = executor.evaluate([model], np.zeros(6, dtype=int))
    with torch.no_grad(), executor.layout.loaded(model) as module:
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
    executor = executor_of(module=nn.Linear(4, 3))
    always = [torch.zeros(15) for _ in range(3)]
    for c, model in enumerate(always):
        model[12 + c] = 1.0  # the bias of class c: says c, whatever it sees
    home = np.array([0, 1, 2, 0, 1, 2])
    own = executor.own_accuracies(always, home)
    said = [(FLEET.data.y[mine] == home[i]).mean() for i, mine in enumerate(FLEET.data.test_of)]
    assert own.tolist() == pytest.approx(said)
    # samples of the homes: 3 + 24, 10 + 5, 17 + 40; the mean model says the class with most of them, 2
    assert executor.evaluate(always, home).accuracy == pytest.approx((FLEET.data.test_y == 2).mean())


def test_clients_without_tests_of_their_own_are_left_out():
    fleet = small_fleet([5, 5], tests=0)
    executor = executor_of(fleet=fleet)
    model = executor.layout.initial()
    assert np.isnan(executor.own_accuracies([model], np.zeros(2, dtype=int))).all()
    assert np.isnan(executor.evaluate([model], np.zeros(2, dtype=int)).own_accuracy)


def test_losses_and_gradients_of_clients():
    executor = executor_of()
    models = [executor.layout.initial(), executor.layout.initial() * 2]
    losses = executor.losses(models, [1, 4])
    assert losses.shape == (2, 2)
    gradients = executor.gradients(models[0], [1, 4])
    assert gradients.shape == (2, executor.layout.trained)
    # a small step against the gradient of client 1 lowers its loss by step x |gradient|^2
    step = 1e-3
    lower = executor.losses([models[0] - step * torch.from_numpy(gradients[0])], [1])[0, 0]
    assert losses[0, 0] - lower == pytest.approx(step * float(gradients[0] @ gradients[0]), rel=0.02)


# --- merges


def test_a_plan_merges_by_the_runs_merge_unless_it_names_another():
    executor = executor_of(merge="ida")
    assert type(executor.merger("mean")).__name__ == "Ida"
    assert type(executor.merger("sum")).__name__ == "Sum"


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
    executor = executor_of(module=Normed(), training=Training(batch=6, lr=0.1), mode="auto")
    before = executor.layout.views(executor.layout.initial())
    walked = run(Forest([Star([Train(0), Train(1)]), Train(3)]), executor)
    for model in walked.models:
        after = executor.layout.views(model)
        assert not torch.equal(after["norm.running_mean"], before["norm.running_mean"])
