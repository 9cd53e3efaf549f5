"""What is compared where it is not runs."""

import pytest

from covey.compare import Comparison, carry_out, rows_of
from covey.compare.works import measured
from covey.errors import BadValue, UnknownName

FLEET = {"data": "digits", "clients": 12, "edges": 1, "partition": "dirichlet:0.3"}


def test_groupings():
    figures, curve = measured("groupings", {**FLEET, "grouping": "cov", "min_size": 3}, 0)
    assert figures["size_min"] >= 3
    assert sum(point["size"] for point in curve) == 12
    assert figures["cov"] == pytest.approx(sum(point["cov"] for point in curve) / len(curve))
    alone, _ = measured("groupings", {**FLEET, "grouping": "random", "groups": 12}, 0)
    assert alone["local_emd"] == 0  # everybody is a group
    assert alone["cpd"] > figures["cpd"]


def test_groupings_by_gradients_and_distances():
    figures, _ = measured("groupings", {**FLEET, "grouping": "ihc", "distances": "similar", "gradients": True}, 0)
    assert figures["links"] >= 12 - figures["groups"]  # every member at least 1 from its head
    assert figures["Delta"] >= 0


def test_groupings_after_a_warm_up():
    """Gradients are taken later, the groups are the same."""
    settings = {**FLEET, "grouping": "random", "groups": 3, "gradients": True}
    cold, warm = (measured("groupings", {**settings, "warm_up": rounds}, 0)[0] for rounds in (0, 1))
    assert cold["Delta"] != warm["Delta"]
    assert cold["cov"] == warm["cov"]
    with pytest.raises(BadValue, match="warm_up is -1"):
        measured("groupings", {**settings, "warm_up": -1}, 0)
    with pytest.raises(BadValue, match="warm_up is 1"):
        measured("groupings", {**FLEET, "grouping": "random", "groups": 3, "warm_up": 1}, 0)


def test_group_operations():
    figures, curve = measured(
        "groupops", {"operation": "backdoor", "model": "softmax-regression", "sizes": [2, 3, 4]}, 0
    )
    assert [point["size"] for point in curve] == [2, 3, 4]
    assert figures["seconds"] == curve[-1]["seconds"] > 0
    with pytest.raises(UnknownName, match="operation is 'magic'"):
        measured("groupops", {"operation": "magic"}, 0)
    with pytest.raises(BadValue, match="setting is 'rounds'"):
        measured("groupops", {"rounds": 3}, 0)


def test_prices():
    settings = {**FLEET, "algorithm": "hierfavg", "rounds": 2, "network": "tree:1"}
    figures, curve = measured("prices", settings, 0)
    assert [point["round"] for point in curve] == [1, 2]
    assert figures["all_seconds"] == pytest.approx(curve[-1]["simulated_seconds"])


def test_bounds():
    # 0.5 of 10 clients, 3 rounds, 25.2 MiB both ways
    figures, _ = measured("bounds", {"formula": "fedgsp", "clients": 10, "rounds": 3, "kappa": 0.5}, 0)
    assert figures["traffic_bytes"] == 2 * 0.5 * 10 * 3 * 4 * 6_603_710
    star, _ = measured("bounds", {**FLEET, "formula": "tornado", "shape": "star", "groups": 3}, 0)
    ring, _ = measured("bounds", {**FLEET, "formula": "tornado", "shape": "ring", "groups": 3}, 0)
    assert star["bound"] > ring["bound"] == 0
    assert (star["models"], ring["models"]) == (12 * 1000 / 100, 1000 / 100)  # every tau1 tau2 = 100 epochs of 1,000
    with pytest.raises(UnknownName, match="formula is 'mine'"):
        measured("bounds", {"formula": "mine"}, 0)


def test_a_comparison_of_groupings(tmp_path):
    runs = [{"name": "even", "grouping": "cov"}, {"name": "any", "grouping": "random"}]
    comparison = Comparison.make(
        {**FLEET, "min_size": 4}, runs, work="groupings", seeds=[0, 1], by="cov", expect=["any > even"]
    )
    done, _ = carry_out(comparison, tmp_path / "runs")
    rows, target = rows_of(comparison, done, None)
    assert target is None
    even, anyhow = (row.mean("cov") for row in rows)
    assert even is not None
    assert anyhow is not None
    assert anyhow > even
    assert not (tmp_path / "runs").exists()
