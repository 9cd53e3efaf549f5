import pytest
from tests.cli.conftest import SMALL

from covey.cli.compare import ARCHITECTURES
from covey.store import Store


@pytest.fixture
def compare(covey):
    return lambda *words: covey("compare", *words, *SMALL)


def test_a_table_and_a_picture(compare, tmp_path):
    said = compare("fedavg", "ring", "stars", "--set", "groups=2")
    title, head, *rows, last = said.out.splitlines()
    assert title.strip() == "digits, 4 clients, dirichlet:0.3, softmax-regression, 3 rounds"
    assert head.split()[:2] == ["algorithm", "accuracy"]
    assert [row.split()[0] for row in rows] == ["fedavg", "ring", "stars"]
    assert last == "picture: runs/compare-fedavg-digits-1.png"
    assert (tmp_path / "runs" / "compare-fedavg-digits-1.png").read_bytes().startswith(b"\x89PNG")
    assert "\x1b" not in said.out
    assert said.err == ""


def test_all_eight_architectures_and_fedavg_on_one_fleet(compare, tmp_path):
    found = compare("--rounds", "1", "--json").json
    assert [summary["algorithm"] for summary in found["runs"]] == ["fedavg", *ARCHITECTURES]
    assert len(ARCHITECTURES) == 8
    assert (tmp_path / found["picture"]).exists()
    models = {summary["algorithm"]: summary["models"] for summary in found["runs"]}
    assert {name for name, count in models.items() if count > 1} == {"stars", "rings"}
    by_name = {summary["algorithm"]: summary for summary in found["runs"]}
    assert by_name["ring"]["traffic_bytes"] < by_name["star"]["traffic_bytes"]


def test_a_setting_goes_to_those_who_have_it(compare, tmp_path):
    runs = compare("fedavg", "stars", "--set", "groups=4", "--set", "sample=0.5", "--json").json["runs"]
    with Store(tmp_path / "runs") as store:
        options = {summary["algorithm"]: store.get(summary["run"]).config["options"] for summary in runs}
    assert options["fedavg"] == {"sample": 0.5}
    assert (options["stars"]["groups"], options["stars"]["sample"]) == (4, 0.5)
