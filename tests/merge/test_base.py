"""What all merges share."""

import torch

from covey.merge import Gathering, clients_meeting, make_merge
from covey.merge.base import merged
from covey.plan import Forest, Ring, Star, Train


def test_the_groups_of_a_plan_are_the_stars_in_which_clients_meet():
    left, right = Star([Train(3), Train(0)]), Star([Train(1), Ring([Train(4), Train(2)])])
    assert clients_meeting(left) == [[0, 3]]
    assert clients_meeting(Star([left, right])) == [[0, 3], [1, 2, 4]]
    assert clients_meeting(Forest([left, Ring([Train(5), right])])) == [[0, 3], [1, 2, 4]]
    assert clients_meeting(Ring([Train(0), Train(1)])) == []


class Looking:
    """Says what a gathering is told."""

    def open(self, gathering):
        self.gathering = gathering
        return make_merge("mean").open(gathering)


def test_models_merged_at_once_start_from_the_first_and_count_by_weight():
    merge = Looking()
    models = [torch.tensor([1.0, 0.0]), torch.tensor([9.0, 9.0]), torch.tensor([3.0, 4.0])]
    found = merged(merge, models, [1.0, 0.0, 3.0], trained=1)
    assert found.tolist() == [2.5, 3.0]
    assert merge.gathering.members == ((), (), ())
    assert merge.gathering.start is models[0]
    assert merge.gathering.trained == 1
    assert isinstance(merge.gathering, Gathering)
