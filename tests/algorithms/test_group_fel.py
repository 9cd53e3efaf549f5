from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.narrow import known, order
from tests.tiny import fleet_of, loop_of, model_after, random_fleet, small_network, two_weights

from covey.algorithms import GroupFEL, make_algorithm
from covey.algorithms.base import Outcome
from covey.algorithms.group_fel import form_groups
from covey.errors import BadValue, RunFailed
from covey.fleet import Fleet
from covey.grouping import GROUPINGS, group
from covey.plan import Star, Train, clients, edge
from covey.theory import PRICES, total_cost

SIZES = (7, 4, 9, 3, 6, 5, 8, 4, 7, 6, 5, 9)
EDGES = (0, 1) * 6


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def plan_of(algorithm, fleet):
    return algorithm.plan(1, fleet, algorithm.start(fleet, rng()), rng())


def test_a_round_is_stars_at_edges_under_the_cloud():
    fleet = random_fleet(SIZES, edge_of=EDGES)
    plan = plan_of(GroupFEL(min_size=3, sample=1.0, group_rounds=4, local_epochs=2), fleet)
    assert plan.rounds == 1
    assert plan.merge is None  # as the run merges
    assert clients(plan) == set(range(12))
    for star in plan.children:
        members = [train.client for train in star.children]
        assert star.rounds == 4
        assert len(members) >= 3
        assert star.at == edge(EDGES[members[0]])
        assert {EDGES[i] for i in members} == {star.at.number}
        assert all(train == Train(train.client, 2) for train in star.children)
    assert plan.weights is None


def test_a_round_by_hand():
    # One step of rate 1 from a = 0: x = 1 with label 0 gives +1/2, x = 2 with label 1 gives -1. Groups of one.
    fleet = fleet_of([[(1.0, 0)], [(2.0, 1), (2.0, 1)]])
    settings = {"min_size": 1, "max_cov": 9.0, "sample": 1.0, "group_rounds": 1}
    model = model_after("group-fel", fleet, two_weights(), **settings)
    assert model[0].item() == pytest.approx((1 * 0.5 + 2 * -1.0) / 3)


def test_a_fifth_of_the_groups_is_sampled():
    fleet = Fleet(np.eye(10, dtype=int)[np.arange(60) % 10] * 5)
    assert len(plan_of(GroupFEL(min_size=2, grouping="random"), fleet).children) == round(0.2 * 30)


def test_balanced_groups_come_more_often():
    # Groups (0, 1) and (2, 3): CoV 0 and 1. With ESRCoV the first always comes.
    fleet = Fleet([[4, 0], [0, 4], [4, 0], [4, 0]])
    algorithm = GroupFEL(sample=0.5)
    state = {"groups": [[0, 1], [2, 3]]}
    for seed in range(20):
        plan = algorithm.plan(1, fleet, state, np.random.default_rng(seed))
        assert clients(plan) == {0, 1}


def weights_by_hand(aggregation: Any, replacement: bool = False) -> Star:
    # Group CoVs 1/2 and 1: RCoV p = 2/3, 1/3; samples 4 and 8 of 12.
    fleet = Fleet([[3, 1], [8, 0]])
    algorithm = GroupFEL(sampling="rcov", sample=1.0, aggregation=aggregation, replacement=replacement)
    return algorithm.plan(1, fleet, {"groups": [[0], [1]]}, rng())


@pytest.mark.parametrize(("aggregation", "merge"), [("unbiased", "updates"), ("unbiased-models", "sum")])
def test_unbiased_weights_are_eq_4(aggregation, merge):
    plan = weights_by_hand(aggregation)
    assert plan.merge == merge
    assert plan.weights == pytest.approx((1 / (2 / 3 * 2) * 4 / 12, 1 / (1 / 3 * 2) * 8 / 12))


def test_eq_4_moves_the_model_by_weighted_updates():
    # One of two groups is drawn, p = 1/2 each and S = 1: its weight n_g / (n p_g S) is 1/2 for one and 3/2 for three of
    # four samples.
    fleet = fleet_of([[(1.0, 0)], [(1.0, 0), (1.0, 0), (1.0, 0)]])
    settings = {"min_size": 1, "grouping": "random", "sampling": "uniform", "sample": 0.5, "group_rounds": 1}
    found = set()
    for seed in range(6):
        model = model_after("group-fel", fleet, two_weights(), **settings, aggregation="unbiased", seed=seed)
        found.add(round(model[0].item(), 6))
    # from a = 0 a step of rate 1 gives +1/2, for one sample as for three alike
    assert found == {0.5 * 0.5, 1.5 * 0.5}
    # in the next round the model the groups start from counts once, whatever the weights add up to
    loop = loop_of("group-fel", fleet, two_weights(), **settings, aggregation="unbiased", rounds=2, lr=1e-9)
    progress = loop.begin()
    progress.models = [torch.tensor([3.0, -3.0])]
    loop.go(progress)
    assert torch.allclose(progress.models[0], torch.tensor([3.0, -3.0]))
    summed = loop_of("group-fel", fleet, two_weights(), **settings, aggregation="unbiased-models", rounds=1, lr=1e-9)
    progress = summed.begin()
    progress.models = [torch.tensor([3.0, -3.0])]
    summed.go(progress)
    assert abs(progress.models[0][0].item()) in (pytest.approx(3 * 0.5), pytest.approx(3 * 1.5))


def test_stabilised_weights_are_eq_39():
    plan = weights_by_hand("stabilised")
    first, second = 1 / (2 / 3 * 2) * 4 / 12, 1 / (1 / 3 * 2) * 8 / 12
    assert plan.merge is None
    assert plan.weights == pytest.approx((first / (first + second), second / (first + second)))


def test_plain_weights_are_samples():
    assert weights_by_hand("plain").weights is None  # a Star's own way
    drawn = weights_by_hand("plain", replacement=True)
    times = {order(star)[0]: w for star, w in zip(drawn.children, known(drawn.weights), strict=True)}
    assert sum(w / {0: 4, 1: 8}[client] for client, w in times.items()) == 2  # as often as they were drawn


def test_eq_4_with_replacement_is_unbiased():
    # The mean weight of a group over many draws is its share of all samples, 4/12 and 8/12.
    fleet = Fleet([[3, 1], [8, 0]])
    algorithm = GroupFEL(sampling="rcov", sample=1.0, aggregation="unbiased", replacement=True)
    generator, total = rng(), np.zeros(2)
    for _ in range(4000):
        plan = algorithm.plan(1, fleet, {"groups": [[0], [1]]}, generator)
        for star, weight in zip(plan.children, known(plan.weights), strict=True):
            total[order(star)[0]] += weight
    assert total / 4000 == pytest.approx([4 / 12, 8 / 12], abs=0.02)


def test_hopeless_odds_are_refused_unbiased_and_taken_stabilised():
    # CoV 0 against 1: with ESRCoV the second group's odds are below any number.
    fleet = Fleet([[4, 4], [8, 0]])
    state = {"groups": [[0], [1]]}
    for aggregation in ("unbiased", "unbiased-models"):
        with pytest.raises(RunFailed, match=r"round 7: by Eq. 4 the update of .* would be multiplied by 10\^\d+; set"):
            GroupFEL(sample=1.0, aggregation=aggregation).plan(7, fleet, state, rng())
    assert GroupFEL(sample=1.0, aggregation="stabilised").plan(1, fleet, state, rng()).weights == (0.0, 1.0)


def test_groups_are_formed_anew_every_r_rounds():
    fleet = random_fleet(SIZES)
    loop = loop_of("group-fel", fleet, small_network(), grouping="random", min_size=3, regroup=2, rounds=4, lr=0.01)
    progress = loop.begin()
    seen = [progress.state["groups"]]

    def note(report: object) -> None:
        seen.append(progress.state["groups"])

    loop.go(progress, [note])
    assert [seen[t] == seen[t - 1] for t in range(1, 5)] == [True, False, True, False]


def test_the_cost_is_eq_5_and_a_budget_stops_the_run():
    fleet = random_fleet(SIZES, edge_of=EDGES)
    settings = {"min_size": 3, "group_rounds": 2, "local_epochs": 3, "rounds": 6, "lr": 0.01}
    loop = loop_of("group-fel", fleet, small_network(), **settings)
    progress, groups, costs = loop.begin(), [], []

    def note(report):
        groups.append([[train.client for train in star.children] for star in report.plan.children])
        costs.append(report.metrics["cost"])

    loop.go(progress, [note])
    prices = PRICES["cifar-secure"]
    expected = [total_cost(groups[: t + 1], fleet.sizes, K=2, E=3, prices=prices) for t in range(6)]
    assert costs == pytest.approx(expected)

    loop = loop_of("group-fel", fleet, small_network(), budget=expected[2], **settings)
    summary = loop.go(loop.begin())
    assert summary["rounds"] == 3
    assert summary["cost"] == pytest.approx(expected[2])
    assert "accuracy" in summary


def test_any_algorithm_can_be_priced_and_none_is_unasked():
    fleet = random_fleet(SIZES)
    plain = loop_of("fedavg", fleet, small_network())
    assert "cost" not in plain.go(plain.begin())
    priced = loop_of("fedavg", fleet, small_network(), prices="cifar-fedprox")
    everyone = [list(range(12))]
    expected = total_cost([everyone], fleet.sizes, K=1, E=1, prices=PRICES["cifar-fedprox"])
    assert priced.go(priced.begin())["cost"] == pytest.approx(expected)
    limited = loop_of("fedavg", fleet, small_network(), budget=1.0, rounds=5)
    assert limited.go(limited.begin())["rounds"] == 1


@pytest.mark.parametrize("grouping", GROUPINGS.names)
def test_any_grouping_trains(grouping):
    fleet = random_fleet(SIZES, edge_of=EDGES)
    model = model_after("group-fel", fleet, small_network(), grouping=grouping, min_size=3, lr=0.1)
    assert torch.isfinite(model).all()


@pytest.mark.parametrize("sampling", ["uniform", "rcov", "srcov", "ercov", "esrcov"])
@pytest.mark.parametrize("aggregation", ["plain", "stabilised"])
def test_any_sampling_trains(sampling, aggregation):
    settings = {"sampling": sampling, "aggregation": aggregation, "min_size": 3, "sample": 0.5, "lr": 0.1}
    model = model_after("group-fel", random_fleet(SIZES), small_network(), **settings)
    assert torch.isfinite(model).all()


@pytest.mark.parametrize(
    ("name", "grouping", "regroup"), [("ouea", "cdg", 0), ("share", "kldg", 0), ("fed-cbs", "qcid", 1)]
)
def test_baselines_are_settings_of_the_frame(name, grouping, regroup):
    fleet, settings = random_fleet(SIZES, edge_of=EDGES), {"min_size": 3, "rounds": 2, "lr": 0.1}
    baseline = model_after(name, fleet, small_network(), **settings)
    frame = {"grouping": grouping, "sampling": "uniform", "regroup": regroup}
    frame |= {"explore": 1.0} if name == "fed-cbs" else {}
    assert torch.equal(baseline, model_after("group-fel", fleet, small_network(), **frame, **settings))
    with pytest.raises(BadValue, match=f"grouping is 'cov'; allowed is '{grouping}', which is what '{name}' stands"):
        make_algorithm(name, {"grouping": "cov"})


def test_a_small_edge_is_one_group():
    fleet = random_fleet((4, 4, 4, 4, 4), edge_of=(0, 0, 0, 0, 1))
    groups = GroupFEL(min_size=4).start(fleet, rng())["groups"]
    assert sorted(map(sorted, groups)) == [[0, 1, 2, 3], [4]]


def test_share_does_not_control_sizes():
    # 20 clients by 5 are 4 groups; with a least size of 5 every group would have exactly 5
    labels = np.random.default_rng(3).dirichlet([0.2] * 5, 20) * 100 // 1
    sizes = {tuple(sorted(map(len, groups_of("share", labels, seed)))) for seed in range(5)}
    assert all(len(found) == 4 and sum(found) == 20 for found in sizes)
    assert any(max(found) > 5 for found in sizes)
    assert {tuple(map(len, groups_of("ouea", labels, seed))) for seed in range(5)} != sizes


def groups_of(name, labels, seed, **given):
    return make_algorithm(name, given).start(Fleet(labels), np.random.default_rng(seed))["groups"]


def test_lambda_of_qcid_is_a_setting():
    labels = np.random.default_rng(0).dirichlet([0.5] * 4, 24) * 50 // 1
    found = [[groups_of("fed-cbs", labels, seed, min_size=3, explore=e) for seed in range(4)] for e in (0, 1, 1000)]
    assert found[0] != found[2]
    assert found[1] == [groups_of("fed-cbs", labels, seed, min_size=3) for seed in range(4)]


def test_groups_below_min_size_are_left_out_where_that_is_asked_for():
    labels = np.random.default_rng(0).dirichlet([0.1] * 6, 43) * 50 // 1
    for name in ("group-fel", "share", "ouea"):
        everybody, some = (groups_of(name, labels, 0, drop=drop) for drop in (False, True))
        assert sum(map(len, everybody)) == 43
        assert sum(map(len, some)) < 43 or name == "ouea"
        assert min(map(len, some)) >= 5


def test_distances_of_the_fleet_reach_groupings_that_look_at_them():
    fleet = replace(
        random_fleet((4,) * 6),
        distances=np.kron(np.eye(3), np.zeros((2, 2))) + 9 * np.kron(1 - np.eye(3), np.ones((2, 2))),
    )
    settings: Any = {"grouping": "kmedoids", "min_size": 2}
    starts = [GroupFEL(**settings).start(fleet, np.random.default_rng(seed))["groups"] for seed in range(6)]
    assert [[0, 1], [2, 3], [4, 5]] in [sorted(map(sorted, groups)) for groups in starts]
    by_edge = fleet.with_edges([0, 0, 0, 1, 1, 1])
    assert {len(g) for g in GroupFEL(**settings).start(by_edge, rng())["groups"]} <= {1, 2, 3}


@pytest.mark.parametrize(
    "given", [{"max_cov": 0.5, "grouping": "random"}, {"explore": 1.0}, {"drop": True, "grouping": "random"}]
)
def test_a_setting_of_another_grouping_is_refused(given):
    with pytest.raises(BadValue, match="allowed is a setting of other groupings than"):
        make_algorithm("group-fel", given)


def test_max_cov_reaches_the_grouping():
    labels = np.random.default_rng(0).dirichlet([0.3] * 6, 40) * 50 // 1
    few, many = (len(groups_of("group-fel", labels, 0, max_cov=c, min_size=2)) for c in (0.05, 9.0))
    assert few < many == len(groups_of("group-fel", labels, 0, max_cov=20.0, min_size=2))
    assert groups_of("group-fel", labels, 0) == groups_of("group-fel", labels, 0, max_cov=1.0)


def test_gradients_for_a_grouping_are_sent_to_the_edges():
    fleet = random_fleet(SIZES, edge_of=EDGES)
    settings = {"min_size": 3, "lr": 0.1, "sample": 1.0, "rounds": 4, "regroup": 2}
    sent = []
    for grouping in ("fl-hc", "random"):
        loop = loop_of("group-fel", fleet, small_network(), grouping=grouping, **settings)
        progress = loop.begin()
        sent.append(progress.traffic[("client", "edge")])
        loop.go(progress)
        sent.append(progress.traffic[("client", "edge")])
    # every round 5 models a client (K = 5); 12 gradients before round 1 and after rounds 2 and 4
    assert sent == [12, 4 * 5 * 12 + 3 * 12, 0, 4 * 5 * 12]


def test_the_number_of_sampled_groups_is_rounded():
    # 8 groups: a fifth is 1.6, so 2; 0.05 is 0.4, but at least 1
    fleet, state = Fleet(np.ones((8, 2), dtype=int)), {"groups": [[i] for i in range(8)]}
    counts = [len(GroupFEL(sample=share).plan(1, fleet, state, rng()).children) for share in (0.2, 0.05)]
    assert counts == [2, 1]


def test_what_every_edge_gives_its_grouping(monkeypatch):
    asked = []

    def noted(name, labels, **given):
        asked.append(given)
        return group(name, labels, **given)

    monkeypatch.setattr("covey.algorithms.group_fel.group", noted)
    fleet = random_fleet(SIZES, edge_of=EDGES)
    gradients = np.arange(12, dtype=np.float32)[:, None] + np.ones((12, 3), dtype=np.float32)
    form_groups("fl-hc", fleet, 3, rng(), gradients=gradients)
    for given, members in zip(asked, fleet.by_edge, strict=True):
        assert given["sizes"].tolist() == [SIZES[i] for i in members]
        assert given["updates"][:, 0].tolist() == [i + 1 for i in members]


def test_groups_are_not_formed_twice_before_the_first_round():
    fleet = random_fleet(SIZES)
    algorithm = GroupFEL(grouping="random", min_size=3, regroup=1)
    state = algorithm.start(fleet, rng())
    before = Outcome(0, fleet, [torch.zeros(2)], [], np.zeros(12, np.int64))
    assert algorithm.learn(state, before, np.random.default_rng(9)) is state


def test_an_unknown_sampling_is_refused():
    with pytest.raises(BadValue, match="esrcov"):
        make_algorithm("group-fel", {"sampling": "esrcof"})
