"""Whole runs on devices in this process: Flower's messages and apps without processes between them."""

import itertools

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord, RecordDict
from tests.flower.here import Here, as_bytes, from_bytes, own_samples
from tests.narrow import samples

from covey import load_fleet
from covey.errors import BadData, BadPlan, BadValue, RunFailed
from covey.execute.effects import Job
from covey.experiment import Experiment
from covey.experiment.life import try_out
from covey.flower import App
from covey.flower import crew as crews
from covey.flower.client import Device
from covey.flower.crew import Loss
from covey.flower.post import Post
from covey.flower.records import Terms
from covey.flower.server import Headquarters, read_settings
from covey.store import Store

CLIENTS = 6
FLEET = load_fleet("digits", clients=CLIENTS, partition="dirichlet:0.5", samples=30)
TRAINING = {"rounds": 2, "batch": 10, "lr": 0.1, "model": "softmax-regression"}


def test_set():
    return samples(FLEET).test_x, samples(FLEET).test_y


test_set.__test__ = False  # type: ignore[attr-defined]  # pytest reads it: this is no test


def federation(nodes=range(CLIENTS), first=100, run_config=None, data=None):
    app = App(data=data or own_samples(FLEET.data), classes=10)
    there = {first + i: {"partition-id": i, "num-partitions": CLIENTS} for i in nodes}
    return Here(app.client, there, run_config)


def go(grid, out, *, test=test_set, tests=True, **config):
    headquarters = Headquarters(None, 10, test, tests)
    given = {"out": str(out), "nodes": len(grid.get_node_ids()), "wait": 20.0, "deadline": 20.0}
    return headquarters.go(grid, {**given, **({} if config.get("resume") else TRAINING), **config})


def model_of(out, run):
    with Store(out) as store:
        return store.checkpoint(run).data["models"]


def events_of(out, run):
    with Store(out) as store:
        return [(event["round"], event["text"]) for event in store.events(run) if event["kind"] == "executor"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("covey.flower.post.POLL", 0.001)
    monkeypatch.setattr("covey.flower.crew.LOOK", 0.02)


# IFCA asks for losses, IHC-FL for gradients, the clients of SCAFFOLD remember
@pytest.mark.parametrize(
    "name", ["fedavg", "fedgsp", "tornadoes", "ihc-fl", "group-fel", "ifca", "scaffold", "fedavg-ic"]
)
def test_a_run_on_devices_is_the_run_on_the_local_executor(name, tmp_path):
    run, summary = go(federation(), tmp_path, algorithm=name)
    wanted = Experiment.make({**TRAINING, "algorithm": name, "mode": "one-by-one", "clients": CLIENTS})
    _, local, models = try_out(wanted, fleet=FLEET.with_edges(np.zeros(CLIENTS, dtype=np.int64)))
    found = model_of(tmp_path, run)
    torch.testing.assert_close(torch.stack(list(found)), torch.stack(models), rtol=1e-4, atol=1e-5)
    assert summary["accuracy"] == pytest.approx(local["accuracy"], abs=1e-6)
    assert summary["own_accuracy"] == pytest.approx(local["own_accuracy"], abs=1e-6)
    assert (summary["trainings"], summary["traffic_bytes"]) == (local["trainings"], local["traffic_bytes"])
    assert not events_of(tmp_path, run)


def test_without_a_test_set_of_the_servers_devices_score_models(tmp_path):
    _, summary = go(federation(), tmp_path, test=None, algorithm="fedavg")
    assert summary["accuracy"] == pytest.approx(summary["own_accuracy"], abs=0.1)  # weighted by size and not
    assert summary["loss"] > 0


def test_what_devices_remember_is_sent_to_them_once(tmp_path):
    grid = federation()
    go(grid, tmp_path, algorithm="scaffold", rounds=3)
    sent = [from_bytes(data) for _, kind, way, data in grid.said if kind == "train" and way == "to"]
    assert [records["job"]["fresh"] for records in sent] == [True] * CLIENTS + [False] * 2 * CLIENTS
    assert not any("memory" in records for records in sent)  # the first time, nobody remembers anything


# --- secure aggregation


def test_a_secure_run_is_the_run_in_the_clear_and_no_model_leaves_a_device(tmp_path):
    grid = federation()
    run, summary = go(grid, tmp_path, algorithm="fedavg", merge="secure")
    plain, _ = go(federation(), tmp_path, algorithm="fedavg")
    secured, clear = model_of(tmp_path, run)[0], model_of(tmp_path, plain)[0]
    torch.testing.assert_close(secured, clear, rtol=0, atol=1e-5)
    for _, kind, way, data in grid.said:
        if way == "from" and kind.startswith("train"):
            assert list(from_bytes(data)) == ["secure"]
            assert list(from_bytes(data)["secure"]) == ["data"]
    with Store(tmp_path) as store:
        assert store.rounds(run)[0]["secure_bytes"] > 0
    assert summary["rounds"] == 2


def test_a_secure_sum_that_loses_a_device_goes_on_without_it(tmp_path):
    grid = federation()
    grid.broken[102, "train"] = "<class 'OSError'>:<'the disk is gone'>"  # as Flower's nodes say it
    run, summary = go(grid, tmp_path, algorithm="fedavg", merge="secure")
    assert summary["trainings"] == 2 * (CLIENTS - 1)
    reason = "its node said: OSError: the disk is gone"
    assert events_of(tmp_path, run) == [(n, f"client 2 (2) was lost: {reason}") for n in (1, 2)]
    plain = federation()
    plain.broken[102, "train"] = "gone"
    other, _ = go(plain, tmp_path, algorithm="fedavg")
    torch.testing.assert_close(model_of(tmp_path, run)[0], model_of(tmp_path, other)[0], rtol=0, atol=1e-5)


def test_too_few_for_a_secure_sum_fail_the_run_and_nothing_is_unmasked(tmp_path):
    grid = federation()
    grid.broken |= {(100 + i, "train"): "gone" for i in range(3)}
    with pytest.raises(RunFailed, match="models could not be merged"):
        go(grid, tmp_path, algorithm="fedavg", merge="secure", rounds=1)
    assert not any(kind == "train.unmask" for _, kind, _, _ in grid.said)


def test_secure_rings_are_refused_since_the_server_hands_their_models_on(tmp_path):
    with pytest.raises(BadPlan, match="rings pass by the server"):
        go(federation(), tmp_path, algorithm="fedgsp", merge="secure", beta=2, kappa=1.0)


# --- what is in the messages

TO = {
    "query": {},
    "train": {"model", "job", "terms", "shared", "memory"},
    "evaluate": {"models", "terms"},
    "evaluate.losses": {"models", "terms"},
    "train.gradient": {"models", "terms"},
}
FROM = {
    "query": {"hello": {"name", "labels", "shape", "dtype", "edge"}},
    "train": {"model": {"0"}, "changes": {"variate"}},
    "evaluate": {"scores": {"accuracy", "loss"}},
    "evaluate.losses": {"losses": {"losses"}},
    "train.gradient": {"gradient": {"0"}},
}


@pytest.mark.parametrize("name", ["scaffold", "ifca", "ihc-fl", "fedgsp"])
def test_no_message_holds_a_sample(name, tmp_path):
    grid = federation()
    go(grid, tmp_path, algorithm=name)
    parameters = 650  # of softmax regression: 64 x 10 weights and 10 biases
    for node, kind, way, data in grid.said:
        records = from_bytes(data)
        assert set(records) <= set(TO[kind] if way == "to" else FROM[kind])
        for label, record in records.items():
            if isinstance(record, ArrayRecord):
                assert {len(array.numpy()) for array in record.values()} == {parameters}
            if way == "from":
                assert set(record) <= FROM[kind][label]
                if isinstance(record, ConfigRecord):
                    numbers = [v for value in record.values() for v in (value if isinstance(value, list) else [value])]
                    assert len(numbers) <= 20  # ten counts and a few more; a sample alone has 64
        own = own_samples(FLEET.data)({"partition-id": node - 100})
        assert not any(np.asarray(sample, dtype=np.float32).tobytes() in data for sample in (*own[0], *own[2]))


def test_noise_on_counts_is_drawn_by_the_device_and_once(tmp_path):
    grid = federation(run_config={"label-noise": 0.5})
    asked = [grid.answer(str(n), 100, "query", as_bytes(RecordDict())) for n in (1, 2)]
    told = [list(reply.content["hello"]["labels"]) for reply in asked]
    true = np.bincount(own_samples(FLEET.data)({"partition-id": 0})[1], minlength=10).tolist()
    assert told[0] == told[1] != true
    go(grid, tmp_path, algorithm="fedavg")
    with Store(tmp_path) as store:
        kept = store.checkpoint("fedavg-devices-1").data["executor"]["labels"]
    assert kept[0].tolist() == told[0]


# --- devices that fail


def wrong_model(change):
    def tamper(kind, records):
        if kind == "train":
            records["model"] = ArrayRecord([change(array.numpy()) for array in records["model"].values()])
        return records

    return tamper


FAULTS = {
    "the model it sent is not finite": lambda model: model * np.float32("nan"),
    "its model is not a vector of 650 float32 numbers (float32 of shape (3,))": lambda model: model[:3],
    "its model is not a vector of 650 float32 numbers (float64 of shape (650,))": lambda model: model.astype(float),
}


@pytest.mark.parametrize("reason", FAULTS)
def test_a_wrong_model_is_as_none_and_the_log_says_whose(reason, tmp_path):
    grid = federation()
    grid.tamper[103] = wrong_model(FAULTS[reason])
    run, summary = go(grid, tmp_path, algorithm="fedavg")
    assert events_of(tmp_path, run) == [(n, f"client 3 (3) was lost: {reason}") for n in (1, 2)]
    assert summary["trainings"] == 2 * (CLIENTS - 1)
    away = federation()
    away.tamper[103] = wrong_model(lambda model: model[:0])
    other, _ = go(away, tmp_path, algorithm="fedavg")
    torch.testing.assert_close(model_of(tmp_path, run)[0], model_of(tmp_path, other)[0])


def test_a_device_that_raises_is_lost_with_what_it_said(tmp_path):
    def data(node):
        if int(node["partition-id"]) == 1 and "train" in {kind for _, kind, _, _ in grid.said}:
            raise OSError("the disk is gone")
        return own_samples(FLEET.data)(node)

    grid = federation(data=data)
    run, _ = go(grid, tmp_path, algorithm="fedavg", rounds=1, tests=False)
    ((_, text),) = events_of(tmp_path, run)
    assert text == "client 1 (1) was lost: its node said: OSError: the disk is gone"
    assert Loss.read(text) == Loss(1, "1", "its node said: OSError: the disk is gone")


def test_a_device_that_says_nothing_costs_one_deadline(tmp_path):
    grid = federation()
    grid.silent.add(104)
    run, summary = go(grid, tmp_path, algorithm="fedavg", deadline=0.5, tests=False)
    assert events_of(tmp_path, run) == [
        (1, "client 4 (4) was lost: no answer within 0.5 s"),
        (2, "client 4 (4) was lost: it still has not answered what it was sent before"),
    ]
    assert summary["trainings"] == 2 * (CLIENTS - 1)


def test_a_run_is_resumed_with_nodes_that_were_started_again(tmp_path):
    whole, _ = go(federation(), tmp_path / "whole", algorithm="scaffold", rounds=3)
    run, _ = go(federation(), tmp_path / "cut", algorithm="scaffold", rounds=3)
    with Store(tmp_path / "cut") as store:
        store.mark(run, "running", {})
        store.path(run, 3).unlink()
    again = federation(nodes=reversed(range(CLIENTS)), first=500)
    resumed, summary = go(again, tmp_path / "cut", resume=True)
    assert (resumed, summary["rounds"]) == (run, 3)
    torch.testing.assert_close(model_of(tmp_path / "cut", run)[0], model_of(tmp_path / "whole", whole)[0])
    sent = [from_bytes(data) for _, kind, way, data in again.said if kind == "train" and way == "to"]
    assert all("memory" in records for records in sent)  # nodes that are new are told what they remember


def test_a_run_that_goes_on_waits_for_its_own_devices(monkeypatch):
    monkeypatch.setattr(crews, "LOOK", 0.01)
    grid = federation(nodes=range(3))
    everybody, looks = grid.get_node_ids(), itertools.count()
    monkeypatch.setattr(grid, "get_node_ids", lambda: everybody if next(looks) > 3 else everybody[:2])
    crew = crews.Crew(Post(grid, 60.0))
    crew.wait(2, 30, ["2"])
    assert "2" in crew.hellos
    crew.wait(2, 0.1, ["nobody"])  # until the time is over
    assert sorted(crew.hellos) == ["0", "1", "2"]


def test_who_comes_late_and_is_unknown_is_noted(tmp_path):
    grid = federation(nodes=range(4))
    late = federation(nodes=[5]).contexts[105]
    answer = grid.answer

    def joining(name, node, kind, data):
        if kind == "train":
            grid.contexts.setdefault(105, late)
        return answer(name, node, kind, data)

    grid.answer = joining
    run, summary = go(grid, tmp_path, algorithm="fedavg", rounds=4)
    assert any("5 has come while the run was under way" in text for _, text in events_of(tmp_path, run))
    assert summary["trainings"] == 16


# --- settings


@pytest.mark.parametrize("name", ["clients", "data", "partition", "executor", "attack", "dropout", "mode"])
def test_settings_of_simulations_are_refused(name):
    with pytest.raises(BadValue, match=f"{name} is 1; allowed is a setting of simulations"):
        read_settings({name: 1})


def test_settings_come_from_a_file_from_words_and_from_the_configuration(tmp_path):
    file = tmp_path / "wanted.toml"
    file.write_text('algorithm = "fedgsp"\nrounds = 7\nclients = 50\nbeta = 4\n')
    deployment, experiment = read_settings({"experiment": str(file), "set": "kappa=0.5 lr=0.2", "rounds": 3})
    assert (experiment.algorithm, experiment.rounds, experiment.lr) == ("fedgsp", 3, 0.2)
    assert (experiment.options["beta"], experiment.options["kappa"], deployment.nodes) == (4, 0.5, 2)


def test_what_cannot_be_is_one_sentence(tmp_path):
    with pytest.raises(BadValue, match="deadline"):
        read_settings({"deadline": -1})
    with pytest.raises(BadValue, match="algorithm is 'Astraea'"):
        go(federation(), tmp_path, algorithm="astraea")
    with pytest.raises(RunFailed, match="no device has come"):
        go(federation(nodes=[]), tmp_path, algorithm="fedavg", nodes=1, wait=0.1)
    mixed = federation()
    mixed.tamper[101] = lambda kind, records: _other_shape(records)
    with pytest.raises(BadData, match="1 has samples of shape"):
        go(mixed, tmp_path, algorithm="fedavg")


def _other_shape(records):
    if "hello" in records:
        records["hello"]["shape"] = [3]
    return records


def test_a_word_that_names_code_is_refused_by_the_device():
    device = Device(own_samples(FLEET.data), None, 10, 0.2)
    own = device.own(federation().contexts[100])
    names = {"local": "sgd", "model": "mlp", "augment": "none"}
    for named in names:
        words = names | {named: "os:abort"}
        terms = Terms(batch=10, momentum=0.0, weight_decay=0.0, optimiser="sgd", seed=0, **words)
        with pytest.raises(BadValue, match=r"of the server is 'os:abort'"):
            device.task(own, Job(0, torch.zeros(650)), terms)
