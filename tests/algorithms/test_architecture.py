from itertools import chain

import numpy as np
import pytest
import torch
from tests.fakes import small_fleet
from tests.narrow import a

import covey
from covey.algorithms import ALGORITHMS, Architecture, make_algorithm
from covey.errors import BadValue, UnknownName
from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.fleet import Fleet
from covey.plan import Forest, Ring, Star, Train, clients, edge, leaves, trainings, transfers
from covey.store import Store

SHAPES = ["star", "ring", "star-stars", "star-rings", "ring-stars", "ring-rings", "stars", "rings"]
FLEET = Fleet(np.arange(1, 13)[:, None], edge_of=[0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2])


def planned(round=1, fleet=FLEET, **options):
    """The plan of that round, and the groups it was made of."""
    algorithm = Architecture(**options)
    state = algorithm.start(fleet, np.random.default_rng(0))
    return algorithm.plan(round, fleet, state, np.random.default_rng(round)), state["groups"]


def order(ring):
    return [leaf.client for leaf in leaves(ring)]


@pytest.mark.parametrize("shape", SHAPES)
def test_everybody_trains_once_in_a_round(shape):
    plan, _ = planned(shape=shape, groups=3)
    assert sorted(order(plan)) == list(range(12))
    assert trainings(plan) == 12


@pytest.mark.parametrize("shape", SHAPES[2:])
def test_groups_are_a_partition_that_stays(shape):
    algorithm = Architecture(shape=shape, groups=3)
    first, again = (algorithm.start(FLEET, np.random.default_rng(5)) for _ in range(2))
    assert first == again
    assert sorted(chain(*first["groups"])) == list(range(12))
    assert len(first["groups"]) == 3


def test_the_star():
    assert planned(shape="star")[0] == Star(Train(i) for i in range(12))
    assert planned(shape="star", tau1=2, tau2=3)[0] == Star((Train(i, 2) for i in range(12)), rounds=3)


def test_the_ring():
    plan, _ = planned(shape="ring")
    assert isinstance(plan, Ring)
    assert all(isinstance(child, Train) for child in plan.children)
    later, _ = planned(shape="ring", round=2)
    assert order(plan) != order(later) != list(range(12))


def test_star_stars():
    plan, groups = planned(shape="star-stars", groups=3, tau1=2, tau2=4)
    wanted = [Star((Train(i, 2) for i in members), rounds=4, at=edge(k)) for k, members in enumerate(groups)]
    assert plan == Star(wanted)


def test_star_rings():
    plan, groups = planned(shape="star-rings", groups=3)
    assert isinstance(plan, Star)
    assert all(isinstance(ring, Ring) for ring in plan.children)
    assert [sorted(order(ring)) for ring in plan.children] == [sorted(members) for members in groups]
    # a model to and from every group, and one from client to client for all but the first of each
    assert transfers(plan) == {("cloud", "client"): 3, ("client", "cloud"): 3, ("client", "client"): 12 - 3}


def test_ring_stars():
    plan, groups = planned(shape="ring-stars", groups=3, tau2=2)
    assert isinstance(plan, Ring)
    assert all(isinstance(star, Star) and star.rounds == 2 for star in plan.children)
    assert {a(Star, star).at for star in plan.children} == {edge(k) for k in range(3)}
    assert sorted(sorted(order(star)) for star in plan.children) == sorted(sorted(members) for members in groups)


def test_ring_rings():
    plan, _ = planned(shape="ring-rings", groups=3)
    assert isinstance(plan, Ring)
    assert all(isinstance(ring, Ring) for ring in plan.children)
    assert transfers(plan) == {("client", "client"): 11}


@pytest.mark.parametrize(("shape", "inner"), [("stars", Star), ("rings", Ring)])
def test_stars_and_rings_without_a_global_model(shape, inner):
    plan, groups = planned(shape=shape, groups=3)
    assert isinstance(plan, Forest)
    assert all(isinstance(child, inner) for child in plan.children)
    assert [sorted(order(child)) for child in plan.children] == [sorted(members) for members in groups]


def test_groups_by_edge():
    plan, groups = planned(shape="star-stars", grouping="edge")
    assert [sorted(members) for members in groups] == FLEET.by_edge
    assert len(plan.children) == 3


def test_more_groups_than_clients_are_groups_of_one():
    _, groups = planned(shape="stars", groups=99)
    assert [len(members) for members in groups] == [1] * 12


# --- chains and hops


def test_chains_of_a_group_start_at_different_clients_and_meet_at_its_edge():
    plan, groups = planned(shape="star-rings", groups=3, chains=2)
    for k, (star, members) in enumerate(zip(plan.children, groups, strict=True)):
        assert (type(star), star.at) == (Star, edge(k))
        first, second = map(order, star.children)
        assert sorted(first) == sorted(second) == sorted(members)
        assert all(a != b for a, b in zip(first, second, strict=True))
        assert star.weights == (FLEET.sizes[first[-1]], FLEET.sizes[second[-1]])


def test_no_more_chains_than_clients():
    plan, groups = planned(shape="rings", groups=6, chains=50)
    rings = [len(child.children) if isinstance(child, Star) else 1 for child in plan.children]
    assert rings == [len(members) for members in groups]


def test_chains_of_a_global_ring_keep_a_model_each():
    plan, _ = planned(shape="ring", chains=3)
    assert isinstance(plan, Forest)
    assert [len(ring.children) for ring in plan.children] == [12, 12, 12]
    steps = zip(*(ring.children for ring in plan.children), strict=True)
    assert all(len({train.client for train in step}) == 3 for step in steps)


def test_hops_go_on_where_the_last_round_stopped():
    rounds = [order(planned(shape="ring", hops=4, round=round)[0]) for round in (1, 2, 3)]
    assert [len(visited) for visited in rounds] == [4, 4, 4]
    assert sorted(chain(*rounds)) == list(range(12))


def test_a_ring_follows_the_sun():
    """Clients awake in window w are visited in the w-th part of a pass."""
    window_of = np.arange(12) % 3
    fleet = Fleet(FLEET.labels, window_of=window_of)
    plan, _ = planned(shape="ring", fleet=fleet)
    assert window_of[order(plan)].tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("sample", [0.5, 6])
def test_a_sample_of_the_clients(sample):
    for shape in SHAPES:
        plan, groups = planned(shape=shape, groups=3, sample=sample)
        assert len(clients(plan)) == 6
        if isinstance(plan, Forest):
            for slot, child in zip(plan.slots, plan.children, strict=True):
                assert clients(child) <= set(groups[slot])


@pytest.mark.parametrize("shape", SHAPES)
def test_clients_are_sampled_every_round_or_once(shape):
    for once, most in ((False, 12), (True, 4)):
        algorithm = Architecture(shape=shape, groups=3, sample=4, once=once)
        state = algorithm.start(FLEET, np.random.default_rng(0))
        seen = [clients(algorithm.plan(r, FLEET, state, np.random.default_rng(r))) for r in range(1, 30)]
        assert all(len(taken) == 4 for taken in seen)
        assert len(set().union(*seen)) == most


def test_star_rings_weigh_groups_by_their_samples_not_by_visits():
    fleet = Fleet(np.array([[1], [2], [4], [8], [16], [32]]))
    algorithm = Architecture(shape="star-rings", hops=5)
    state = {"groups": [[0, 1], [2, 3, 4, 5]], "seed": 3}
    plan = algorithm.plan(1, fleet, state, np.random.default_rng(0))
    # the first ring visits its two clients two or three times each, the second visits one of its four twice
    assert [trainings(ring) for ring in plan.children] == [5, 5]
    assert a(Star, plan).weights == (1 + 2, 4 + 8 + 16 + 32)
    chains = Architecture(shape="star-rings", chains=2).plan(1, fleet, state, np.random.default_rng(0))
    assert a(Star, chains).weights == (3, 60)


@pytest.mark.parametrize("shape", ["stars", "rings"])
def test_clients_belong_to_their_group_from_the_start(shape):
    fleet = small_fleet([6, 9, 12, 8, 7, 5], edge_of=[0, 0, 1, 1, 2, 2])
    settings = {"algorithm": shape, "grouping": "edge", "sample": 2, "rounds": 1, "batch": 4}
    loop = assemble(Experiment.make({**settings, "mode": "one-by-one", "model": "softmax-regression"}), fleet=fleet)
    progress = loop.begin()
    assert progress.home.tolist() == [0, 0, 1, 1, 2, 2]
    assert len(progress.models) == 3
    loop.go(progress)
    assert progress.home.tolist() == [0, 0, 1, 1, 2, 2]
    assert 1 <= sum(not model.equal(loop.begin().models[0]) for model in progress.models) <= 2


def test_one_global_model_is_everybodys():
    for shape in ("star-stars", "star-rings", "ring-stars", "ring-rings", "star", "ring"):
        progress = assemble(Experiment.make({"algorithm": shape, "clients": 6, "samples": 12})).begin()
        assert progress.home.tolist() == [0] * 6
        assert len(progress.models) == 1


# --- names and settings


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_a_name_of_its_own(shape):
    algorithm = make_algorithm(shape, {"tau2": 2} if shape.endswith("stars") else {})
    assert a(Architecture, algorithm).shape == shape
    assert ALGORITHMS.entry(shape).summary.lower().startswith(shape)
    other = "ring" if shape == "star" else "star"
    with pytest.raises(BadValue, match=f"shape is '{other}'; allowed is '{shape}', which is what '{shape}' stands for"):
        make_algorithm(shape, {"shape": other})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": "square"}, "shape is 'square'; allowed is 'star', 'ring', 'star-stars'"),
        ({"groups": 0}, "groups is 0; allowed is a number greater than or equal to 1"),
        ({"tau2": 0}, "tau2 is 0; allowed is a number greater than or equal to 1"),
        ({"chains": 0}, "chains is 0; allowed is a number greater than or equal to 1"),
        ({"sample": 1.5}, "sample is 1.5; allowed is a share above 0 and up to 1, or a whole number of clients from 2"),
        ({"sample": 0}, "sample is 0; allowed is a number greater than 0"),
        ({"sketch": "Star"}, "setting of architecture is 'sketch'; allowed is one of chains, "),
        ({"keeps_updates": True}, "setting of architecture is 'keeps_updates'; allowed is one of chains, "),
        ({"tau3": 2}, "setting of architecture is 'tau3'; allowed is one of tau2 (did you mean 'tau2'?), chains, "),
    ],
)
def test_settings_that_are_refused(options, sentence):
    with pytest.raises(BadValue) as caught:
        make_algorithm("architecture", options)
    assert str(caught.value).startswith(sentence)


def test_an_unknown_grouping_is_refused_before_there_is_a_run(tmp_path):
    with pytest.raises(UnknownName, match=r"grouping is 'randon'; .*did you mean 'random'"):
        run("star-rings", grouping="randon", out=tmp_path)
    with Store(tmp_path) as store:
        assert store.runs() == []


# --- what they come to


def run(name, **options):
    fleet = small_fleet([6, 9, 12, 8], edge_of=[0, 0, 1, 1])
    return covey.run(name, fleet, model="softmax-regression", rounds=3, lr=0.2, batch=4, mode="one-by-one", **options)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("star", {}), ("fedavg", {})),
        (("star-stars", {"groups": 1}), ("fedavg", {})),
        (("star-stars", {"groups": 1, "tau2": 2}), ("star", {"tau2": 2})),
        (("ring-stars", {"groups": 1}), ("fedavg", {})),
        (("stars", {"groups": 1}), ("fedavg", {})),
        (("star-rings", {"groups": 4}), ("fedavg", {})),
    ],
)
def test_shapes_that_mean_the_same_train_the_same(one, other):
    """Up to the order of sums, since groups are in random order."""
    first, second = (run(name, **options).models for name, options in (one, other))
    assert len(first) == len(second) == 1
    assert torch.allclose(first[0], second[0], rtol=1e-5, atol=1e-6)


def test_without_a_global_model_every_group_has_its_own():
    assert run("rings", groups=4).summary["models"] == run("stars", groups=4).summary["models"] == 4


@pytest.mark.parametrize("shape", ["ring", "ring-rings"])
def test_the_mean_of_the_chains_is_tested_and_the_chains_live_on(shape):
    done = run(shape, chains=2, **({"groups": 2} if shape == "ring-rings" else {}))
    assert len(done.models) == 3
    assert torch.allclose(done.models[2], (done.models[0] + done.models[1]) / 2)


def test_weights_of_star_rings_are_those_of_the_sampled_clients():
    for seed in range(6):
        algorithm = Architecture(shape="star-rings", sample=3)
        state = {"groups": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], "seed": 0}
        plan = algorithm.plan(1, FLEET, state, np.random.default_rng(seed))
        assert a(Star, plan).weights == tuple(sum(int(FLEET.sizes[i]) for i in clients(ring)) for ring in plan.children)


@pytest.mark.parametrize("shape", ["ring-stars", "ring-rings"])
def test_no_more_chains_than_groups(shape):
    done = run(shape, chains=9, groups=2)
    assert len(done.models) == 2 + 1
    assert len(run(shape, chains=9, groups=1).models) == 1


def test_groups_have_rings_of_their_own():
    state = {"groups": [list(range(6)), list(range(6, 12))], "seed": 0}
    same = []
    for round in range(1, 6):
        plan = Architecture(shape="rings").plan(round, FLEET, state, np.random.default_rng(0))
        one, other = ([i % 6 for i in order(ring)] for ring in plan.children)
        same.append(one == other)
    assert not all(same)
