"""What groups cost in secure aggregation, beside `covey group`."""

import numpy as np
import pytest

from covey.cli.group_cost import knee_of, seconds
from covey.grouping import Grouping
from covey.prices import Prices


@pytest.fixture
def clients(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"c{i},{','.join(map(str, rng.multinomial(30, rng.dirichlet([0.3] * 5))))}" for i in range(40)]
    (tmp_path / "clients.csv").write_text("client,a,b,c,d,e\n" + "\n".join(rows) + "\n")


def test_seconds_of_all_clients_by_hand():
    groups = Grouping(((0, 1), (2, 3, 4)))
    assert seconds(groups, Prices((1.0, 0.0, 2.0), (1.0, 0.0))) == 2 * (4 + 2) + 3 * (9 + 2)


def test_the_knee_of_a_line_is_anywhere_and_of_a_bend_is_the_bend():
    assert knee_of([0, 1, 5, 20], [1.0, 0.9, 0.2, 0.1]) == 2


def test_group_says_the_cost_and_a_least_size(covey, clients):
    found = covey("group", "clients.csv", "--min-size", "5", "--prices", "cifar-secure", "--json").json
    cost = found["secure_aggregation"]
    assert cost["seconds"] > 0
    assert cost["min_size"] in [row["min_size"] for row in cost["by_min_size"]]
    dearest, cheapest = cost["by_min_size"][-1], cost["by_min_size"][0]
    assert dearest["seconds"] > cheapest["seconds"]
    assert dearest["cov"] < cheapest["cov"]
    said = covey("group", "clients.csv", "--prices", "cifar-secure").out
    assert "most evenness for its seconds: --min-size " in said


def test_prices_need_one_method_and_a_known_name(covey, clients):
    assert "--prices" in covey("group", "clients.csv", "--method", "all", "--prices", "cifar-secure").complaint
    assert "prices is 'cifar'" in covey("group", "clients.csv", "--prices", "cifar").complaint
