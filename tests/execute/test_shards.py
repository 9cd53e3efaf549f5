"""What a worker holds and does, without a cluster around it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.execute.test_every_executor import FLEET, SIZES, jobs_of
from tests.execute.test_trainers import network

from covey.execute.effects import Share
from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.shards import Worker, cut, place, without_samples
from covey.local import make_rule


def task_of(rule="sgd"):
    return make_task(network(), FLEET.data, Training(batch=8, momentum=0.5), make_rule(rule))


def worker_of(task, clients, mode="one-by-one"):
    return Worker(without_samples(task), cut(task, np.array(clients)), mode, 1)


def as_sent(jobs):
    """Jobs as an executor sends them: a model is its place among those that go along."""
    return [replace(job, model=number, shared={}) for number, job in enumerate(jobs)]


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_every_client_has_one_home_and_no_worker_much_more_than_its_part(workers):
    sizes = np.random.default_rng(0).integers(0, 50, 200)
    home = place(sizes, workers)
    loads = np.bincount(home, np.maximum(sizes, 1), workers)
    assert home.min() == 0
    assert home.max() == workers - 1
    assert loads.max() - loads.min() <= 50  # of one largest client at most
    assert np.array_equal(home, place(sizes, workers))


def test_a_shard_holds_the_samples_of_its_clients_and_no_others():
    task = task_of()
    shard = cut(task, np.array([1, 4]))
    own = np.concatenate([FLEET.data.train_of[1], FLEET.data.train_of[4]])
    assert len(shard.y) == SIZES[1] + SIZES[4]
    assert np.array_equal(np.sort(shard.x, axis=0), np.sort(FLEET.data.x[own], axis=0))
    assert shard.deck.sizes.tolist() == [0, 10, 0, 0, 5, 0]
    assert shard.deck.batch == task.deck.batch


def test_samples_that_clients_share_are_held_once():
    task = task_of()
    task.deck.pool[:10] = task.deck.pool[10:20]
    held = len(np.unique(task.deck.pool))
    assert len(cut(task, np.arange(6)).y) == held < sum(SIZES)


@pytest.mark.parametrize("mode", ["one-by-one", "stacked"])
def test_a_worker_trains_its_clients_as_the_local_executor_does(mode):
    task = task_of("scaffold")
    mine = [1, 3, 4]
    jobs = [jobs_of(task)[i] for i in mine]
    local = LocalExecutor(task, mode=mode)
    for ticket, job in enumerate(jobs):
        local.start(ticket, job)
    wanted = dict(local.finished())
    models = [job.model.numpy() for job in jobs]
    shared = {name: v.numpy() for name, v in jobs[0].shared.items()}
    said, means = worker_of(task, mine, mode).train(as_sent(jobs), {"variate": {}}, shared, *models)
    assert not means
    for ticket, done in enumerate(said.done):
        assert torch.equal(torch.from_numpy(done.model), wanted[ticket].model)
        assert torch.equal(torch.from_numpy(done.memory["variate"]), wanted[ticket].changes["variate"])  # from zero


def test_models_that_only_meet_come_back_as_their_mean():
    task = task_of()
    jobs = jobs_of(task)[:4]
    worker = worker_of(task, range(6))
    models = [job.model.numpy() for job in jobs]
    whole, _ = worker.train(as_sent(jobs), {}, {}, *models)
    meetings = [Share((0,), 2.0), Share((0,), 6.0), Share((1,), 5.0), None]
    shares = [replace(job, share=share) for job, share in zip(as_sent(jobs), meetings, strict=True)]
    said, means = worker.train(shares, {}, {}, *models)
    alone = [done.model for done in whole.done]
    mean, weight = means[0,]
    np.testing.assert_allclose(mean, (2 * alone[0] + 6 * alone[1]) / 8, rtol=1e-6)
    assert weight == 2 + 6
    assert np.array_equal(means[1,][0], alone[2])  # a single one to the bit
    assert [done.model is None for done in said.done] == [True, True, True, False]


def test_a_model_that_is_not_finite_stays_out_of_the_mean():
    task = task_of()
    jobs = jobs_of(task)[:2]
    models = [jobs[0].model.numpy(), jobs[1].model.numpy() * np.nan]
    shares = [replace(job, share=Share((0,), 1.0)) for job in as_sent(jobs)]
    said, means = worker_of(task, range(6)).train(shares, {}, {}, *models)
    assert [done.finite for done in said.done] == [True, False]
    assert means[0,][1] == 1.0
    assert np.isfinite(means[0,][0]).all()
