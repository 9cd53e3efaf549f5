import numpy as np
from tests.algorithms.tiny import close, fleet_of, mean, run, step
from tests.narrow import order, trains

from covey.algorithms import SemiCyclic
from covey.plan import Forest, Ring

P, Q, R = (1.0, 0), (2.0, 1), (3.0, 0)


def test_a_cycle_and_a_half_by_hand():
    # block 0 is P alone, block 1 is Q and R in some order
    fleet = fleet_of([P], [Q], [R], window_of=[0, 1, 1])
    progress = run(SemiCyclic(), fleet, rounds=3)
    found = []
    for one, other in ((Q, R), (R, Q)):
        first = step((0, 0), P)
        second = step(first, one)
        third = step(second, other)
        fourth = step(third, P)
        # block 0 made the iterates first and fourth, block 1 made second and third
        expected = fourth, mean((1, first), (1, fourth)), mean((1, second), (1, third))
        found.append(all(close(model, w) for model, w in zip(progress.models, expected, strict=True)))
    assert any(found)
    assert progress.home.tolist() == [1, 2, 2]


def test_all_iterates_of_a_block_weigh_the_same():
    # one block of two: after two rounds its predictor is the mean of four iterates
    fleet = fleet_of([P], [P])
    iterates, w = [], (0.0, 0.0)
    for _ in range(4):
        w = step(w, P)
        iterates.append((1, w))
    progress = run(SemiCyclic(blocks=1), fleet, rounds=2)
    assert close(progress.models[0], w)
    assert close(progress.models[1], mean(*iterates))


def test_its_plan_is_one_ring():
    fleet = fleet_of([P], [Q], [R])
    algorithm = SemiCyclic(blocks=1)
    state = algorithm.start(fleet, np.random.default_rng(0))
    plan = algorithm.plan(1, fleet, state, np.random.default_rng(0))
    assert isinstance(plan, Forest)
    assert isinstance(plan.children[0], Ring)
    assert sorted(order(plan.children[0])) == [0, 1, 2]


def test_a_sample_of_the_block_trains_so_many_epochs():
    fleet = fleet_of(*[[P]] * 8)
    algorithm = SemiCyclic(blocks=2, sample=0.5, tau1=3)
    state = algorithm.start(fleet, np.random.default_rng(0))
    plan = algorithm.plan(1, fleet, state, np.random.default_rng(0))
    (child,) = plan.children
    assert [train.epochs for train in trains(child)] == [3, 3]
    assert set(order(child)) < set(state["blocks"][0])


def test_the_order_in_a_block_is_random():
    fleet = fleet_of(*[[P]] * 6)
    state = {"blocks": [list(range(6))], "iterates": [0]}
    orders = set()
    for seed in range(5):
        (ring,) = SemiCyclic(blocks=1).plan(1, fleet, state, np.random.default_rng(seed)).children
        orders.add(tuple(order(ring)))
    assert len(orders) > 1
