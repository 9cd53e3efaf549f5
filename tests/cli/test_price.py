import json
import sys

import pytest

from covey.cli import main
from covey.experiment import Experiment
from covey.experiment.assembly import make_fleet

SMALL = ["--clients", "12", "--edges", "3", "--model", "softmax-regression", "--rounds", "2"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def covey(monkeypatch, *words):
    """Run the command as a person does; gives the exit code."""
    monkeypatch.setattr(sys, "argv", ["covey", *words])
    with pytest.raises(SystemExit) as stop:
        main.main()
    return stop.value.code


def figures(monkeypatch, capsys, *words):
    assert covey(monkeypatch, *words, "--json") == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_price_of_an_algorithm(monkeypatch, capsys):
    words = ["--network", "fat-tree:4", "--link", "1MB/s,0s", "--device", "1MFLOPS", "--epochs", "2"]
    found = figures(monkeypatch, capsys, "price", "fedavg", *SMALL, *words)
    assert found["bytes_per_round"] == 2 * 12 * 4 * 650  # both ways, 12 clients, 650 parameters
    fleet = make_fleet(Experiment.make({"clients": 12, "edges": 3}))
    flops = 2 * 2 * 64 * 10  # a multiply-add for every weight, forward and for its gradient
    assert found["compute_seconds"] == pytest.approx(2 * fleet.sizes.max() * flops / 1e6)
    parts = found["compute_seconds"] + found["communication_seconds"]
    assert found["seconds_per_round"] == pytest.approx(parts)
    assert found["busiest_link"]["bytes_per_round"] <= found["bytes_per_round"]
    assert found["rounds"] == len(found["seconds_of_rounds"]) == 2


@pytest.mark.parametrize("algorithm", ["fedavg-ic", "ihc-fl", "cfl", "ifca", "group-fel", "fedgsp", "tornado"])
def test_algorithms_that_learn_are_priced_too(algorithm, monkeypatch, capsys):
    found = figures(monkeypatch, capsys, "price", algorithm, *SMALL, "--network", "tree:3")
    assert found["seconds_per_round"] > 0


def test_a_table_for_a_person(monkeypatch, capsys):
    assert covey(monkeypatch, "price", "star-stars", *SMALL, "--set", "tau2=2") == 0
    shown = capsys.readouterr().out
    assert "seconds a round" in shown
    assert "edge to cloud" in shown
    assert "star, 10MB/s,1ms, phone-5gflops" in shown


def test_a_sweep_shows_how_cost_moves(monkeypatch, capsys):
    words = ["price", "star-stars", *SMALL, "--network", "tree:3", "--sweep", "groups=1,2,3"]
    found = figures(monkeypatch, capsys, *words)
    assert [row["groups"] for row in found["rows"]] == [1, 2, 3]
    traffic = [row["bytes_per_round"] for row in found["rows"]]
    assert traffic == [2 * (12 + groups) * 4 * 650 for groups in (1, 2, 3)]
    assert covey(monkeypatch, *words) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 3


def test_a_sweep_over_links(monkeypatch, capsys):
    words = ["price", "fedavg", *SMALL, "--network", "star", "--sweep", "link=1MB/s,1ms;10MB/s,1ms"]
    slow, fast = figures(monkeypatch, capsys, *words)["rows"]
    assert slow["communication_seconds"] > fast["communication_seconds"]


def test_an_experiment_file_and_a_stored_run_cost_the_same(tmp_path, monkeypatch, capsys):
    file = tmp_path / "x.toml"
    file.write_text('algorithm = "ring"\nclients = 5\nmodel = "softmax-regression"\nrounds = 2\nnetwork = "ring"\n')
    of_file = figures(monkeypatch, capsys, "price", str(file))
    run = figures(monkeypatch, capsys, "run", str(file))
    of_run = figures(monkeypatch, capsys, "price", run["run"])
    assert of_run == of_file
    assert run["simulated_seconds"] == pytest.approx(sum(of_file["seconds_of_rounds"]))


@pytest.mark.parametrize("network", ["tree:3", "fat-tree:4", "jellyfish:6,3", "star", "ring"])
def test_the_picture(network, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "there" / "p.png"
    words = ["price", "star-rings", *SMALL, "--network", network, "--plot", str(picture)]
    assert figures(monkeypatch, capsys, *words)["plot"] == str(picture)
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_a_run_stops_at_its_time(monkeypatch, capsys):
    words = ["run", "fedavg", *SMALL, "--rounds", "50", "--network", "star", "--link", "1MB/s,1s"]
    found = figures(monkeypatch, capsys, *words, "--stop-at-seconds", "5")
    assert found["rounds"] == 3  # a round takes two latencies of a second and a little more
    assert found["simulated_seconds"] > 5
    assert found["joules"] > 0


def test_a_comparison_over_simulated_seconds(monkeypatch, capsys):
    assert covey(monkeypatch, "compare", "fedavg", "ring", *SMALL, "--network", "star", "--budget", "seconds") == 0
    assert "simulated seconds each" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--network", "fat-tree:2"], "one with a host for each of 12 clients (it has 2 hosts)"),
        (["--network", "star", "--link", "0MB/s"], "link is '0MB/s'; allowed is a rate above 0"),
        (["--network", "star", "--link", "10parsecs"], "link is '10parsecs'"),
        (["--network", "star", "--device", "5GFLOP"], "device is '5GFLOP'"),
        (["--network", "moebius"], "network is 'moebius'"),
        (["--network", "apart.csv"], "apart.csv is disconnected"),
        (["--network", "star", "--group-operation", "dance"], "group operation of phone-5gflops is 'dance'"),
        (["--sweep", "groups"], "sweep is 'groups'; allowed is key=value,value"),
        (["--sweep", "rounds=1,2", "--plot", "p.png"], "plot is 'p.png'; allowed is given without --sweep"),
    ],
)
def test_bad_input_is_one_sentence(words, message, tmp_path, monkeypatch, capsys):
    pairs = [(f"a{i}", f"a{i + 1}") for i in range(20)] + [("b", "c")]
    rows = [f"{a},{b},10MB/s,1ms" for a, b in pairs]
    (tmp_path / "apart.csv").write_text("\n".join(["source,target,capacity,latency", *rows]))
    assert covey(monkeypatch, "price", "fedavg", *SMALL, *words) == 2
    assert message in capsys.readouterr().err


def test_settings_of_a_network_without_one(monkeypatch, capsys):
    assert covey(monkeypatch, "run", "fedavg", *SMALL, "--stop-at-seconds", "5") == 2
    assert "stop_at_seconds is 5.0; allowed is a setting of runs with a network" in capsys.readouterr().err


def test_options_come_before_what_a_stored_run_was_made_with(monkeypatch, capsys):
    small = ["--clients", "4", "--samples", "20", "--model", "softmax-regression", "--mode", "one-by-one"]
    run = figures(monkeypatch, capsys, "run", "fedavg", *small, "--rounds", "1")["run"]
    stored = figures(monkeypatch, capsys, "price", run, "--link", "1MB/s,0s")
    assert (stored["clients"], stored["rounds"]) == (4, 1)
    other = figures(monkeypatch, capsys, "price", run, "--link", "1MB/s,0s", "--set", "clients=8", "--rounds", "2")
    assert (other["clients"], other["rounds"]) == (8, 2)
    assert other["bytes_per_round"] == 2 * stored["bytes_per_round"]


def test_the_title_of_a_sweep_leaves_out_what_is_swept(monkeypatch, capsys):
    assert (
        covey(monkeypatch, "price", "fedavg", *SMALL, "--network", "star", "--sweep", "link=10MB/s,1ms;1MB/s,1ms") == 0
    )
    title = capsys.readouterr().out.splitlines()[0]
    assert title.split() == ["fedavg,", "softmax-regression,", "12", "clients,", "star,", "phone-5gflops"]


def test_a_picture_with_a_name_that_is_none_is_refused_before_the_work(monkeypatch, capsys, tmp_path):
    assert covey(monkeypatch, "price", "fedavg", *SMALL, "--plot", "x") == 2
    assert "plot is 'x'; allowed is the name of a file that ends in .png" in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()
