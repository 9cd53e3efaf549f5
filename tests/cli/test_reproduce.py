import json

import pytest

from covey.reproduce import catalogue

FILE = """
clients = 4
samples = 20
rounds = 3
mode = "one-by-one"
edges = 1

[paper]
system = "Tiny"
item = "Table 1"
kind = "table"
shows = "That all is well."
instead = ["digits for everything"]
notes = ["nothing is known of it"]
minutes = { quick = 0.1, paper = 0.2 }

[comparison]
title = "two"
seeds = [0, 1]
columns = ["accuracy"]
expect = ["ring > fedavg"]

[figures]
fedavg = { accuracy = 0.5 }

[[runs]]
algorithm = "fedavg"

[[runs]]
algorithm = "ring"

[scale.quick]
rounds = 2

[scale.quick.comparison]
seeds = [0]
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tiny-table-1.toml").write_text(FILE)
    (folder / "tiny-figure-1.toml").write_text(
        '[paper]\nsystem = "Tiny"\nitem = "Figure 1"\nkind = "figure"\n'
        'shows = "A drawing."\ncannot = "it has no figures"\n'
    )
    monkeypatch.setattr(catalogue, "FOLDER", folder)
    catalogue.items.cache_clear()
    yield
    catalogue.items.cache_clear()


def test_the_list(covey):
    rows = covey("reproduce", "--list", "--json").json
    assert len(rows) > 20
    for row in rows:
        assert {"name", "paper", "kind", "state", "minutes", "memory"} <= row.keys()
        assert row["kind"] in ("table", "figure")
        assert set(row["minutes"]) == {"quick", "paper"}
    assert "fedgsp-table-1" in covey("reproduce", "--list").out


def test_a_table(covey, tiny, tmp_path):
    said = covey("reproduce", "tiny-table-1")
    assert "accuracy, paper" in said.out
    assert "ring > fedavg: " in said.out
    assert "other than in the paper: digits for everything" in said.out
    folder = tmp_path / "runs" / "reproduce" / "tiny-table-1" / "quick"
    names = {path.name for path in folder.iterdir()}
    assert names == {"result.json", "table.md", "table.tex", "table.csv", "picture.png"}


def test_programs_get_rows_and_orders(covey, tiny):
    said = covey("reproduce", "tiny-table-1", "--scale", "paper", "--seeds", "1", "--json")
    found = json.loads(said.out.splitlines()[-1])
    assert [row["name"] for row in found["rows"]] == ["fedavg", "ring"]
    assert (found["rows"][0]["paper"], found["rows"][1]["paper"]) == (0.5, None)
    assert 0 <= found["rows"][0]["ours"] <= 1
    assert found["orders"][0].keys() == {"claim", "holds"}


def test_all_and_pages(covey, tiny, tmp_path):
    said = covey("reproduce", "all", "--pages", "pages")
    assert "tiny-figure-1: not expressible (it has no figures)" in said.out
    assert "1 tables and figures in 0." in said.out
    page = (tmp_path / "pages" / "tiny.md").read_text()
    assert "covey reproduce tiny-table-1 --scale quick" in page
    assert "- Not expressible: it has no figures." in page
    assert "- nothing is known of it." in page
    assert (tmp_path / "pages" / "pictures" / "tiny-table-1-quick.png").is_file()
    assert "| [Tiny](tiny.md) | 1 | none | 1, in which" in (tmp_path / "pages" / "index.md").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["reproduce"], "name is None; allowed is names of tables and figures, or all"),
        (["reproduce", "tiny-table-9"], "table or figure is 'tiny-table-9'"),
        (["reproduce", "tiny-figure-1"], "this one is not expressible (it has no figures)"),
        (["reproduce", "tiny-table-1", "--scale", "huge"], "scale is 'huge'; allowed is one of paper, quick"),
        (["reproduce", "all", "--scale", "huge"], "scale is 'huge'; allowed is one of paper, quick"),
        (["reproduce", "all", "--only", "ring"], "only is 'ring'; allowed is of use with the name of one table or fig"),
        (
            ["reproduce", "tiny-table-1", "--only", "rign"],
            "run is 'rign'; allowed is one of ring (did you mean 'ring'?), fedavg",
        ),
    ],
)
def test_what_cannot_be(covey, tiny, words, sentence):
    assert sentence in covey(*words).complaint


def test_seeds_are_added_to_a_page(covey, tiny, tmp_path):
    """Run at two times, into two stores: the page has the mean of both, and the command that gives it at once."""
    for seed in (0, 1):
        covey(
            "reproduce",
            "tiny-table-1",
            "--scale",
            "paper",
            "--seeds",
            f"{seed}-{seed}",
            "--pages",
            "pages",
            "--out",
            f"s{seed}",
        )
    page = (tmp_path / "pages" / "tiny.md").read_text()
    assert "Scale paper, seeds 0, 1.\n" in page
    assert "covey reproduce tiny-table-1 --scale paper\n" in page
    both = covey("reproduce", "tiny-table-1", "--scale", "paper", "--out", "both", "--json").json
    kept = json.loads((tmp_path / "pages" / "data" / "tiny-table-1.paper.json").read_text())
    assert [line["ours"] for line in kept["lines"]] == pytest.approx([row["ours"] for row in both["rows"]])
    assert [line["spread"] for line in kept["lines"]] == pytest.approx([row["spread"] for row in both["rows"]])
    assert kept["orders"] == both["orders"]


def test_a_scale_between(covey, tiny, tmp_path):
    """Only what has it is run; it is listed, and counts before the quick one on the page."""
    text = FILE.replace('item = "Table 1"', 'item = "Table 2"') + "\n[scale.evening]\nrounds = 1\n"
    (tmp_path / "papers" / "tiny-table-2.toml").write_text(text)
    for scale in ("quick", "evening"):
        said = covey("reproduce", "all", "--scale", scale, "--seeds", "1", "--pages", "pages")
    assert "Table 2" in said.out
    assert "Table 1" not in said.out
    page = (tmp_path / "pages" / "tiny.md").read_text()
    assert "- **Table 2**, scale evening, 1 of 1 claims: That all is well." in page
    assert page.index("--scale evening") < page.index("tiny-table-2 --scale quick")
    assert "(pictures/tiny-table-2-evening.png)" in page
    assert not (tmp_path / "pages" / "pictures" / "tiny-table-2-quick.png").exists()
    rows = {row["name"]: row for row in covey("reproduce", "--list", "--json").json}
    assert rows["tiny-table-2"]["further"] == {"evening": {"minutes": None, "memory": None}}
    assert rows["tiny-table-2"]["done"] == ["evening", "quick"]
    assert "Also: --scale evening." in " ".join(covey("reproduce", "--list").out.split())


def test_one_run_alone(covey, tiny, tmp_path):
    """A baseline that was changed is run alone; the page has the others' figures of before."""
    words = ("reproduce", "tiny-table-1", "--scale", "paper", "--pages", "pages", "--seeds", "1")
    covey(*words)
    picture = tmp_path / "pages" / "pictures" / "tiny-table-1.png"
    drawn = picture.read_bytes()
    covey(*words, "--only", "fedavg", "--out", "again")
    assert picture.read_bytes() == drawn  # one of the two would not be the figure
    path = tmp_path / "papers" / "tiny-table-1.toml"
    path.write_text(path.read_text().replace('algorithm = "fedavg"', 'algorithm = "fedavg"\nsample = 0.5'))
    kept = tmp_path / "pages" / "data" / "tiny-table-1.paper.json"
    before = json.loads(kept.read_text())["lines"]
    covey("reproduce", "--pages", "pages", "--out", "nothing")
    assert "Scale paper, seed 0. Of earlier settings: fedavg.\n" in (tmp_path / "pages" / "tiny.md").read_text()
    told = covey(*words, "--only", "fedavg", "--out", "other", "--json").json
    assert [row["name"] for row in told["rows"]] == ["fedavg"]
    assert told["orders"] == []
    after = json.loads(kept.read_text())
    assert after["lines"][0]["ours"] == told["rows"][0]["ours"] != before[0]["ours"]
    assert after["lines"][1] == before[1]
    assert [order["claim"] for order in after["orders"]] == ["ring > fedavg"]
    assert "Scale paper, seed 0.\n" in (tmp_path / "pages" / "tiny.md").read_text()
    assert not picture.exists()  # it showed what has been replaced


SEARCH = """
[scale.search]
model = "2nn"

[[scale.search.runs]]
algorithm = "fedavg"

[scale.search.comparison]
seeds = [100]
across = "lr"

[scale.search.sweep]
lr = [0.0001, 0.1, 1e9]
"""


def test_a_search(covey, tiny, tmp_path):
    """It says what is best, what the file has, and where the best may lie beyond what was tried."""
    path = tmp_path / "papers" / "tiny-table-1.toml"
    path.write_text(FILE + SEARCH)
    words = ("reproduce", "tiny-table-1", "--scale", "search")
    said = covey(*words, "--pages", "pages")
    sentence = "fedavg: lr=0.1 is best; scale paper has it"
    assert sentence in said.out  # with the largest the model is not finite
    page = (tmp_path / "pages" / "tiny.md").read_text()
    assert f"- {sentence}." in page
    assert "Nothing has been run at the paper's scale yet." in page  # a search decides no claim
    assert "pictures/" not in page  # nor is it the figure
    path.write_text("lr = 0.05\n" + FILE + SEARCH.replace(", 1e9", ""))
    told = covey(*words, "--json").json["choices"]
    assert told == [{"run": "fedavg", "best": {"lr": 0.1}, "taken": {"lr": 0.05}, "at_edge": ["lr"], "serves": "paper"}]
    beyond = "fedavg: lr=0.1 is best, at the edge of what was tried of lr; scale paper has lr=0.05"
    assert beyond in " ".join(covey(*words).out.split())


def test_a_search_for_another_scale_stands_on_it(covey, tiny, tmp_path):
    """With its runs, its settings and its data: the grid is all that it adds; its best is told run by run."""
    data = (
        "[scale.quick.sweep.data]\nplain = { lr = 0.1 }\nskewed = { partition = 'dirichlet:0.1', lr = 0.3 }\n"
        "[scale.quick-search.comparison]\nseeds = [100]\n"
        "[scale.quick-search.sweep]\nlr = [0.001, 0.1, 0.3, 1e9]\n"
    )
    (tmp_path / "papers" / "tiny-table-1.toml").write_text(FILE + data)
    found = covey("reproduce", "tiny-table-1", "--scale", "quick-search", "--json").json
    assert found["orders"] == []
    assert len(found["rows"]) == 16
    told = {choice["run"]: choice["taken"]["lr"] for choice in found["choices"]}
    assert told == {"fedavg, plain": 0.1, "fedavg, skewed": 0.3, "ring, plain": 0.1, "ring, skewed": 0.3}
    for choice in found["choices"]:
        run, data = choice["run"].split(", ")
        ours = {row["name"]: row["ours"] for row in found["rows"]}
        tried = {lr: ours[f"{run}, {data}, lr={lr}"] for lr in (0.001, 0.1, 0.3)}
        assert tried[choice["best"]["lr"]] == max(tried.values())
