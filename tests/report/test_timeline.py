import pytest
from matplotlib import pyplot as plt

from covey.network.clock import Interval
from covey.plan import client, cloud
from covey.report.timeline import _joined, timeline


def test_spans_that_touch_are_one():
    assert _joined([(0.0, 1.0), (2.0, 1.0), (0.5, 1.0)]) == [(0.0, 1.5), (2.0, 1.0)]


def test_servers_stand_above_the_clients_in_the_given_order():
    figure, axes = plt.subplots()
    spans = [
        Interval(client(1), "train", 1.0, 2.0),
        Interval(client(0), "train", 1.0, 3.0),
        Interval(cloud, "send", 0.0, 1.0, client(1)),
    ]
    timeline(axes, spans, [1, 0, 1], seconds=3.0)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cloud", "client 1", "client 0"]
    assert axes.get_xlim() == pytest.approx((0, 3))
    plt.close(figure)


def test_of_very_many_clients_some_are_shown():
    figure, axes = plt.subplots()
    timeline(axes, [Interval(client(i), "train", 0.0, 1.0) for i in range(400)], range(400), seconds=1.0)
    assert axes.get_ylabel().startswith("one of 3 clients")
    assert len(axes.collections) == 134  # clients 0, 3, … 399
    plt.close(figure)
