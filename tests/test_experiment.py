import json
from functools import partial

import pytest
from tests.fakes import full_disk, small_fleet
from tests.narrow import a

from covey.algorithms import Architecture, FedAvg
from covey.errors import BadData, BadPlan, BadValue, CoveyError, RunFailed, UnknownName
from covey.execute.backend import Local
from covey.experiment import Experiment, life
from covey.experiment.assembly import algorithm_of, make_fleet
from covey.experiment.settings import GIVEN
from covey.fleet import Fleet
from covey.store import Store

SMALL = {
    "data": "digits",
    "clients": 4,
    "samples": 20,
    "rounds": 3,
    "model": "softmax-regression",
    "mode": "one-by-one",
}


def small(**settings):
    return Experiment.make({**SMALL, **settings})


def start(tmp_path, callbacks=(), parts=None, **settings):
    return life.start(small(**settings), tmp_path, callbacks, **(parts or {}))


# --- settings


def test_settings_of_the_run_and_of_the_algorithm():
    made = Experiment.make({"algorithm": "star-rings", "rounds": "7", "groups": 3, "options": {"chains": 2}})
    assert made.rounds == 7
    assert made.options == {"shape": "star-rings", "groups": 3, "chains": 2}  # and what the name stands for
    algorithm = a(Architecture, algorithm_of(made))
    assert (algorithm.groups, algorithm.chains) == (3, 2)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"algorithm": "fedavgg"}, "algorithm is 'fedavgg'; allowed is one of "),
        ({"roundz": 3}, "setting is 'roundz'; allowed is one of "),
        ({"rounds": 10**30}, "rounds is 1000000000000000000000000000000; allowed is a number less than or equal to"),
        ({"rounds": 0}, "rounds is 0; allowed is a number greater than or equal to 1"),
        ({"rounds": 2.5}, "rounds is 2.5; allowed is a valid integer"),
        ({"rounds": "many"}, "rounds is 'many'; allowed is a valid integer"),
        ({"lr": 0}, "lr is 0; allowed is a number greater than 0"),
        ({"lr": float("inf")}, "lr is inf; allowed is a finite number"),
        ({"lr": float("nan")}, "lr is nan; allowed is a finite number"),
        ({"momentum": 1}, "momentum is 1; allowed is a number less than 1"),
        ({"dropout": -0.1}, "dropout is -0.1; allowed is a number greater than or equal to 0"),
        ({"quorum": 1.1}, "quorum is 1.1; allowed is a number less than or equal to 1"),
        ({"test_fraction": 1}, "test_fraction is 1; allowed is a number less than 1"),
        ({"target_accuracy": 0}, "target_accuracy is 0; allowed is a number greater than 0"),
        ({"target_own_accuracy": 2}, "target_own_accuracy is 2; allowed is a number less than or equal to 1"),
        ({"optimiser": "sgdd"}, "optimiser is 'sgdd'; allowed is 'sgd' or 'adam'"),
        ({"mode": "fast"}, "mode is 'fast'; allowed is 'auto', 'one-by-one', 'stacked' or 'compiled'"),
        ({"sample": 1.5}, "sample is 1.5; allowed is a share above 0 and up to 1, or a whole number of clients"),
        ({"data": 3}, "data is 3; allowed is a valid string"),
        ({"options": 3}, "options is 3; allowed is a table of the algorithm's own settings"),
        ({"options": {"nope": 1}}, "setting is 'nope'; allowed is one of "),
    ],
)
def test_settings_that_are_refused(settings, sentence):
    with pytest.raises(BadValue) as caught:
        Experiment.make(settings)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_the_nearest_name_is_named():
    with pytest.raises(UnknownName, match="did you mean 'fedavg'"):
        Experiment.make({"algorithm": "fedavgg"})
    with pytest.raises(UnknownName, match="did you mean 'rounds'"):
        Experiment.make({"roundz": 3})
    with pytest.raises(UnknownName, match="did you mean 'sample'"):
        Experiment.make({"sampel": 0.5})


def test_from_a_file_with_settings_on_top(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('algorithm = "star-rings"\nrounds = 4\ngroups = 3\n[options]\nchains = 2\n')
    made = Experiment.read(path, {"rounds": 9, "chains": 1})
    assert (made.rounds, made.options) == (9, {"shape": "star-rings", "groups": 3, "chains": 1})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"rounds = ", "is not TOML"),
        (b"rounds = 3\nrounds = 4", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
    ],
)
def test_files_that_are_refused(tmp_path, content, sentence):
    path = tmp_path / "mine.toml"
    with pytest.raises(BadData, match=r"mine.toml cannot be read \(No such file or directory\)"):
        Experiment.read(path)
    path.write_bytes(content)
    with pytest.raises(BadData, match=sentence):
        Experiment.read(path)
    with pytest.raises(BadData, match=r"cannot be read \(Is a directory\)"):
        Experiment.read(tmp_path)


def test_what_is_stored_makes_the_same_experiment():
    made = small(algorithm="star-rings", groups=3, target_accuracy=0.5)
    assert Experiment(**json.loads(json.dumps(made.model_dump()))) == made


def test_edges_are_five_where_there_are_so_many_clients():
    assert len(make_fleet(small(clients=3)).by_edge) == 3
    assert len(make_fleet(small(clients=9)).by_edge) == 5
    assert len(make_fleet(small(clients=9, edges=2)).by_edge) == 2


# --- parts that do not fit


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"data": "digit"}, "did you mean 'digits'"),
        ({"partition": "dirichlett:1"}, "did you mean 'dirichlet'"),
        ({"model": "lenett"}, "did you mean 'lenet'"),
        ({"model": "lenet"}, r"model is 'lenet'; allowed is .*does not fit data of shape \(1, 8, 8\)"),
        (
            {"model": "nowhere.at:All"},
            "model is 'nowhere.at:All'; allowed is code that can be loaded",
        ),
        ({"local": "sgdd"}, "local rule is 'sgdd'"),
        ({"local": "sgd:3"}, "local is 'sgd:3'; allowed is sgd"),
        ({"local": "fedprox:much"}, "mu of fedprox is 'much'; allowed is a number"),
        ({"merge": "meann"}, "merge is 'meann'"),
        ({"server": "adamm"}, "server step is 'adamm'"),
        ({"server": "replace:3"}, "server is 'replace:3'"),
        ({"clients": 5000}, "clients is 5000; allowed is at most 1433"),
        ({"edges": 9}, "edges is 9; allowed is at most 4"),
        ({"prices": "gold"}, "prices.* is 'gold'"),
    ],
)
def test_parts_that_do_not_fit_leave_no_run(tmp_path, settings, sentence):
    with pytest.raises(CoveyError, match=sentence):
        start(tmp_path, **settings)
    with Store(tmp_path) as store:
        assert store.runs() == []


def test_batches_that_leave_a_single_sample_to_a_model_that_cannot_train_on_one(tmp_path):
    # 16 of 20 samples are for training; the last of five batches of 3 has one, whose map is 1 x 1 in the end
    with pytest.raises(BadValue, match=r"batch is 3; allowed is .* last batch of one sample, on which 'celeba-cnn'"):
        start(tmp_path, model="celeba-cnn", batch=3)
    assert start(tmp_path, model="celeba-cnn", batch=4, rounds=1)


def test_a_fleet_without_data_is_refused(tmp_path):
    with pytest.raises(BadValue, match="fleet is 'one without data'"):
        start(tmp_path, parts={"fleet": Fleet([[1], [1]])})


# --- runs


def test_a_run_and_its_summary(tmp_path):
    name, summary = start(tmp_path)
    assert name == summary["run"] == "fedavg-digits-1"
    assert {"algorithm", "rounds", "accuracy", "loss", "traffic_bytes", "wall_seconds", "model_sha256"} <= set(summary)
    with Store(tmp_path) as store:
        record = store.get(name)
        assert (record.status, record.summary) == ("finished", summary)
        assert [row["round"] for row in store.rounds(name)] == [1, 2, 3]


def test_the_same_settings_give_the_same_model_and_another_seed_another(tmp_path):
    first, again = (start(tmp_path)[1]["model_sha256"] for _ in range(2))
    assert first == again
    assert start(tmp_path, seed=1)[1]["model_sha256"] != first


def test_a_finished_run_is_not_run_again(tmp_path):
    name, summary = start(tmp_path)
    assert life.resume(name, tmp_path) == (name, summary)


def test_dropped_clients_are_written_down(tmp_path):
    name, _ = start(tmp_path, dropout=0.5, rounds=6)
    with Store(tmp_path) as store:
        events = [event for event in store.events(name) if event["kind"] != "versions"]
    assert {event["kind"] for event in events} <= {"lost", "retry"}
    assert all("of 4 trainings: the client dropped out" in e["text"] for e in events if e["kind"] == "lost")
    assert len(events) >= 1


def test_dropouts_depend_on_the_seed_only(tmp_path):
    first, again = (start(tmp_path, dropout=0.5)[1]["model_sha256"] for _ in range(2))
    assert first == again != start(tmp_path)[1]["model_sha256"]


def test_a_run_that_fails_can_go_on(tmp_path):
    with pytest.raises(RunFailed, match="fewer than the quorum of 100% answered"):
        start(tmp_path, dropout=0.5, quorum=1.0)
    with Store(tmp_path) as store:
        (record,) = store.runs()
        assert record.status == "failed"
        assert store.unfinished().run == record.run


@pytest.mark.parametrize("fitting", [0, 2])
def test_a_full_disk_stops_a_run_that_then_goes_on_to_the_same_end(tmp_path, fitting):
    whole = start(tmp_path / "whole", rounds=4)[1]
    with (
        full_disk(after=fitting),
        pytest.raises(RunFailed, match=r"No space left on device\); make room"),
    ):
        start(tmp_path / "full", rounds=4)
    with Store(tmp_path / "full") as store:
        assert [record.status for record in store.runs()] == ["failed"]
    name, summary = life.resume(None, tmp_path / "full")
    assert summary["model_sha256"] == whole["model_sha256"]
    assert summary["traffic_bytes"] == whole["traffic_bytes"]
    with Store(tmp_path / "full") as store:
        assert store.get(name).status == "finished"
        assert [row["round"] for row in store.rounds(name)] == [1, 2, 3, 4]
        assert [(e["kind"], e["round"]) for e in store.events(name)] == [("versions", 0), ("resumed", fitting)]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"lr": "fast"}, "lr is 'fast'; allowed is"),
        ({"rounds": None}, "rounds is None; allowed is"),
        ({"options": [1]}, "options is"),
        ({"unheard": 1}, "unheard"),
        ({"algorithm": "nope"}, "algorithm is 'nope'; allowed is one of"),
    ],
)
def test_settings_that_were_edited_in_the_store_are_one_sentence(tmp_path, edit, sentence):
    kept = Experiment.make({"algorithm": "fedavg", "clients": 4, "samples": 20, "rounds": 2}).model_dump()
    with Store(tmp_path) as store:
        store.create("fedavg-digits", kept | edit)
    with pytest.raises(CoveyError, match=sentence):
        life.resume(None, tmp_path)


def test_a_setting_that_the_store_has_lost_is_not_replaced_by_the_usual_one(tmp_path):
    kept = Experiment.make({"algorithm": "fedavg", "clients": 4, "samples": 20, "rounds": 2}).model_dump()
    del kept["rounds"]
    with Store(tmp_path) as store:
        store.create("fedavg-digits", kept)
    with pytest.raises(BadData, match="the settings that the store kept lack rounds"):
        life.resume(None, tmp_path)


def test_a_fleet_that_was_given_must_be_given_again(tmp_path):
    fleet = small_fleet([6, 9])
    with full_disk(after=1), pytest.raises(RunFailed):
        start(tmp_path, parts={"fleet": fleet}, partition=GIVEN)
    with pytest.raises(BadValue, match="fleet is 'one of your own'; allowed is given again"):
        life.resume(None, tmp_path)
    assert life.resume(None, tmp_path, fleet=fleet)[1]["rounds"] == 3


def test_an_executor_is_closed_also_where_a_run_cannot_begin(tmp_path, monkeypatch):
    closed = []

    class Noting(Local):
        def executor(self, work):
            made = super().executor(work)
            monkeypatch.setattr(made, "close", lambda: closed.append(made))
            return made

    class Unplanned(FedAvg):
        def plan(self, round, fleet, state, rng):
            raise BadPlan("there is none")

    for begin in (life.try_out, partial(life.start, out=tmp_path)):
        with pytest.raises(BadPlan):
            begin(Experiment.make({"clients": 4}), algorithm=Unplanned(), backend=Noting())
    assert len(closed) == 2
    assert not Store(tmp_path).runs()
