import pytest
from tests.cli.conftest import SMALL

from covey.cli.compare import SYSTEMS
from covey.store import Store


@pytest.fixture
def compare(covey):
    return lambda *words: covey("compare", *words, *SMALL)


def test_a_table_and_a_picture(compare, tmp_path):
    said = compare("fedavg", "ring", "--set", "ring.epochs=2")
    title, head, *rows = said.out.splitlines()
    assert title.startswith(
        "digits, 4 clients, dirichlet:0.1, softmax-regression: 62.4 kB of traffic each, 3 to 7 rounds"
    )
    assert head.split()[:2] == ["run", "accuracy"]
    assert [row.split()[0] for row in rows[:2]] == ["fedavg", "ring"]
    assert rows[-3] == "picture: runs/comparison.png"
    assert rows[-1] == "runs/report.html"
    assert (tmp_path / "runs" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert "\x1b" not in said.out
    with Store(tmp_path / "runs") as store:
        assert {r.config["algorithm"]: r.config["epochs"] for r in store.runs()} == {"fedavg": 1, "ring": 2}


def test_the_five_systems_beside_fedavg_and_hierfavg(compare):
    found = compare("--budget", "rounds", "--json").json
    assert [row["name"] for row in found["rows"]] == SYSTEMS
    assert len(SYSTEMS) == 7
    for row in found["rows"]:
        assert row["rounds"] == 3
        assert 0 <= row["accuracy"] <= 1
        assert 0 <= row["own_accuracy"] <= 1
        assert row["traffic_bytes"] > 0
        assert row["simulated_seconds"] > 0
        assert row["settings"]["algorithm"] == row["name"]


def test_seeds_and_algorithms_as_options(compare):
    found = compare("--algorithms", "fedavg,star-rings", "--seeds", "2", "--set", "groups=2", "--json").json
    fedavg, rings = found["rows"]
    assert (fedavg["seeds"], rings["settings"]["groups"]) == ([0, 1], 2)
    assert fedavg["accuracy"] == pytest.approx(sum(fedavg["values"]["accuracy"]) / 2)
    assert fedavg["accuracy_spread"] >= 0


def test_a_file_and_again(covey, tmp_path):
    (tmp_path / "two.toml").write_text(
        'clients = 4\nsamples = 20\nrounds = 2\nmode = "one-by-one"\nedges = 1\n'
        '[comparison]\ntitle = "two"\nexpect = ["ring > fedavg"]\n'
        '[[runs]]\nalgorithm = "fedavg"\n[[runs]]\nalgorithm = "ring"\n'
    )
    first = covey("compare", "two.toml", "--json").json
    again = covey("compare", "two.toml", "--json").json
    assert first["rows"] == again["rows"]
    assert [order["claim"] for order in first["orders"]] == ["ring > fedavg"]
    assert covey("run", "two.toml", "--only", "ring", "--json").json["algorithm"] == "ring"
    (tmp_path / "own.toml").write_text((tmp_path / "two.toml").read_text() + "rounds = 1\n")
    longer = covey("run", "own.toml", "--only", "ring", "--rounds", "3", "--json").json
    assert longer["rounds"] == 3  # an option is stronger than what the file says of that run
    assert covey("run", "two.toml").complaint.startswith("experiment two.toml holds several runs")


@pytest.mark.parametrize("columns", [60, 80])
def test_tables_fit_the_terminal(compare, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = compare("fedavg", "ring", "--seeds", "2")
    assert max(len(line) for line in said.out.splitlines()) <= columns


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fedavgg"], "algorithm is 'fedavgg'"),
        (["fedavg", "--set", "clients=many"], "clients is 'many'"),
        (["fedavg", "--set", "ring.epochs=2"], "run is 'ring'"),
        (["fedavg", "--set", "nope=2"], "setting is 'nope'"),
        (["fedavg", "--budget", "money"], "budget is 'money'"),
        (["fedavg", "--seeds", "x"], "seeds is 'x'"),
        (["fedavg", "--plot", "x"], "plot is 'x'"),
        (["no.toml"], "experiment no.toml cannot be read"),
    ],
)
def test_what_cannot_be_compared(compare, words, sentence):
    assert compare(*words).complaint.startswith(sentence)


def test_groupings_in_a_file_at_a_scale(covey, tmp_path):
    (tmp_path / "groups.toml").write_text(
        "clients = 40\nedges = 1\nmin_size = 4\n"
        '[comparison]\nwork = "groupings"\ncolumns = ["cov"]\nby = "cov"\nexpect = ["any > even"]\n'
        '[picture]\nx = "run"\ny = "cov"\n'
        '[[runs]]\nname = "even"\ngrouping = "cov"\n[[runs]]\nname = "any"\ngrouping = "random"\n'
        "[scale.quick]\nclients = 12\n"
    )
    said = covey("compare", "groups.toml", "--scale", "quick")
    assert [line.split()[0] for line in said.out.splitlines()[1:3]] == ["even", "any"]
    assert "any > even: yes" in said.out
    assert (tmp_path / "runs" / "comparison.png").is_file()
    assert covey("compare", "fedavg", "--scale", "quick").complaint.startswith("scale is 'quick'")
    assert covey("run", "groups.toml", "--scale", "quick").complaint.startswith("scale is 'quick'")


def test_a_setting_of_one_run_may_be_of_code_by_its_path(covey, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from covey import FedAvg\n"
        "from covey.algorithms.base import settings\n"
        "@settings\n"
        "class Half(FedAvg):\n"
        "    'FedAvg by another name.'\n"
    )
    words = ("fedavg", "./mine.py:Half", "--set", "./mine.py:Half.sample=0.5", *SMALL, "--json")
    rows = covey("compare", *words).json["rows"]
    assert [row["settings"].get("sample") for row in rows] == [None, 0.5]
    assert "did you mean 'fedavg'" in covey("compare", "fedavg", "--set", "fedavgg.sample=0.5").complaint
