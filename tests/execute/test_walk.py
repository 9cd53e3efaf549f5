import gc
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes import SIZES, ExactMean, Numbers, plans, walk

from covey.execute.effects import Answer, Failure
from covey.plan import Forest, Mesh, Plan, Ring, Star, Train, client, cloud, edge

ZERO = [Fraction(0)]


def run(plan, models=ZERO, where=(), sizes=SIZES, **options):
    executor = Numbers(sizes=sizes, **options)
    walked = walk(plan, models, sizes, executor, where)
    return walked, executor


# --- what the nodes mean; training moves a model half of the way to 10 x (client + 1)


def test_train():
    walked, executor = run(Train(2))
    assert walked.models == [Fraction(0 + 30, 2)]
    assert walked.where == [client(2)]
    assert (walked.trained, walked.lost, walked.answered) == ([2], [], [0])
    assert executor.visits == {(2, 0): 1}


def test_a_star_merges_by_samples():
    walked, executor = run(Star([Train(0), Train(2)]))
    assert walked.models == [Fraction(1 * 5 + 3 * 15, 1 + 3)]
    assert walked.where == [cloud]
    assert walked.traffic == {("cloud", "client"): 2, ("client", "cloud"): 2}
    assert executor.waves == [[0, 2]]


def test_a_star_again_and_again():
    # from 0: (5 + 10) / 2 = 7.5; from 7.5: (8.75 + 13.75) / 2 = 11.25
    walked, executor = run(Star([Train(0), Train(1)], rounds=2, weights="uniform"))
    assert walked.models == [Fraction("11.25")]
    assert executor.waves == [[0, 1], [0, 1]]
    assert executor.visits == {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1}


def test_given_weights_and_a_weight_of_nothing():
    walked, _ = run(Star([Train(0), Train(1), Train(2)], weights=[3, 1, 0]))
    assert walked.models == [Fraction(3 * 5 + 1 * 10, 4)]
    assert walked.trained == [0, 1, 2]


def test_a_child_of_weight_nothing_makes_its_star_no_heavier():
    # the inner star's model is client 0's, and so is its weight of 1 sample; client 1's 2 samples are not in it
    walked, _ = run(Star([Star([Train(0), Train(1)], weights=[4, 0]), Train(2)]))
    assert walked.models == [Fraction(1 * 5 + 3 * 15, 1 + 3)]


def test_samples_count_up_through_a_star_and_a_ring():
    # weights 1 + 2 of the ring (which ends at 12.5) and 3 + 5 of the inner star, of which child 3 starts from 0 too
    inner = Star([Train(2), Train(3)], weights="uniform")
    walked, _ = run(Star([Ring([Train(0), Train(1)]), inner]))
    ring, star = Fraction(5 + 20, 2), Fraction(15 + 20, 2)
    assert walked.models == [(3 * ring + 8 * star) / 11]


def test_a_ring_hands_the_model_on():
    walked, executor = run(Ring([Train(0), Train(1), Train(0)]))
    first = Fraction(10, 2)
    second = (first + 20) / 2
    assert walked.models == [(second + 10) / 2]
    assert executor.waves == [[0], [1], [0]]
    assert executor.visits == {(0, 0): 1, (1, 0): 1, (0, 1): 1}
    assert walked.where == [client(0)]
    assert walked.traffic == {("client", "client"): 2}


def test_a_forest_at_the_root_reads_and_writes_slots():
    models = [Fraction(v) for v in (0, 100, 200)]
    walked, executor = run(Forest([Train(0), Train(1)], slots=[2, 0]), models)
    assert walked.models == [Fraction(0 + 20, 2), Fraction(100), Fraction(200 + 10, 2)]
    assert walked.where == [client(1), None, client(0)]
    assert executor.merged == []
    assert not walked.traffic


def test_a_slot_that_is_new_starts_from_the_first_model():
    walked, _ = run(Forest([Train(0), Train(1)]), [Fraction(4)], where=[cloud])
    assert walked.models == [Fraction(4 + 10, 2), Fraction(4 + 20, 2)]
    assert walked.traffic == {("cloud", "client"): 2}


def test_a_mesh_mixes_with_neighbours():
    links = [(0, 1), (1, 2)]
    walked, _ = run(Mesh([Train(0), Train(1), Train(2)], links))
    a, b, c = (Fraction(v, 2) for v in (10, 20, 30))
    assert walked.models == [(a + b) / 2, (a + b + c) / 3, (b + c) / 2]
    assert walked.where == [client(0), client(1), client(2)]
    assert walked.traffic == {("client", "client"): 4}


def test_the_shares_of_a_mix():
    links = [(0, 1), (1, 2)]
    children = [Train(0), Train(1), Train(2)]
    a, b, c = (Fraction(v, 2) for v in (10, 20, 30))
    own, _ = run(Mesh(children, links, weights=[1, 3, 0]))
    assert own.models == [(a + 3 * b) / 4, (a + 3 * b) / 4, b]
    samples, _ = run(Mesh(children, links, weights="samples"))
    assert samples.models == [(a + 2 * b) / 3, (a + 2 * b + 3 * c) / 6, (2 * b + 3 * c) / 5]


def test_who_has_no_share_among_others_without_one_keeps_its_model():
    walked, _ = run(Mesh([Train(0), Train(1), Train(2)], [(1, 2)], weights=[1, 0, 0]))
    assert walked.models == [Fraction(v, 2) for v in (10, 20, 30)]


def test_forests_and_meshes_where_one_model_is_wanted():
    """All children start from that model and their mean by samples is handed on."""
    a, b, c = (Fraction(v, 2) for v in (10, 20, 30))
    forest, _ = run(Star([Forest([Train(0), Train(1)], at=edge(1)), Train(2)]))
    assert forest.models == [((a + 2 * b) / 3 * 3 + 3 * c) / 6]
    assert forest.traffic == {
        ("cloud", "edge"): 1,
        ("edge", "client"): 2,
        ("client", "edge"): 2,
        ("edge", "cloud"): 1,
        ("cloud", "client"): 1,
        ("client", "cloud"): 1,
    }
    mesh, executor = run(Ring([Mesh([Train(0), Train(1)], [(0, 1)]), Train(2)]))
    mixed = (a + b) / 2  # of both, whatever their samples
    assert mesh.models == [(mixed + 30) / 2]
    assert executor.waves == [[0, 1], [2]]


def test_a_mesh_of_forests():
    plan = Mesh([Forest([Train(0), Train(1)]), Train(2)], [(0, 1)])
    forest, c = (1 * Fraction(10, 2) + 2 * Fraction(20, 2)) / 3, Fraction(30, 2)
    walked, _ = run(plan)
    assert walked.models == [(forest + c) / 2] * 2
    assert walked.where == [cloud, client(2)]


def test_one_model_is_made_of_several():
    """After rounds of a Forest, any other root works on the mean of the run's models, which all travel."""
    models = [Fraction(0), Fraction(30)]
    walked, _ = run(Star([Train(0)]), models, where=[edge(0), client(3)])
    assert walked.models == [(Fraction(15) + 10) / 2]
    assert walked.traffic == {("edge", "cloud"): 1, ("cloud", "client"): 1, ("client", "cloud"): 2}


def test_a_model_goes_on_from_where_the_last_round_left_it():
    walked, _ = run(Ring([Train(0), Train(1)]), where=[client(5)])
    assert walked.traffic == {("client", "client"): 2}
    walked, _ = run(Ring([Train(0), Train(1)]), where=[client(0)])
    assert walked.traffic == {("client", "client"): 1}


def test_epochs_and_rate_reach_the_client():
    seen = []

    def train(job):
        seen.append((job.epochs, job.rate))
        return job.model

    walk(Ring([Train(0, epochs=3), Train(1, rate=0.5)]), ZERO, SIZES, Numbers(train=train))
    assert seen == [(3, 1.0), (1, 0.5)]


def test_a_star_merges_in_the_way_it_names():
    _, executor = run(Star([Star([Train(0)], merge="ida"), Train(1)]))
    assert Counter(executor.merged) == {None: 1, "ida": 1}


def test_observers_see_every_training():
    seen = []
    observe = lambda job, answer: seen.append((job.client, job.model, answer.model))  # noqa: E731
    walk(Ring([Train(0), Train(1)]), ZERO, SIZES, Numbers(failing=frozenset({1})), observe=observe)
    assert seen == [(0, 0, 5)]


# --- laws


@given(plans)
def test_a_star_of_one_child_is_that_child(plan):
    assert run(Star([plan]))[0].models == run(Ring([plan]))[0].models


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_a_star_of_one_group_is_a_star(members):
    star = Star(Train(i) for i in members)
    assert run(Star([star]))[0].models == run(star)[0].models


def by_visit(job):
    """A training that depends on everything a job says."""
    return job.model / 2 + 10 * (job.client + 1) + Fraction(job.visit, 7)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 3))
def test_rounds_of_a_star_are_a_ring_of_stars(members, rounds):
    star = [Train(i) for i in members]
    once, twice = run(Star(star, rounds=rounds), train=by_visit), run(Ring([Star(star)] * rounds), train=by_visit)
    assert once[0].models == twice[0].models
    assert once[1].visits == twice[1].visits
    assert once[1].waves == twice[1].waves


@given(plans)
def test_every_training_of_a_client_has_its_own_number(plan):
    walked, executor = run(plan)
    assert set(executor.visits.values()) == {1}
    for i, count in Counter(walked.trained).items():
        assert {visit for who, visit in executor.visits if who == i} == set(range(count))


def test_visits_are_numbered_from_left_to_right_whatever_is_ready_first():
    seen: dict[tuple[int, int], object] = {}
    plan = Star([Ring([Train(1), Train(2), Train(0)]), Train(0)])
    walk(plan, ZERO, SIZES, Numbers(train=lambda job: seen.setdefault((job.client, job.visit), job.model) or job.model))
    # client 0 trains for the second child first, in the first wave, and yet as number 1
    assert set(seen) == {(1, 0), (2, 0), (0, 0), (0, 1)}


# --- waves


def test_everything_ready_at_once_is_handed_over_together():
    groups: list[Plan] = [
        Star([Train(0), Train(1)], rounds=2, at=edge(0)),
        Star([Train(2), Train(3)], at=edge(1)),
        Train(4),
    ]
    _, executor = run(Star(groups))
    assert [sorted(wave) for wave in executor.waves] == [[0, 1, 2, 3, 4], [0, 1]]
    assert executor.sent[0] == [(cloud, edge(0)), (cloud, edge(1)), (cloud, client(4))]


def test_rings_side_by_side_train_in_step():
    _, executor = run(Star(Ring(Train(i) for i in ring) for ring in ([0, 1, 2], [3, 4], [5])))
    assert executor.waves == [[0, 3, 5], [1, 4], [2]]


def test_models_leave_a_forest_together():
    _, executor = run(Ring([Forest([Train(0), Train(1), Train(2)])]))
    assert executor.sent[-1] == [(client(i), cloud) for i in range(3)]


# --- failures


def test_a_star_merges_who_answered():
    walked, _ = run(Star([Train(0), Train(1), Train(2)]), failing=frozenset({1}))
    assert walked.models == [Fraction(1 * 5 + 3 * 15, 1 + 3)]
    assert walked.lost == [(1, "lost")]
    assert walked.trained == [0, 2]
    assert walked.answered
    assert walked.traffic == {("cloud", "client"): 3, ("client", "cloud"): 2}


def test_a_ring_passes_on():
    walked, _ = run(Ring([Train(0), Train(1), Train(2)]), failing=frozenset({1}))
    assert walked.models == [(Fraction(5) + 30) / 2]
    first, _ = run(Ring([Train(0), Train(1)]), failing=frozenset({0}))
    assert first.models == [Fraction(20, 2)]


def test_who_is_lost_in_a_ring_hands_nothing_on():
    # 1 and 2 get the model and are lost, so that 3 gets it from 0, who still has it
    _, executor = run(Ring([Train(0), Train(1), Train(2), Train(3)]), failing=frozenset({1, 2}))
    assert executor.sent == [[(client(0), client(i))] for i in (1, 2, 3)]
    walked, executor = run(Ring([Train(0), Train(1)]), where=[cloud], failing=frozenset({0}))
    assert executor.sent == [[(cloud, client(0))], [(client(0), client(1))]]
    assert walked.where == [client(1)]


def test_a_relayed_model_waits_at_the_relay_until_somebody_takes_it():
    # 0 hands to the relay; 1 and 2 are sent the model and are lost; 3 is sent it from there and keeps it
    executor = Numbers(failing=frozenset({1, 2}))
    plan = Ring([Train(0), Train(1), Train(2), Train(3), Train(3)], via=edge(1))
    walked = walk(plan, [Fraction(0)], SIZES, executor)
    sent = [pair for wave in executor.sent for pair in wave]
    assert sent == [(client(0), edge(1)), *((edge(1), client(i)) for i in (1, 2, 3))]
    assert walked.where == [client(3)]
    straight = walk(Ring([Train(0), Train(3), Train(3)]), [Fraction(0)], SIZES, Numbers())
    assert walked.models == straight.models


def test_a_ring_inside_a_star_weighs_who_answered():
    walked, _ = run(Star([Ring([Train(0), Train(1)]), Train(2)]), failing=frozenset({0}))
    assert walked.models == [Fraction(2 * 10 + 3 * 15, 2 + 3)]


def test_a_mesh_mixes_with_those_left():
    plan = Mesh([Train(0), Train(1), Train(2)], [(0, 1), (1, 2), (0, 2)])
    walked, _ = run(plan, [Fraction(1), Fraction(2), Fraction(3)], failing=frozenset({1}))
    a, c = Fraction(1 + 10, 2), Fraction(3 + 30, 2)
    assert walked.models == [(a + c) / 2, Fraction(2), (a + c) / 2]
    assert walked.traffic == {("client", "client"): 2}


def test_a_forest_keeps_the_model_of_who_failed():
    walked, _ = run(Forest([Train(0), Train(1)]), [Fraction(1), Fraction(2)], failing=frozenset({1}))
    assert walked.models == [Fraction(11, 2), Fraction(2)]
    assert walked.where == [client(0), None]
    assert walked.answered


@given(plans)
def test_when_all_fail_nothing_changes_and_nobody_answered(plan):
    walked, _ = run(plan, [Fraction(3)], fails=lambda job: True)
    assert not walked.answered
    assert set(walked.models) == {Fraction(3)}
    assert not walked.trained
    assert len(walked.lost) > 0


@given(plans, st.integers(0, 2**20))
def test_a_round_with_failures_ends_and_loses_nobody_from_sight(plan, luck):
    fails = lambda job: luck >> (job.client + 3 * job.visit) & 1  # noqa: E731
    walked, executor = run(plan, fails=fails)
    assert len(walked.trained) + len(walked.lost) == sum(executor.visits.values())
    assert walked.answered or not walked.trained or _weightless(plan)


def _weightless(plan):
    """Whether some Star gives a child no weight, so that an answer may come to nothing."""
    if isinstance(plan, Train):
        return False
    own = isinstance(plan, Star) and plan.weights is not None and 0 in plan.weights
    return own or any(map(_weightless, plan.children))


def test_a_round_of_a_star_in_which_nobody_answers_is_passed_over():
    fails = lambda job: job.visit == 1  # noqa: E731
    walked, _ = run(Star([Train(0), Train(1)], rounds=3), fails=fails)
    twice, _ = run(Star([Train(0), Train(1)], rounds=2))
    assert walked.models == twice.models
    assert walked.answered


def test_failures_do_not_move_other_batches():
    """Who fails in a ring does not change the numbers of those after it."""
    _, well = run(Star([Train(0), Train(1)], rounds=2))
    _, ill = run(Star([Train(0), Train(1)], rounds=2), fails=lambda job: job.visit == 0)
    assert well.visits == ill.visits


def test_a_client_without_samples_counts_for_nothing():
    sizes = [0, 2, 0]
    star, _ = run(Star([Train(0), Train(1)]), sizes=sizes)
    assert star.models == [Fraction(10)]
    forest, _ = run(Ring([Forest([Train(0), Train(1)])]), sizes=sizes)
    assert forest.models == [Fraction(10)]
    nobody, _ = run(Ring([Forest([Train(0), Train(2)])]), sizes=sizes)
    assert not nobody.answered


# --- memory


class Heavy:
    """A model that knows how many of its kind are alive."""

    alive = 0
    most = 0

    def __init__(self, value):
        self.value = value
        Heavy.alive += 1
        Heavy.most = max(Heavy.most, Heavy.alive)

    def __del__(self):
        Heavy.alive -= 1


class HeavyMean(ExactMean):
    def add(self, member, model, weight):
        super().add(member, model.value, weight)

    def close(self, missing):
        return Heavy(super().close(missing))


class OneAtATime:
    """Answers as the local executor does: trains one by one, and models travel in no time."""

    def __init__(self):
        self.jobs = []

    def start(self, ticket, job):
        self.jobs.append((ticket, job))

    def finished(self, timeout=None):
        jobs, self.jobs = self.jobs, []
        for ticket, job in jobs:
            trained = Heavy(job.model.value + job.client) if job.client % 5 else None
            yield ticket, Failure("lost") if trained is None else Answer(trained, 1)

    def merges(self, word, own=False):
        return self

    def open(self, gathering):
        return HeavyMean(gathering)


def peak(plan, clients):
    gc.collect()
    start = Heavy(Fraction(0))
    Heavy.most = Heavy.alive = 1
    walked = walk(plan, [start], [1] * clients, OneAtATime())
    assert walked.answered
    return Heavy.most


@pytest.mark.parametrize("rounds", [1, 2])
def test_memory_does_not_grow_with_the_clients_of_a_star(rounds):
    few, many = (peak(Star((Train(i) for i in range(n)), rounds=rounds), n) for n in (5, 200))
    assert many == few <= 4


def test_nor_with_the_clients_of_groups():
    few, many = (
        peak(Star(Star((Train(i) for i in range(g, n, 4)), at=edge(g)) for g in range(4)), n) for n in (20, 400)
    )
    assert many == few


class InParts(Numbers):
    """Answers the jobs of one meeting by the mean of their models; the first brings their weight."""

    averages = True
    averaged = 0

    def finished(self, timeout=None):
        jobs = dict(self._jobs)
        found = list(super().finished(timeout))
        parts: dict = {}
        for ticket, answer in found:
            if isinstance(answer, Answer) and (share := jobs[ticket].share):
                parts.setdefault(share.meeting, []).append((ticket, Fraction(share.weight), answer.model))
        for ticket, answer in found:
            if isinstance(answer, Answer) and (share := jobs[ticket].share):
                part = parts[share.meeting]
                total = sum(weight for _, weight, _ in part)
                mean = sum(weight * model for _, weight, model in part) / total
                answer = Answer(mean, answer.samples, weight=float(total) if ticket == part[0][0] else 0.0)
                self.averaged += 1
            yield ticket, answer


@given(plan=plans, failing=st.frozensets(st.integers(0, 5), max_size=3))
def test_an_executor_may_average_the_models_that_only_meet(plan, failing):
    whole = walk(plan, [Fraction(1)], SIZES, Numbers(failing=failing))
    parts = walk(plan, [Fraction(1)], SIZES, InParts(failing=failing))
    assert parts.models == whole.models  # in exact fractions
    assert (parts.trained, parts.lost, parts.answered) == (whole.trained, whole.lost, whole.answered)


def test_models_that_somebody_looks_at_are_not_averaged():
    plan = Star([Train(0), Train(1)])
    for singly, averaged in ((False, 2), (True, 0)):
        executor = InParts()
        walk(plan, [Fraction(0)], SIZES, executor, singly=singly)
        assert executor.averaged == averaged
