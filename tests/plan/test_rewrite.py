from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes import CLIENTS, EDGES, SIZES, Numbers, plans, small_fleet, walk

from covey.execute.local import LocalExecutor, Training, make_task
from covey.execute.walk import Brief
from covey.execute.walk import walk as walk_plan
from covey.fleet import Fleet
from covey.plan import Forest, Mesh, Ring, Star, Train, by_epoch, client, clients, combine, edge, transfers, without

edge_of = st.lists(st.integers(0, EDGES - 1), min_size=CLIENTS, max_size=CLIENTS)
someone = st.sets(st.integers(0, CLIENTS - 1))


def fleet_at(edges):
    return Fleet(np.array(SIZES)[:, None], edge_of=np.array(edges))


def run(plan, **executor):
    return walk(plan, [Fraction(7)], SIZES, Numbers(**executor))


@given(plans, edge_of)
def test_combining_changes_no_model(plan, edges):
    before, after = run(plan), run(combine(plan, fleet_at(edges)))
    assert before.models == after.models
    assert sorted(before.trained) == sorted(after.trained)


@given(st.lists(st.integers(0, CLIENTS - 1), min_size=1, max_size=8), edge_of, someone)
def test_combining_changes_no_model_when_clients_fail_either(members, edges, failing):
    plan = Star([Ring([Train(i), Train((i + 1) % CLIENTS)]) for i in members], rounds=2)
    combined = combine(plan, fleet_at(edges))
    before, after = (run(p, failing=frozenset(failing)) for p in (plan, combined))
    assert before.models == after.models
    assert before.answered == after.answered


@given(plans, edge_of)
def test_combining_sends_no_more_models_to_and_from_the_cloud(plan, edges):
    before, after = transfers(plan), transfers(combine(plan, fleet_at(edges)))

    def through_cloud(traffic):
        return sum(count for pair, count in traffic.items() if "cloud" in pair)

    assert through_cloud(after) <= through_cloud(before)


def test_combining_a_star_of_clients_sends_one_model_an_edge():
    # 6 clients at 2 edges: 6 models down and 6 up become 2 down and 2 up, plus 6 and 6 between clients and edges
    plan = Star(Train(i) for i in range(6))
    combined = combine(plan, fleet_at([0, 0, 0, 0, 1, 1]))
    assert transfers(plan) == {("cloud", "client"): 6, ("client", "cloud"): 6}
    assert transfers(combined) == {
        ("cloud", "edge"): 2,
        ("edge", "cloud"): 2,
        ("edge", "client"): 6,
        ("client", "edge"): 6,
    }


def test_combined_by_hand():
    # edge 0: (1 x 5 + 2 x 10) / 3 = 25/3; cloud: (3 x 25/3 + 3 x 15) / 6 = 70/6, from the samples 1, 2, 3
    fleet = fleet_at([0, 0, 1, 1, 1, 1])
    plan = Star([Train(0), Train(1), Train(2)])
    combined = combine(plan, fleet)
    assert combined == Star([Star([Train(0), Train(1)], at=edge(0)), Train(2)])
    walked = walk(combined, [Fraction(0)], SIZES, Numbers())
    assert walked.models == [Fraction(1 * 5 + 2 * 10 + 3 * 15, 1 + 2 + 3)]


def test_given_weights_are_summed_and_an_edge_without_any_stays_as_it_is():
    fleet = fleet_at([0, 0, 1, 1, 2, 2])
    plan = Star((Train(i) for i in range(6)), weights=[1, 2, 0, 0, 3, 4])
    assert combine(plan, fleet) == Star(
        [
            Star([Train(0), Train(1)], at=edge(0), weights=[1, 2]),
            Train(2),
            Train(3),
            Star([Train(4), Train(5)], at=edge(2), weights=[3, 4]),
        ],
        weights=[3, 0, 0, 7],
    )


@pytest.mark.parametrize("at", [edge(0), client(1)])
def test_who_sits_where_the_models_meet_is_not_sent_around(at):
    plan = Star([Train(0), Train(1), Train(2), Train(3)], at=at)
    fleet = fleet_at([0, 0, 1, 1, 2, 2])
    assert combine(plan, fleet) == Star([Train(0), Train(1), Star([Train(2), Train(3)], at=edge(1))], at=at)


def test_other_merges_than_the_mean_are_left_alone():
    plan = Star((Train(i) for i in range(6)), merge="ida")
    assert combine(plan, fleet_at([0] * 6)) == plan


def test_combining_changes_no_trained_model():
    """With real training: the same up to the order of floating-point sums."""
    fleet = small_fleet([5, 12, 7, 9], edge_of=[0, 0, 1, 1])
    plan = Star([Train(0), Ring([Train(1), Train(3)]), Train(2), Train(3)], rounds=2)
    results = []
    for each in (plan, combine(plan, fleet)):
        torch.manual_seed(0)
        task = make_task(torch.nn.Linear(4, 3), fleet.data, Training(batch=4))
        executor, start = LocalExecutor(task, mode="one-by-one"), task.layout.initial()
        brief = Brief(rate=0.2)
        results.append(walk_plan(each, [start], fleet.sizes.tolist(), executor, brief=brief).models[0])
    assert combine(plan, fleet) != plan
    assert torch.allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
    assert not torch.equal(results[0], start)


@given(plans)
def test_leaving_out_nobody_changes_nothing(plan):
    assert without(plan, ()) == plan
    assert without(plan, {CLIENTS}) == plan


@given(plans)
def test_leaving_out_everybody_leaves_nothing(plan):
    assert without(plan, clients(plan)) is None


@given(plans, someone, someone)
def test_leaving_out_some_and_then_others_is_leaving_out_both(plan, some, others):
    first = without(plan, some)
    assert (first and without(first, others)) == without(plan, some | others)


@given(plans, someone)
def test_who_is_left_out_is_not_in_it_and_nobody_else_joins(plan, absent):
    left = without(plan, absent)
    assert (clients(left) if left else set()) <= clients(plan) - absent


@given(st.lists(st.integers(0, CLIENTS - 1), min_size=1, max_size=8), someone)
def test_leaving_clients_out_is_what_their_failing_does(members, absent):
    plan = Star([Star([Train(i), Train(j)], at=edge(0)) for i, j in zip(members, members[::-1], strict=True)])
    left = without(plan, absent)
    failed = run(plan, failing=frozenset(absent))
    assert bool(failed.answered) == (left is not None)
    if left is not None:
        assert run(left).models == failed.models


def test_links_slots_and_weights_follow_their_children():
    plan = Mesh([Train(0), Train(1), Train(2)], [(0, 1), (1, 2)], weights=[1, 2, 3], slots=[5, 6, 7], at=edge(1))
    assert without(plan, {0}) == Mesh([Train(1), Train(2)], [(0, 1)], weights=[2, 3], slots=[6, 7], at=edge(1))
    assert without(plan, {1}) == Mesh([Train(0), Train(2)], [], weights=[1, 3], slots=[5, 7], at=edge(1))
    forest = Forest([Train(0), Train(1)], slots=[5, 6])
    assert without(forest, {0}) == Forest([Train(1)], slots=[6])


def test_shares_of_nothing():
    star = Star([Train(0), Train(1)], weights=[1, 0])
    mesh = Mesh([Train(0), Train(1), Train(2)], [(0, 1), (1, 2)], weights=[1, 0, 0])
    assert without(star, {0}) is None
    assert without(mesh, {0}) == Mesh([Train(1), Train(2)], [], slots=[1, 2])


def test_by_epoch_goes_down_to_every_training():
    def twice(i, rate=1.0):
        return Ring([Train(i, 1, rate), Train(i, 1, rate)])

    plan = Star([Star([Train(0), Train(1, 1)], rounds=3, at=edge(1)), Ring([Train(2, 2, 0.5)])], merge="ida")
    wanted = Star([Star([twice(0), Train(1, 1)], rounds=3, at=edge(1)), Ring([twice(2, 0.5)])], merge="ida")
    assert by_epoch(plan, usual=2) == wanted
    mesh = Mesh([Train(0), Train(1)], [(0, 1)], weights=[1.0, 3.0], slots=[4, 2])
    assert by_epoch(mesh, usual=2) == Mesh([twice(0), twice(1)], [(0, 1)], weights=[1.0, 3.0], slots=[4, 2])
    assert by_epoch(Forest([Train(0)], slots=[3]), usual=2) == Forest([twice(0)], slots=[3])
