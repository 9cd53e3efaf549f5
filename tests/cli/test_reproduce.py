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
