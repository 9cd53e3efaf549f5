import numpy as np
import pytest
from matplotlib.figure import Figure

from covey.grouping.simple import random
from covey.report.groups import MOST_BARS, draw_groups, groups_on


def fleet(clients, labels):
    return np.random.default_rng(0).integers(0, 30, (clients, labels))


def test_one_bar_a_group_and_one_for_all_stacked_to_one():
    labels, figure = fleet(20, 4), Figure()
    grouping = random(labels, groups=5, rng=np.random.default_rng(0))
    groups_on(figure, grouping, labels, title="random", label_names=["a", "b", "c", "d"])
    axes = figure.axes[0]
    assert len(axes.patches) == 4 * (5 + 1)
    tops = [bar.get_y() + bar.get_height() for bar in axes.containers[-1]]
    assert tops == pytest.approx([1] * 6)
    assert axes.get_title(loc="left").startswith("random: 5 groups")


def test_of_many_groups_some_are_shown(tmp_path):
    labels, figure = fleet(120, 40), Figure()
    grouping = random(labels, groups=60, rng=np.random.default_rng(0))
    groups_on(figure, grouping, labels)
    assert len(figure.axes[0].containers[0]) == MOST_BARS + 1
    assert "40 of 60 shown" in figure.axes[0].get_xlabel()
    draw_groups(tmp_path / "groups.png", grouping, labels)
    assert (tmp_path / "groups.png").read_bytes().startswith(b"\x89PNG")
