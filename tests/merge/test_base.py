"""What all merges share."""

import torch

from covey.merge import MERGES, Gathering, clients_meeting, make_merge
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


def test_the_usual_settings():
    """What a word without settings stands for, as the documentation has it."""
    usual = {
        "mean": {},
        "sum": {},
        "updates": {},
        "median": {},
        "ida": {},
        "clip": {"norm": None},
        "flame": {"noise": 0.001, "of": "models"},
        "geometric-median": {"steps": 100, "smoothing": 1e-6, "tolerance": 1e-6},
        "krum": {"share": 0.2, "keep": 0},
        "private": {"norm": 1.0, "noise": 1.0, "delta": 1e-5, "amplify": False},
        "secure": {
            "clip": 8.0, "levels": 0, "threshold": 2 / 3, "neighbours": "all", "norm": 1.0, "noise": 0.0, "delta": 1e-5,
            "amplify": False, "seeded": True,
        },
        "trimmed-mean": {"share": 0.2},
    }  # fmt: skip
    assert set(usual) == set(MERGES.names)
    for name, values in usual.items():
        assert vars(make_merge(name)) == values, name
