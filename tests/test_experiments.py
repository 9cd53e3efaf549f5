"""Every stored comparison can be made, and the module that runs them does what it says."""

import pytest
from benchmarks.results import LinkBytes, at_traffic, comparisons, holds, markdown

from covey.experiment import Experiment
from covey.fleet import Fleet
from covey.plan import Star, Train, edge


@pytest.mark.parametrize("name", comparisons())
def test_a_comparison_is_made_of_known_settings(name):
    import tomllib

    wanted = tomllib.loads(comparisons()[name].read_text())
    labels = [run.get("name", run["algorithm"]) for run in wanted["runs"]]
    assert len(set(labels)) == len(labels) > 1
    for run in wanted["runs"]:
        Experiment.make({**wanted["settings"], **{key: v for key, v in run.items() if key != "name"}})
    for rule in wanted.get("expect", []):
        assert {label.strip() for label in rule.split(">")} <= set(labels)


def test_the_score_at_equal_traffic():
    rounds = [{"traffic_bytes": 10, "accuracy": 0.1}, {"traffic_bytes": 20, "accuracy": 0.4}]
    assert at_traffic(rounds, 20, "accuracy") == 0.4
    assert at_traffic(rounds, 19, "accuracy") == 0.1


def test_orders_are_checked_on_means():
    table = {"a": {"accuracy": [0.9, 0.7]}, "b": {"accuracy": [0.8, 0.7]}, "c": {"accuracy": [0.1]}}
    assert holds("a > b > c", table, "accuracy")
    assert not holds("b > a", table, "accuracy")


def test_links_passed_on_a_tree():
    # clients 0 and 1 at edge 0, client 2 at edge 1, all one hop from their edge and two from the cloud
    fleet = Fleet([[1], [1], [1]], edge_of=[0, 0, 1])
    links = LinkBytes(fleet, "tree:2", model_bytes=10)
    assert links.after(Star(Train(i) for i in range(3))) == 10 * (3 * 2 * 2)
    inner = Star([Train(0), Train(1)], at=edge(0))
    assert links.after(Star([inner, Train(2)])) == 120 + 10 * (2 * 2 * 1 + 2 * 1 + 2 * 2)


def test_the_table():
    row = {"accuracy": [0.5, 0.7], "own_accuracy": [0.5, 0.5], "traffic_bytes": [1e6, 1e6], "equal_traffic": [0.5, 0.7]}
    result = {"title": "T", "seeds": [0, 1], "score": "accuracy", "runs": {"a": row}, "expect": {"a > b": True}}
    result |= {"cost": False, "target": None}
    # mean .6, standard deviation .1 sqrt(2)
    assert "| a | 60.0 ± 14.1 | 50.0 ± 0.0 | 1.0 ± 0.0 | 60.0 ± 14.1 |" in markdown(result)
    assert markdown(result).endswith("- a > b: yes")
