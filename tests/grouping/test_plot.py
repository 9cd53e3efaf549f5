import numpy as np
import pytest

from covey.grouping.plot import MOST_BARS, plot_grouping
from covey.grouping.simple import random


def test_one_bar_a_group_and_one_for_all_stacked_to_one(fleet):
    labels = fleet(20, 4)
    grouping = random(labels, groups=5, rng=np.random.default_rng(0))
    axes = plot_grouping(grouping, labels, title="random", label_names=["a", "b", "c", "d"]).axes[0]
    assert len(axes.patches) == 4 * (5 + 1)
    tops = [bar.get_y() + bar.get_height() for bar in axes.containers[-1]]
    assert tops == pytest.approx([1] * 6)
    assert axes.get_title(loc="left").startswith("random: 5 groups")


def test_of_many_groups_some_are_shown(fleet, tmp_path):
    labels = fleet(120, 40)
    figure = plot_grouping(random(labels, groups=60, rng=np.random.default_rng(0)), labels)
    assert len(figure.axes[0].containers[0]) == MOST_BARS + 1
    assert "40 of 60 shown" in figure.axes[0].get_xlabel()
    figure.savefig(tmp_path / "groups.png")
    assert (tmp_path / "groups.png").read_bytes().startswith(b"\x89PNG")
