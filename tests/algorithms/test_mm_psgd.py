import numpy as np
from tests.algorithms.tiny import close, fleet_of, mean, run, step
from tests.narrow import order, trains

from covey.algorithms import MMPSGD
from covey.plan import clients

P, Q, R = (1.0, 0), (2.0, 1), (3.0, 0)


def test_a_cycle_and_a_half_by_hand():
    # block 0 is P and (R, R), block 1 is Q; the chain is in block 0 in rounds 1 and 3, in block 1 in round 2
    fleet = fleet_of([P], [Q], [R, R], window_of=[0, 1, 0])

    def in_block_0(w):
        return mean((1, step(w, P)), (2, step(w, R, R)))

    first = in_block_0((0, 0))
    second = step(first, Q)
    third = in_block_0(second)
    progress = run(MMPSGD(), fleet, rounds=3)
    chain, predictor_0, predictor_1 = progress.models
    assert close(chain, third)
    # (r predictor + mean) / (r + 1) with r = 1 visit before
    assert close(predictor_0, mean((1, first), (1, third)))
    assert close(predictor_1, second)
    assert progress.home.tolist() == [1, 2, 1]


def test_a_block_averages_tau2_times():
    fleet = fleet_of([P], [Q])
    once = mean((1, step((0, 0), P)), (1, step((0, 0), Q)))
    twice = mean((1, step(once, P)), (1, step(once, Q)))
    assert close(run(MMPSGD(blocks=1, tau2=2), fleet).models[0], twice)


def test_a_block_that_was_not_visited_is_tested_with_the_chain():
    fleet = fleet_of([P], [Q], window_of=[0, 1])
    progress = run(MMPSGD(), fleet, rounds=1)
    assert progress.models[2].equal(progress.models[0])


def test_blocks_follow_the_sun():
    fleet = fleet_of([P], [Q], [R], window_of=[2, 0, 2])
    algorithm = MMPSGD()
    state = algorithm.start(fleet, np.random.default_rng(0))
    days = [clients(algorithm.plan(r, fleet, state, np.random.default_rng(r))) for r in (1, 2, 3)]
    assert days == [{1}, {0, 2}, {1}]


def test_a_sample_of_the_block_trains_so_many_epochs():
    fleet = fleet_of(*[[P]] * 8)
    algorithm = MMPSGD(blocks=2, sample=0.5, tau1=3)
    state = algorithm.start(fleet, np.random.default_rng(0))
    plan = algorithm.plan(1, fleet, state, np.random.default_rng(0))
    (child,) = plan.children
    assert [train.epochs for train in trains(child)] == [3, 3]
    assert set(order(child)) < set(state["blocks"][0])
