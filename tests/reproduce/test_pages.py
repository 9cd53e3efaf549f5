"""The pages of documentation: what holds stands first."""

from covey.compare import Verdict
from covey.reproduce import find
from covey.reproduce.pages import write_pages
from covey.reproduce.result import Line, Result


def keep(out, name, scale, *orders, seeds=(0, 1, 2)):
    line = Line("fedavg", {}, "accuracy", 0.5, 0.6, 0.01)
    verdicts = tuple(Verdict(claim, holds) for claim, holds in orders)
    result = Result(name, scale, "title", seeds, ("accuracy",), None, (line,), verdicts, 1.0)
    result.write(out / "reproduce" / name / scale)


def test_a_page_begins_with_what_came_out_and_what_did_not(tmp_path):
    keep(tmp_path, "fedgsp-table-1", "paper", ("a > b", True), ("b > c", False))
    keep(tmp_path, "fedgsp-table-1", "quick", ("a > b", False))
    keep(tmp_path, "fedgsp-figure-6", "quick", ("c > d", False))
    write_pages(tmp_path, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    summary = page[page.index("## What holds here") : page.index("## Table 1")]
    assert "    - came out: a > b\n    - did not: b > c\n" in summary
    for note in find("fedgsp-table-1").paper.notes:
        assert f"    - {note}\n" in summary
    assert "Run in the quick version only, which decides nothing: Figure 6." in summary
    index = (tmp_path / "pages" / "index.md").read_text()
    assert "| 1, in which 1 of 2 claims came out | 2, in which 0 of 2 claims came out |" in index
    assert "Nothing has been run at the paper's scale yet." in (tmp_path / "pages" / "ihc-fl.md").read_text()


def test_the_command_asks_for_the_seeds_that_were_run(tmp_path):
    keep(tmp_path, "fedgsp-table-1", "paper")
    keep(tmp_path, "fedgsp-figure-6", "paper", seeds=(0, 1))
    keep(tmp_path, "fedgsp-figure-4", "paper", seeds=(1, 2))
    write_pages(tmp_path, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    assert "covey reproduce fedgsp-table-1 --scale paper\n" in page
    assert "covey reproduce fedgsp-figure-6 --scale paper --seeds 2\n" in page
    assert "covey reproduce fedgsp-figure-4 --scale paper --seeds 1,2\n" in page
