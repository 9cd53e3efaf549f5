"""Epsilon of a run: against closed forms, and as the runs say it."""

import math

import pytest

from covey.errors import BadValue
from covey.experiment import Experiment, life
from covey.merge import Merges
from covey.meter import Ran
from covey.plan import Star, Train, edge
from covey.privacy import PrivacyMeter, epsilon, noise_of
from covey.store import Store

SMALL = {"clients": 12, "samples": 20, "rounds": 3, "mode": "one-by-one", "model": "softmax-regression"}


def closed_form(noise, rounds, delta):
    """The Gaussian mechanism's Renyi bound: least over alpha of T alpha / (2 z^2) + log(1/delta) / (alpha - 1)."""
    orders = [1 + x / 100 for x in range(1, 20000)]
    return min(rounds * alpha / (2 * noise**2) + math.log(1 / delta) / (alpha - 1) for alpha in orders)


@pytest.mark.parametrize(("noise", "rounds"), [(1.0, 1), (1.1, 10), (4.0, 100)])
def test_epsilon_is_no_more_than_the_plain_renyi_bound_and_not_much_less(noise, rounds):
    bound = closed_form(noise, rounds, 1e-5)
    assert 0.8 * bound < epsilon(noise, rounds=rounds) <= 1.001 * bound


def test_several_merges_in_a_round_count_as_several_rounds():
    assert epsilon(2.0, rounds=5, steps=4) == pytest.approx(epsilon(2.0, rounds=20), rel=1e-9)


def test_taking_part_seldom_costs_less():
    found = [epsilon(1.1, rounds=100, rate=rate) for rate in (0.01, 0.1, 0.5, 1.0)]
    assert found == sorted(found)
    assert found[0] < 1 < found[3]


def ran(plan, round=1, **spent):
    return Ran(round, plan, spent=spent)


def test_merges_of_a_client_are_counted_off_the_plan():
    groups = [Star([Train(0), Train(1)], rounds=5, at=edge(0)), Star([Train(2), Train(3)], rounds=5, at=edge(1))]
    plan = Star(groups)
    found = PrivacyMeter(Merges("private:noise=2,delta=1e-6"), 8).after(ran(plan))
    assert (found["privacy_steps"], found["privacy_rounds"], found["privacy_rate"]) == (5, 1, 1.0)
    assert (found["epsilon"], found["delta"]) == (epsilon(2.0, rounds=1, steps=5, delta=1e-6), 1e-6)
    everywhere = PrivacyMeter(Merges("mean", clients="private:noise=2"), 8).after(ran(plan))
    assert everywhere["privacy_steps"] == 5
    on_top = PrivacyMeter(Merges("private:noise=2", clients="mean"), 8).after(ran(plan))
    assert on_top["privacy_steps"] == 1
    both = PrivacyMeter(Merges("private:noise=2", clients="private:noise=3"), 8)
    assert both.after(ran(plan))["privacy_steps"] == 6
    assert both.noise == 2.0


def test_rounds_add_up_through_what_was_spent():
    plan = Star([Train(0), Train(1)])
    meter = PrivacyMeter(Merges("secure:noise=1.5,amplify=true"), 8)
    first = meter.after(ran(plan))
    second = meter.after(ran(Star([Train(0)]), **first))
    assert (first["privacy_rate"], second["privacy_rate"], second["privacy_rounds"]) == (0.25, 0.25, 2)
    assert second["epsilon"] == epsilon(1.5, rounds=2, rate=0.25)
    assert first["epsilon"] < second["epsilon"] < epsilon(1.5, rounds=2)


def test_flame_s_noise_is_no_privacy():
    assert noise_of(Merges("flame").clients) == 0
    assert noise_of(Merges("private:noise=0.7").clients) == 0.7
    assert noise_of(Merges("secure").clients) == 0


@pytest.mark.parametrize("merge", ["private:noise=2", "secure:noise=2,delta=1e-6"])
def test_runs_say_their_epsilon(tmp_path, merge):
    found = life.start(Experiment.make({**SMALL, "merge": merge}), tmp_path)[1]
    assert found["delta"] == (1e-6 if "delta" in merge else 1e-5)
    assert found["epsilon"] == pytest.approx(epsilon(2.0, rounds=3, delta=found["delta"]))


def test_a_run_without_noise_says_nothing(tmp_path):
    assert "epsilon" not in life.start(Experiment.make({**SMALL, "merge": "secure"}), tmp_path)[1]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"algorithm": "cfl"}, "looks at single updates"),
        ({"algorithm": "fedavg", "local": "scaffold"}, "in the clear"),
        ({"algorithm": "fedavg-ic"}, "FedAvgIC, which asks every client for its gradient"),
    ],
)
def test_what_would_show_hidden_updates_is_refused(tmp_path, settings, reason):
    with pytest.raises(BadValue, match=reason):
        life.start(Experiment.make({**SMALL, **settings, "merge": "secure"}), tmp_path)


def test_a_run_that_hides_updates_says_that_losses_are_seen(tmp_path):
    run, _ = life.start(Experiment.make({**SMALL, "algorithm": "ifca", "k": 2, "merge": "secure"}), tmp_path)
    with Store(tmp_path) as store:
        said = [(event["round"], event["text"]) for event in store.events(run) if event["kind"] == "secure"]
    assert said == [(0, "clients send their losses in the clear, beside hidden updates")]
