import numpy as np
import pytest

from covey.errors import BadValue
from covey.plan import Forest, Mesh, Ring, Star, Train, client, cloud, edge
from covey.theory import link_cost

# four clients on a line at 0, 1, 3 and 7; the cheapest to reach is 1: 1 + 0 + 2 + 6 = 9
COSTS = np.abs(np.subtract.outer([0, 1, 3, 7], [0, 1, 3, 7]))


@pytest.mark.parametrize(
    ("plan", "cost"),
    [
        (Train(3), 0),
        (Star(Train(i) for i in range(4)), 1 + 0 + 2 + 6),
        (Star([Train(0), Train(3)], rounds=5), 5 * (1 + 6)),
        (Star([Train(0), Train(3)], at=client(3)), 7),
        (Star([Star([Train(2), Train(3)], at=client(2), rounds=2), Train(0)]), 2 * 4 + 2 + 1),
        (
            Star([Star([Train(2), Train(3)], at=edge(0)), Train(0)]),
            2 + 6 + 0 + 1,
        ),  # the edge stands where the cloud does
        (Ring([Train(0), Train(3), Train(2)]), 7 + 4),
        (Ring([Train(0), Train(3), Train(3)], via=cloud), 1 + 6 + 0),
        (Forest([Star([Train(0), Train(1)], at=client(1)), Train(3)]), 1),
        (Star([Forest([Train(0), Train(3)], at=client(2))]), 3 + 4 + 2),
        (Mesh([Train(0), Train(1), Train(3)], links=[(0, 1), (1, 2)]), 2 * 1 + 2 * 6),
    ],
)
def test_costs_by_hand(plan, cost):
    assert link_cost(plan, COSTS) == cost


def test_costs_may_differ_by_direction():
    costs = [[0, 5], [3, 0]]  # the columns sum up to 3 and 5, so the server stands at client 0
    assert link_cost(Star([Train(0), Train(1)]), costs) == 3
    assert link_cost(Mesh([Train(0), Train(1)], links=[(0, 1)]), costs) == 5 + 3
    assert link_cost(Ring([Train(0), Train(1)]), costs) == 5


@pytest.mark.parametrize("costs", [[[0, -1], [1, 0]], [[0, 1]], [1, 2], [[0, np.nan], [1, 0]]])
def test_what_is_no_table_of_costs_is_refused(costs):
    with pytest.raises(BadValue, match=r"costs is .*; allowed is a square table of numbers from 0 up"):
        link_cost(Train(0), costs)
