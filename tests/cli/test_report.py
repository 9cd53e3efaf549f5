import pytest


@pytest.fixture
def two(covey, small):
    """A store with one run of two seeds."""
    for seed in (0, 1):
        assert small("ring", "--seed", seed, "--network", "star").code == 0
    return covey


def test_a_report_of_runs(two, tmp_path):
    said = two("report", "ring-digits-1", "ring-digits-2", "--title", "Two seeds")
    assert (said.code, said.out) == (0, "report.html\n")
    page = (tmp_path / "report.html").read_text()
    assert "<h1>Two seeds</h1>" in page
    assert "1 run, 2 seeds each" in page
    assert "The network with its load" in page
    assert two("report", "ring-digits-1", "--to", "a/b.html", "--json").json == {"report": ["a/b.html"]}


def test_pictures_in_a_folder(two, tmp_path):
    said = two("report", "ring-digits-1", "--format", "svg", "--to", "pictures")
    assert said.code == 0
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert {"accuracy-over-rounds.svg", "ring-digits-1-plan.svg", "ring-digits-1-timeline.svg"} <= names
    assert said.out.split() == [f"pictures/{name}" for name in (path.split("/")[1] for path in said.out.split())]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nobody"], "run is 'nobody'"),
        (["ring-digits-1", "--format", "gif"], "format is 'gif'"),
    ],
)
def test_what_is_wrong_is_said(two, words, sentence):
    assert sentence in two("report", *words).complaint


def test_a_page_that_cannot_be_written(two, tmp_path):
    (tmp_path / "file").touch()
    assert "a file that can be written" in two("report", "ring-digits-1", "--to", "file/x.html").complaint
    assert (
        "a folder, since every picture" in two("report", "ring-digits-1", "--to", "file", "--format", "png").complaint
    )


def test_a_comparison_ends_with_its_report(covey, tmp_path):
    small = ("--clients", "4", "--samples", "20", "--rounds", "2", "--mode", "one-by-one", "--seeds", "2")
    said = covey("compare", "fedavg", "ring", *small, "--out", "demo")
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == "demo/report.html"
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "2 runs, 2 seeds each" in page
    assert (
        covey("compare", "fedavg", *small, "--out", "demo", "--report", "other.html", "--json").json["report"]
        == "other.html"
    )
