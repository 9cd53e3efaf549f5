"""Attacks: what they do to data and answers, who the attackers are, and what a run under attack says."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.narrow import samples
from tests.tiny import fleet_of, random_fleet

from covey.attack import ATTACKS, Tampering, choose, make_attack
from covey.attack.backdoor import stamped
from covey.errors import BadValue
from covey.execute.effects import Answer, Failure, Job, Share
from covey.experiment import Experiment, life
from covey.fleet import Fleet, FleetData

SMALL = {"data": "digits", "clients": 12, "samples": 40, "lr": 0.2, "epochs": 2, "rounds": 4, "mode": "one-by-one"}


def rng():
    return np.random.default_rng(0)


def images(clients=3, each=4):
    """Images of 5 x 5 zeros, labels 0, 1, 2, 3 for every client."""
    n = clients * each
    y = np.tile(np.arange(each), clients)
    parts = np.split(np.arange(n), clients)
    none = [np.zeros(0, dtype=np.int64) for _ in parts]
    x = np.zeros((n, 1, 5, 5), dtype=np.float32)
    x[0, 0, 0, 0] = 2.0  # the brightest pixel
    return FleetData("images", x, y, x[:8], y[:8], parts, none, each)


def test_flipped_labels_are_the_attackers_only():
    data = make_attack("label-flip").poison(images(), [1], rng())
    assert data.y.tolist() == [0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3]
    one = make_attack("label-flip:source=1,target=3")
    assert one.poison(images(), [0, 2], rng()).y.tolist() == [0, 3, 2, 3, 0, 1, 2, 3, 0, 3, 2, 3]
    assert one.trial(images()).y.tolist() == [3, 3]  # two test samples of class 1


def test_a_backdoor_stamps_some_of_the_attackers_images():
    clean = images()
    data = make_attack("backdoor:target=2,poison_share=0.5,size=2").poison(clean, [1], rng())
    changed = np.flatnonzero((data.x != clean.x).any(axis=(1, 2, 3)))
    assert len(changed) == 2  # half of four
    assert set(changed) <= set(range(4, 8))
    assert (data.y[changed] == 2).all()
    assert (data.x[changed[0], 0] == stamped(np.zeros((5, 5)), 2, 2.0)).all()
    assert clean.x.sum() == 2.0


def test_a_backdoor_is_tried_on_other_classes():
    trial = make_attack("backdoor:target=2,size=2").trial(images())
    assert len(trial.x) == 6  # of 8 test images two are of class 2
    assert trial.y.tolist() == [2] * 6
    assert (trial.x[:, 0, 2:4, 2:4] == 2.0).all()


def answer(word, attackers, cohort, update):
    job = Job(1, torch.tensor([10.0]), cohort=cohort)
    return make_attack(word).answer(job, Answer(torch.tensor([10.0 + update]), 1), frozenset(attackers)).model.item()


def test_answers_by_hand():
    assert answer("sign-flip:scale=3", {1}, (0, 1), 2.0) == 10 - 3 * 2
    assert answer("replacement:boost=5", {1}, (0, 1), 2.0) == 10 + 5 * 2
    assert answer("replacement", {1, 4}, (0, 1, 2, 3, 4, 5), 2.0) == 10 + 6 / 2 * 2  # three clients an attacker


class Echo:
    """Answers every job with its model plus one; client 9 fails."""

    def __init__(self):
        self.jobs = []

    def start(self, ticket, job):
        self.jobs.append((ticket, job))

    def finished(self, timeout=None):
        jobs, self.jobs = self.jobs, []
        yield from ((t, Failure("gone") if j.client == 9 else Answer(j.model + 1, 1, finite=True)) for t, j in jobs)


def test_only_attackers_answers_are_changed():
    echo: Any = Echo()  # as much of an executor as this needs
    executor = Tampering(echo, make_attack("sign-flip"), [1, 9])
    for ticket, client in enumerate((0, 1, 9)):
        executor.start(ticket, Job(client, torch.tensor([5.0])))
    found: dict[int, Any] = dict(executor.finished())
    assert (found[0].model.item(), found[0].finite) == (6.0, True)
    assert (found[1].model.item(), found[1].finite) == (4.0, None)
    assert found[2] == Failure("gone")


def test_what_attackers_change_is_not_averaged_before():
    echo: Any = Echo()
    executor = Tampering(echo, make_attack("sign-flip"), [1])
    for ticket, client in enumerate((0, 1)):
        executor.start(ticket, Job(client, torch.tensor([5.0]), share=Share((0,), 1.0)))
    assert [job.share for _, job in echo.jobs] == [Share((0,), 1.0), None]


def test_attackers_are_spread_at_one_edge_or_in_one_group():
    fleet = Fleet(np.ones((10, 2)), edge_of=[0, 1] * 5)
    groups = [(0, 1, 2), (3, 4, 5), (6, 7, 8, 9)]
    assert len(choose(make_attack("sign-flip:0.3"), fleet, groups, rng())) == 3
    at_edge = choose(make_attack("sign-flip:share=0.3,inside=edge"), fleet, groups, rng())
    assert len({fleet.edge(client) for client in at_edge}) == 1
    in_group = choose(make_attack("sign-flip:share=0.3,inside=group"), fleet, groups, rng())
    assert sum(bool(set(in_group) & set(group)) for group in groups) == 1
    assert len(choose(make_attack("sign-flip:0.01"), fleet, groups, rng())) == 1


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("backdoor:0", "share"),
        ("backdoor:poison_share=2", "poison_share"),
        ("backdoor:size=0", "size"),
        ("label-flip:source=1", "two different labels, or neither"),
        ("sign-flip:scale=0", "scale"),
        ("replacement:boost=-1", "boost"),
        ("backdoor:inside=cloud", "inside"),
    ],
)
def test_settings_that_mean_nothing_are_refused(word, fault):
    with pytest.raises(BadValue, match=fault):
        make_attack(word)


def test_data_that_an_attack_cannot_change_is_refused():
    points = samples(random_fleet([5, 5]))
    with pytest.raises(BadValue, match="no images"):
        make_attack("backdoor").poison(points, [0], rng())
    with pytest.raises(BadValue, match="below 5"):
        make_attack("backdoor:size=5").poison(images(), [0], rng())
    with pytest.raises(BadValue, match="target"):
        make_attack("backdoor:target=7").poison(images(), [0], rng())
    with pytest.raises(BadValue, match="target of label-flip is 9"):
        make_attack("label-flip:source=0,target=9").poison(images(), [0], rng())
    with pytest.raises(BadValue, match="one edge only"):
        choose(make_attack("sign-flip:inside=edge"), fleet_of([[(0.0, 0)], [(1.0, 1)]]), [], rng())


def run(tmp_path, **settings):
    return life.start(Experiment.make({**SMALL, **settings}), tmp_path)[1]


@pytest.mark.parametrize("name", ATTACKS.names)
def test_every_attack_runs_and_says_how_often_it_works(tmp_path, name):
    found = run(tmp_path, attack=f"{name}:0.25")
    assert found["attackers"] == 3
    assert 0 <= found["attack_success"] <= 1


def test_a_replaced_model_has_the_backdoor_and_without_an_attack_nothing_is_said(tmp_path):
    found = run(tmp_path, attack="replacement:0.25", samples=None)
    assert found["attack_success"] > 0.9
    assert "attack_success" not in run(tmp_path)


def test_sign_flips_are_the_share_of_wrong_labels(tmp_path):
    found = run(tmp_path, attack="sign-flip:share=0.4,scale=3")
    assert found["attack_success"] == pytest.approx(1 - found["accuracy"], abs=1e-6)


def test_attackers_inside_one_group(tmp_path):
    settings = {"algorithm": "group-fel", "min_size": 3, "edges": 1, "sample": 1.0, "group_rounds": 1}
    found = run(tmp_path, **settings, attack="replacement:share=0.25,inside=group")
    assert found["attackers"] == 3
    with pytest.raises(BadValue, match="one group only"):
        run(tmp_path, attack="backdoor:inside=group")
