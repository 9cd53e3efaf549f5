from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes import SIZES, Numbers, plans, walk

from covey.errors import BadPlan
from covey.plan import (
    Forest,
    Mesh,
    Ring,
    Star,
    Train,
    check,
    client,
    clients,
    cloud,
    edge,
    ends_at,
    leaves,
    starts_at,
    trainings,
    transfers,
)

counts = st.integers(1, 5)


@given(n=counts, rounds=counts)
def test_a_star_sends_every_model_both_ways(n, rounds):
    plan = Star((Train(i) for i in range(n)), rounds=rounds)
    assert trainings(plan) == n * rounds
    assert transfers(plan) == {("cloud", "client"): n * rounds, ("client", "cloud"): n * rounds}


@given(n=counts)
def test_a_ring_sends_between_its_members_only(n):
    plan = Ring(Train(i) for i in range(n))
    assert trainings(plan) == n
    assert transfers(plan) == ({("client", "client"): n - 1} if n > 1 else {})


@given(n=counts)
def test_a_relayed_ring_sends_every_hand_over_twice(n):
    plan = Ring((Train(i) for i in range(n)), via=cloud)
    assert transfers(plan) == ({("client", "cloud"): n - 1, ("cloud", "client"): n - 1} if n > 1 else {})
    # under a star at the relay every client gets a model from there and gives one back
    assert transfers(Star([plan])) == {("client", "cloud"): n, ("cloud", "client"): n}


def test_what_stays_where_it_is_is_not_relayed():
    assert transfers(Ring([Train(0), Train(0), Train(1)], via=edge(2))) == {
        ("client", "edge"): 1,
        ("edge", "client"): 1,
    }
    assert transfers(Ring([Train(0), Train(1)], via=client(1))) == {("client", "client"): 1}


@given(groups=counts, members=counts, rounds=counts)
def test_groups_under_a_star(groups, members, rounds):
    inner = [Star((Train(i) for i in range(members)), rounds=rounds, at=edge(g)) for g in range(groups)]
    within = groups * members * rounds
    assert trainings(Star(inner)) == within
    assert transfers(Star(inner)) == {
        ("cloud", "edge"): groups,
        ("edge", "cloud"): groups,
        ("edge", "client"): within,
        ("client", "edge"): within,
    }


@given(groups=counts, members=st.integers(2, 5))
def test_rings_under_a_star_send_one_model_a_group_up_and_down(groups, members):
    plan = Star(Ring(Train(i) for i in range(members)) for _ in range(groups))
    assert transfers(plan) == {
        ("cloud", "client"): groups,
        ("client", "cloud"): groups,
        ("client", "client"): groups * (members - 1),
    }


@given(groups=counts, members=counts)
def test_a_ring_of_stars_sends_from_edge_to_edge(groups, members):
    plan = Ring(Star((Train(i) for i in range(members)), at=edge(g)) for g in range(groups))
    between = {("edge", "edge"): groups - 1} if groups > 1 else {}
    both = groups * members
    assert transfers(plan) == {("edge", "client"): both, ("client", "edge"): both, **between}


@given(n=st.integers(2, 6))
def test_a_mesh_sends_along_every_link_both_ways(n):
    plan = Mesh([Train(i) for i in range(n)], [(a, b) for b in range(n) for a in range(b)])
    assert transfers(plan) == {("client", "client"): n * (n - 1)}


def test_a_head_sends_itself_nothing():
    plan = Star([Train(0), Train(1), Train(2)], at=client(0))
    assert transfers(plan) == {("client", "client"): 4}


def test_models_of_a_root_forest_stay_and_of_an_inner_one_come_and_go():
    forest = Forest([Star([Train(0)], at=edge(0)), Star([Train(1)], at=edge(1))], at=cloud)
    inside = {("edge", "client"): 2, ("client", "edge"): 2}
    assert transfers(forest) == inside
    assert transfers(Ring([forest])) == {("cloud", "edge"): 2, ("edge", "cloud"): 2, **inside}


def test_counting_a_plan_by_hand():
    plan = Star([Star([Train(0), Train(1)], rounds=3, at=edge(0)), Ring([Train(2), Train(0)])], rounds=2)
    assert clients(plan) == {0, 1, 2}
    assert [leaf.client for leaf in leaves(plan)] == [0, 1, 2, 0]
    assert trainings(plan) == 2 * (3 * 2 + 2)
    assert transfers(plan) == {
        ("cloud", "edge"): 2,
        ("edge", "cloud"): 2,
        ("edge", "client"): 2 * 3 * 2,
        ("client", "edge"): 2 * 3 * 2,
        ("cloud", "client"): 2,
        ("client", "cloud"): 2,
        ("client", "client"): 2,
    }


def test_where_plans_start_and_end():
    ring = Ring([Ring([Train(3), Train(1)]), Star([Train(0)], at=edge(2))])
    assert (starts_at(ring), ends_at(ring)) == (client(3), edge(2))
    assert (starts_at(Forest([Train(0)])), ends_at(Train(5))) == (cloud, client(5))


@given(plans)
def test_what_is_counted_off_a_plan_is_what_happens_when_it_runs(plan):
    walked = walk(plan, [Fraction(0)], SIZES, Numbers())
    assert walked.traffic == transfers(plan)
    assert len(walked.trained) == trainings(plan)
    assert set(walked.trained) == clients(plan)
    assert not walked.lost


@pytest.mark.parametrize(
    "plan",
    [Train(5), Star([Train(0), Ring([Train(5)])]), Star([Train(0)], at=client(5)), Forest([Train(0)], at=client(5))],
)
def test_a_client_that_does_not_exist_is_refused(plan):
    check(plan, 6)
    with pytest.raises(BadPlan, match="the plan names client 5; the fleet has clients 0 to 4"):
        check(plan, 5)


def test_a_count_that_is_nothing_is_left_out():
    assert transfers(Train(0)) == Counter()
