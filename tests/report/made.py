"""Stories of runs that nobody ran."""

import numpy as np

from covey.plan import Ring, Star, Train
from covey.report.story import Entry, Story

GROUPS = [[0, 1], [2, 3]]
PLAN = Star(Ring(Train(i) for i in members) for members in GROUPS)


def rounds(top=0.8, *, count=4, **more):
    """Rounds whose accuracy grows to `top`."""
    return [
        {"round": r, "accuracy": top * r / count, "own_accuracy": 0.5, "loss": 1 / r, "traffic_bytes": r * 2e6,
         "wall_seconds": r / 10, **more}
        for r in range(1, count + 1)
    ]  # fmt: skip


def story(run="rings-1", **more):
    labels = np.array([[8, 0], [0, 8], [6, 2], [2, 6]])
    config = {"algorithm": "rings", "options": {"beta": 3}, "data": "digits", "clients": 4, "seed": 0, "network": None}
    known = {"labels": labels, "groups": GROUPS, "plan": PLAN, "plan_round": 5, "own": np.array([0.0, 0.5, 1.0, 1.0])}
    usual = {"missing": {"network": "there was none"}, **known}
    return Story(run, "finished", config, rounds(), **{**usual, **more})


def entry(name="rings", seeds=None, **more):
    return Entry(name, seeds or [rounds()], story(**more))
