import numpy as np
from tests.algorithms.tiny import close, fleet_of, mean, run, step
from tests.narrow import order

from covey.algorithms import Astraea
from covey.plan import Ring, Star, clients
from covey.sampling import sample_clients

P, Q = (1.0, 0), (2.0, 1)


def test_a_round_by_hand():
    # two mediators of two: each holds a P and a Q, since KL from even labels is 0 only so; both in random order
    fleet = fleet_of([P], [P], [Q], [Q])
    progress = run(Astraea(gamma=2), fleet)
    one, other = step(step((0, 0), P), Q), step(step((0, 0), Q), P)
    candidates = [one, other, mean((1, one), (1, other))]
    assert any(close(progress.models[0], w) for w in candidates)


def test_two_passes_are_two_trainings_of_everybody():
    fleet = fleet_of([P], [Q])
    plan = Astraea(gamma=2, passes=2).plan(1, fleet, {}, np.random.default_rng(0))
    (ring,) = plan.children
    visited = order(ring)
    assert sorted(visited[:2]) == sorted(visited[2:]) == [0, 1]
    progress = run(Astraea(gamma=2, passes=2), fleet)
    routes = [(a, b, c, d) for a, b in ((P, Q), (Q, P)) for c, d in ((P, Q), (Q, P))]
    ends = []
    for route in routes:
        w = (0.0, 0.0)
        for sample in route:
            w = step(w, sample)
        ends.append(w)
    assert any(close(progress.models[0], w) for w in ends)


def test_mediators_hold_gamma_clients_of_even_labels():
    fleet = fleet_of(*([[P]] * 6 + [[Q]] * 6))
    plan = Astraea(gamma=4).plan(1, fleet, {}, np.random.default_rng(0))
    assert isinstance(plan, Star)
    assert all(isinstance(child, Ring) for child in plan.children)
    for ring in plan.children:
        assert fleet.labels[list(clients(ring))].sum(axis=0).tolist() == [2, 2]


def test_rare_classes_are_augmented_before_training():
    # 9 samples of class 0, 1 of class 1: the mean is 5, so with alpha = 1 class 1 is multiplied by 5 / 1
    fleet = fleet_of([P] * 9, [Q])
    prepared = Astraea(alpha=1.0).prepare(fleet, np.random.default_rng(0))
    assert prepared.labels.tolist() == [[9, 0], [0, 5]]
    assert Astraea(alpha=0.0).prepare(fleet, np.random.default_rng(0)) is fleet
    assert run(Astraea(alpha=1.0, gamma=1), fleet).models[0][1] > run(Astraea(alpha=0.0, gamma=1), fleet).models[0][1]


def test_a_sample_is_scheduled_under_its_own_names():
    # P and Q alternate; the mediators of a sample are made of the sampled clients and of their labels
    fleet = fleet_of(*[[(P, Q)[i % 2]] for i in range(12)])
    for seed in range(6):
        taken = sample_clients(fleet, 0.5, np.random.default_rng(seed))
        plan = Astraea(gamma=99, sample=0.5).plan(1, fleet, {}, np.random.default_rng(seed))
        assert clients(plan) == set(taken)  # one mediator, as gamma is more than there are
        assert len(plan.children) == 1


def test_the_order_in_a_mediator_is_random():
    fleet = fleet_of(*[[P]] * 6)
    plans = [Astraea(gamma=6, passes=3).plan(1, fleet, {}, np.random.default_rng(s)).children[0] for s in range(3)]
    for ring in plans:
        visited = order(ring)
        assert not visited[:6] == visited[6:12] == visited[12:]
