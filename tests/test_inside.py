"""Scores inside rounds: the mean of all clients' models after each of their epochs."""

from typing import Any

import pytest
from tests.tiny import fleet_of, loop_of, two_weights

from covey.loop import Report


def test_scores_inside_rounds():
    # FedAvg of two epochs: after the first, clients 0 and 1 (one sample and two) have models of their own
    fleet = fleet_of([[(1.0, 0)], [(2.0, 1), (2.0, 1)]])
    settings = {"epochs": 2, "rounds": 2, "evaluate_every": 1, "score_every": "epoch"}
    loop = loop_of("fedavg", fleet, two_weights(), **settings)
    kept: list[dict[str, Any]] = []

    def keep(report: Report) -> None:
        kept.append(report.metrics)

    loop.go(loop.begin(), [keep])
    first, second = ([point["epochs"] for point in metrics["inside"]] for metrics in kept)
    assert (first, second) == ([1.0], [3.0])
    assert [metrics["epochs"] for metrics in kept] == [2.0, 4.0]
    once = loop_of("fedavg", fleet, two_weights(), **{**settings, "epochs": 1, "rounds": 1, "score_every": "round"})
    summary = once.go(once.begin())
    assert kept[0]["inside"][0]["accuracy"] == pytest.approx(summary["accuracy"])  # the mean after one epoch each
    assert kept[0]["inside"][0]["loss"] == pytest.approx(summary["loss"])
    ring = loop_of("ring", fleet, two_weights(), **settings)
    ring.go(ring.begin(), [keep])
    assert "inside" not in kept[-1]  # clients that train one after another have no mean
