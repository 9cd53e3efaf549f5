import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch
from tests.fakes import small_fleet
from torch import nn

import covey
from covey import Algorithm, Experiment, FedAvg, Ring, Star, Train
from covey.errors import BadValue, UnknownName
from covey.store import Store

FLEET = small_fleet([6, 9, 12, 8])
QUICK: Any = {"rounds": 3, "lr": 0.2, "batch": 4, "mode": "one-by-one"}


class Mine(Algorithm):
    def plan(self, round, fleet, state, rng):
        return Star(Train(i) for i in range(fleet.clients))


class Handed(Algorithm):
    def plan(self, round, fleet, state, rng):
        return Ring(Train(i) for i in range(fleet.clients))  # one word changed: Star to Ring


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))


class Stop(Exception):
    pass


def breaking_at(round):
    def callback(report):
        if report.metrics["round"] == round:
            raise Stop

    return callback


def test_an_algorithm_of_ones_own_from_star_to_ring():
    star, ring = (covey.run(kind(), FLEET, model="softmax-regression", **QUICK) for kind in (Mine, Handed))
    assert (star.name, ring.name) == ("mine-made-up-1", "handed-made-up-1")
    fedavg = covey.run("fedavg", FLEET, model="softmax-regression", **QUICK)
    assert star.summary["model_sha256"] == fedavg.summary["model_sha256"] != ring.summary["model_sha256"]
    model = 15 * 4
    assert star.summary["traffic_bytes"] == 3 * 8 * model
    assert ring.summary["traffic_bytes"] == (3 * 3 + 2) * model  # and between rounds from the last to the first


def test_a_model_of_ones_own():
    module = Net()
    before = module.head.weight.clone()
    run = covey.run(FedAvg(), FLEET, model=module, **QUICK)
    assert torch.equal(module.head.weight, before)
    trained = run.load_into(Net())
    with torch.no_grad():
        right = trained(torch.from_numpy(FLEET.data.test_x)).argmax(dim=1).numpy() == FLEET.data.test_y
    assert right.mean() == pytest.approx(run.accuracy)
    again = covey.run(FedAvg(), FLEET, model=module, **QUICK)
    assert again.summary["model_sha256"] == run.summary["model_sha256"]


def test_a_model_that_does_not_fit():
    with pytest.raises(BadValue, match="model is 'Linear'"):
        covey.run(FedAvg(), FLEET, model=nn.Linear(5, 3), **QUICK)


def test_callbacks_watch_and_stop():
    seen = []

    def watch(report):
        seen.append((report.metrics["round"], str(report.plan).split("\n")[0]))
        return len(seen) == 2

    run = covey.run("ring", FLEET, model="softmax-regression", callbacks=[watch], **QUICK)
    assert seen == [(1, "Ring"), (2, "Ring")]
    assert run.summary["rounds"] == len(run.rounds) == 2


def test_what_a_run_holds(tmp_path):
    run = covey.run("stars", FLEET, model="softmax-regression", groups=2, dropout=0.3, **QUICK)
    assert len(run.models) == run.summary["models"] == 2
    assert [row["round"] for row in run.rounds] == [1, 2, 3]
    assert run.accuracy == run.summary["accuracy"]
    assert repr(run).startswith("Run(stars-made-up-1, 3 rounds, accuracy=")
    assert "own_accuracy=" in repr(run)
    assert {event["kind"] for event in run.events} <= {"lost", "retry"}
    run.plot(tmp_path / "new" / "curve.png")
    assert (tmp_path / "new" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_without_anything_to_test_on_accuracy_is_not_a_number():
    data = covey.FleetData(
        "bare", FLEET.data.x, FLEET.data.y, FLEET.data.test_x[:0], FLEET.data.test_y[:0],
        FLEET.data.train_of, (np.zeros(0, np.int64),) * 4, 3,
    )  # fmt: skip
    run = covey.run(FedAvg(), covey.Fleet(FLEET.labels, data=data), model="softmax-regression", **QUICK)
    assert math.isnan(run.accuracy)
    assert run.summary["accuracy"] is None
    assert repr(run) == "Run(fedavg-bare-1, 3 rounds)"


def test_a_name_and_settings_without_a_fleet():
    run = covey.run("fedavg", data="digits", clients=4, samples=20, sample=0.5, **QUICK)
    assert run.summary["trainings"] == 3 * 2


def test_an_experiment_with_settings_on_top():
    wanted = Experiment.make({"algorithm": "star-rings", "groups": 2, "clients": 4, "samples": 20, **QUICK})
    run = covey.run(wanted, rounds=2, chains=2)
    assert run.summary["rounds"] == 2
    assert run.summary["trainings"] == 2 * 8
    with pytest.raises(BadValue, match="rounds is 0; allowed is"):
        covey.run(wanted, rounds=0)
    with pytest.raises(UnknownName, match="setting is 'nope'"):
        covey.run(wanted, nope=0)


def test_settings_of_an_object_are_the_objects():
    with pytest.raises(UnknownName, match="setting is 'groups'"):
        covey.run(FedAvg(), FLEET, groups=2, **QUICK)


# --- going on


def test_going_on_with_objects(tmp_path):
    whole = covey.run(Handed(), FLEET, model=Net(), **QUICK)
    with pytest.raises(Stop):
        covey.run(Handed(), FLEET, model=Net(), out=tmp_path, callbacks=[breaking_at(2)], **QUICK)
    again = covey.resume(out=tmp_path, algorithm=Handed(), fleet=FLEET, model=Net())
    assert again.summary["model_sha256"] == whole.summary["model_sha256"]
    assert all(torch.equal(a, b) for a, b in zip(again.models, whole.models, strict=True))
    assert [event["kind"] for event in again.events] == ["versions", "resumed"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"fleet": FLEET, "model": Net()}, "algorithm is 'handed'; allowed is one of"),
        ({"algorithm": Handed(), "model": Net()}, "fleet is 'one of your own'; allowed is given again"),
        ({"algorithm": Handed(), "fleet": FLEET}, "model is 'Net'; allowed is one of"),
    ],
)
def test_objects_that_are_missing_are_asked_for(tmp_path, given, sentence):
    with pytest.raises(Stop):
        covey.run(Handed(), FLEET, model=Net(), out=tmp_path, callbacks=[breaking_at(1)], **QUICK)
    with pytest.raises(BadValue, match=sentence):
        covey.resume(out=tmp_path, **given)


def test_an_algorithm_of_coveys_own_is_made_again_with_its_settings(tmp_path):
    """Without the object, and yet not with the settings that are usual."""
    settings: Any = {"data": "digits", "clients": 6, "samples": 20, "model": "softmax-regression", **QUICK}
    whole = covey.run(FedAvg(sample=0.5), **settings)
    with pytest.raises(Stop):
        covey.run(FedAvg(sample=0.5), out=tmp_path, callbacks=[breaking_at(2)], **settings)
    again = covey.resume(out=tmp_path)
    assert again.summary["trainings"] == 3 * 3
    assert again.summary["model_sha256"] == whole.summary["model_sha256"]


def test_an_algorithm_that_is_named_like_one_of_coveys_is_not_mistaken_for_it(tmp_path):
    own = type("FedAvg", (Mine,), {})
    with pytest.raises(Stop):
        covey.run(own(), FLEET, model="softmax-regression", out=tmp_path, callbacks=[breaking_at(1)], **QUICK)
    with Store(tmp_path) as store:
        assert store.runs()[0].run == "own-fedavg-made-up-1"
    with pytest.raises(UnknownName, match="algorithm is 'own-fedavg'"):
        covey.resume(out=tmp_path, fleet=FLEET)


def test_what_covey_offers():
    assert all(hasattr(covey, name) for name in covey.__all__)


def test_run_spells_every_setting_out():
    spelled = set(inspect.signature(covey.run).parameters)
    assert set(covey.Experiment.model_fields) - {"options"} <= spelled
    assert spelled - set(covey.Experiment.model_fields) == {"fleet", "out", "callbacks"}


def test_the_rounds_as_a_frame():
    frame = covey.run(FedAvg(), FLEET, model="softmax-regression", **QUICK).frame()
    assert list(frame.index) == [1, 2, 3]
    assert {"accuracy", "loss", "traffic_bytes", "traffic_cloud-client"} <= set(frame.columns)
