"""The pages of documentation: what holds stands first."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from covey.compare import Comparison, Verdict
from covey.reproduce import find, items
from covey.reproduce.pages import write_pages
from covey.reproduce.result import FILE, Line, Result, columns_of

DOCS = Path(__file__).parents[2] / "docs" / "results"


def keep(out, name, scale, *orders, seeds=(0, 1, 2)):
    line = Line("fedavg", {}, "accuracy", 0.5, 0.6, 0.01)
    verdicts = tuple(Verdict(claim, holds) for claim, holds in orders)
    result = Result(name, scale, "title", seeds, ("accuracy",), None, (line,), verdicts, 1.0)
    result.write(out / "reproduce" / name / scale / FILE)


def test_a_page_begins_with_what_came_out_and_what_did_not(tmp_path):
    keep(tmp_path, "fedgsp-table-1", "paper", ("a > b", True), ("b > c", False))
    keep(tmp_path, "fedgsp-table-1", "quick", ("a > b", False))
    keep(tmp_path, "fedgsp-figure-6", "quick", ("c > d", False))
    write_pages(tmp_path, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    summary = page[page.index("## What holds here") : page.index("## Table 1")]
    assert "- **Table 1**, 1 of 2 claims: " in summary
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


def result(seeds, accuracies, settings="same", name="a"):
    line = Line(name, {}, "accuracy", None, None, None, values=tuple(accuracies))
    other = Line("b", {}, "accuracy", None, None, None, values=(0.5,) * len(seeds))
    return Result("x", "paper", "t", tuple(seeds), ("accuracy",), None, (line, other), (), 1.0, settings)


def a_over_b():
    return Comparison.make({}, [{"name": "a"}, {"name": "b"}], expect=["a > b"])


def test_seeds_of_another_time_are_counted_in():
    new = result([1, 2], [0.7, 0.8])
    found = new.joined(result([0, 1], [0.3, 0.2]), a_over_b())
    assert found.seeds == (0, 1, 2)
    assert found.lines[0].values == (0.3, 0.7, 0.8)  # of seed 1 the new figure
    assert (found.lines[0].ours, found.lines[1].ours) == (pytest.approx(0.6), 0.5)
    assert found.lines[0].spread == pytest.approx(0.26458, abs=1e-5)
    assert [order.holds for order in found.orders] == [True]
    assert new.joined(found, a_over_b()) == found  # a page is written twice, and is the same
    worse = new.joined(result([0], [-0.1]), a_over_b())
    assert [order.holds for order in worse.orders] == [False]  # the mean is now 0.47


def test_a_seed_that_never_got_there_says_so():
    found = result([1], [None]).joined(result([0], [0.1]), a_over_b())
    assert (found.lines[0].ours, found.lines[0].note) == (None, "1 of 2 seeds")


@pytest.mark.parametrize(
    "kept",
    [result([0], [0.1], settings="other"), result([0], [0.1], name="c"), result([0], []), result([1], [0.1])],
    ids=["other settings", "other runs", "only a mean", "no further seed"],
)
def test_what_cannot_be_put_together_is_replaced(kept):
    new = result([1, 2], [0.6, 0.8])
    assert new.joined(kept, a_over_b()) is new


def test_what_is_kept_is_judged_by_what_is_claimed_now():
    kept = result([0, 1], [0.4, 0.7])
    assert [(order.claim, order.holds) for order in kept.judged(a_over_b()).orders] == [("a > b", True)]
    other = Comparison.make({}, [{"name": "a"}, {"name": "b"}], expect=["b > *"])
    assert [(order.claim, order.holds) for order in kept.judged(other).orders] == [("b > a", False)]
    only_means = replace(kept, lines=tuple(replace(line, ours=0.1, values=()) for line in kept.lines))
    assert [order.holds for order in only_means.judged(a_over_b()).orders] == [False]  # both 0.1


def test_what_is_kept_is_shown_again_without_its_store(tmp_path):
    keep(tmp_path / "out", "fedgsp-table-1", "paper", ("a > b", True))
    write_pages(tmp_path / "out", tmp_path / "pages")
    before = (tmp_path / "pages" / "fedgsp.md").read_text()
    assert "earlier settings" in before  # this result was never run, so its settings are nobody's
    write_pages(tmp_path / "nothing", tmp_path / "pages")
    assert (tmp_path / "pages" / "fedgsp.md").read_text() == before


def test_the_pages_are_those_of_the_figures_beside_them(tmp_path):
    """Nobody has edited docs/results by hand, and every picture there is shown."""
    shutil.copytree(DOCS, tmp_path / "results")
    shown = ""
    for path in write_pages(tmp_path / "nothing", tmp_path / "results"):
        assert path.read_text() == (DOCS / path.name).read_text(), f"{path.name}: covey reproduce --pages docs/results"
        shown += path.read_text()
    assert [path.name for path in (DOCS / "pictures").glob("*.png") if f"pictures/{path.name}" not in shown] == []


@pytest.mark.parametrize("item", [item for item in items() if item.paper.cannot is None], ids=lambda item: item.name)
def test_what_is_claimed_is_in_the_table(item):
    """Else orders could not be judged anew when seeds are put together, or when more is claimed."""
    for scale in item.scales:
        comparison = item.comparison(scale)
        assert set(map(comparison.column_of, comparison.orders)) <= set(columns_of(comparison))
