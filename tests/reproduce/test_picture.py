"""What is drawn, looked at on the figure before it becomes a file."""

from contextlib import contextmanager

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from covey.compare import Comparison, Done, rows_of
from covey.reproduce.picture import draw

SCORES = {("a", 1): 0.1, ("a", 2): 0.2, ("b", 1): 0.3, ("b", 2): 0.9}


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws runs a and b over `batch` 1 and 2, whose scores are known, and gives the axes."""
    figure = Figure()

    @contextmanager
    def kept(*args, **kwargs):
        yield figure

    def axes(**picture):
        comparison = Comparison.make(
            {},
            [{"name": "a"}, {"name": "b"}],
            sweep={"batch": [1, 2]},
            figures={"a, batch=1": {"accuracy": 0.5}, "b, batch=2": {"accuracy": 0.6}},
            picture=picture,
        )
        done = []
        for cell in comparison.cells():
            score = SCORES[cell.entry.labels["run"], cell.settings["batch"]]
            row = {"round": 1, "accuracy": score, "traffic_bytes": 1, "models": 1, "trainings": 1}
            done.append(Done(cell, "run", {}, [row]))
        draw(comparison, rows_of(comparison, done, None)[0], tmp_path / "a.png", "title")
        return figure.axes[0]

    monkeypatch.setattr("covey.reproduce.picture.drawing", kept)
    return axes


def circles(axes):
    """The paper's figures by the colour of their circles."""
    found = {}
    for line in axes.lines:
        values = np.asarray(line.get_ydata(), dtype=float)
        if line.get_markerfacecolor() == "none" and np.isfinite(values).any():
            found[to_rgba(line.get_color())] = values[np.isfinite(values)].tolist()
    return found


def test_the_papers_circles_have_the_colour_of_their_line(drawn):
    axes = drawn(x="batch")
    first, second = (to_rgba(container.lines[0].get_color()) for container in axes.containers)
    assert circles(axes) == {first: [0.5], second: [0.6]}
    assert axes.get_legend_handles_labels()[1].count("the paper's") == 1


def test_circles_beside_bars_are_black(drawn):
    assert list(circles(drawn(x="batch", form="bars"))) == [to_rgba("black")]


@pytest.mark.parametrize("x", ["batch", "rounds"])
@pytest.mark.parametrize(("log", "kind"), [(False, "linear"), (True, "log")])
def test_the_vertical_axis(drawn, x, log, kind):
    assert drawn(x=x, log=log).get_yscale() == kind


def test_figures_on_dark_squares_are_white(drawn):
    texts = {text.get_text(): text.get_color() for text in drawn(x="batch", heat="run").texts}
    assert texts == {"0.100": "black", "0.200": "black", "0.300": "black", "0.900": "white"}  # 0.9 is the darkest
