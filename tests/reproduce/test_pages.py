"""The pages of documentation: what holds stands first."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from covey.compare import Comparison
from covey.reproduce import find, items
from covey.reproduce.pages import write_pages
from covey.reproduce.result import FILE, Line, Result

DOCS = Path(__file__).parents[2] / "docs" / "results"


def keep(out, name, scale, *, seeds=(0, 1, 2), settings="unknown", column="accuracy", **figures):
    """A result of these rows; settings that are not said are nobody's."""
    lines = tuple(
        Line(row, {"run": row}, column, None, value, None, values=dict.fromkeys(seeds, value), settings=settings)
        for row, value in figures.items()
    )
    Result(name, scale, "title", seeds, (column,), None, lines, (), 1.0).write(out / "reproduce" / name / scale / FILE)


def test_a_page_begins_with_what_came_out_and_what_did_not(tmp_path):
    keep(tmp_path, "fedgsp-table-1", "paper", fedgsp=0.6, fedavg=0.5, ida=0.7)
    keep(tmp_path, "fedgsp-table-1", "quick", fedgsp=0.4, fedavg=0.5)
    keep(tmp_path, "fedgsp-table-1-skewed", "quick", fedgsp=0.1, fedavg=0.2)
    write_pages(tmp_path, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    summary = page[page.index("## What holds here") : page.index("## Table 1")]
    # of the losses and rounds there is no figure: neither loss is above the other, neither target was reached
    assert "- **Table 1**, 1 of 6 claims: " in summary
    assert "    - came out: fedgsp > fedavg\n    - did not: fedgsp > ida; loss: fedavg · ida > fedgsp; " in summary
    for note in find("fedgsp-table-1").paper.notes:
        assert f"    - {note}\n" in summary
    assert "Run in the quick version only, which decides nothing: Table 1, on skewed labels." in summary
    index = (tmp_path / "pages" / "index.md").read_text()
    assert "| 1, in which 1 of 6 claims came out | 2, in which 0 of 6 claims came out |" in index
    assert "Nothing has been run at the paper's scale yet." in (tmp_path / "pages" / "ihc-fl.md").read_text()


def test_the_command_asks_for_the_seeds_that_were_run(tmp_path):
    keep(tmp_path, "fedgsp-table-1", "paper", fedavg=0.5)
    keep(tmp_path, "fedgsp-table-1-skewed", "paper", seeds=(0, 1), fedavg=0.5)
    keep(tmp_path, "fedgsp-figure-6", "paper", seeds=(1, 2), column="rounds_to_target", fedavg=5)
    write_pages(tmp_path, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    assert "covey reproduce fedgsp-table-1 --scale paper\n" in page
    assert "covey reproduce fedgsp-table-1-skewed --scale paper --seeds 2\n" in page
    assert "covey reproduce fedgsp-figure-6 --scale paper --seeds 1,2\n" in page


def test_a_page_says_which_rows_are_not_what_the_command_gives(tmp_path):
    comparison = find("fedgsp-table-1").comparison("paper")
    (fedgsp,) = (entry for entry in comparison.entries if entry.name == "fedgsp")
    now = comparison.fingerprint(fedgsp)
    keep(tmp_path / "a", "fedgsp-table-1", "paper", fedavg=0.5)
    keep(tmp_path / "b", "fedgsp-table-1", "paper", seeds=(0, 1), fedgsp=0.6, settings=now)
    for out in ("a", "b"):
        write_pages(tmp_path / out, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    told = page[page.index("Scale paper, seeds 0, 1, 2.") :].splitlines()[0]
    assert " Of earlier settings: fedavg. Without some of the seeds: fedgsp. Not run: fedprox, " in told


def test_what_is_in_no_row_or_column_of_the_file_is_not_shown(tmp_path):
    keep(tmp_path, "fedgsp-figure-6", "paper", fedavg=0.5)  # its columns are others
    write_pages(tmp_path, tmp_path / "pages")
    page = (tmp_path / "pages" / "fedgsp.md").read_text()
    assert "No result yet" in page[page.index("## Figure 6") :]


def line(name, values, settings="now"):
    found = list(values.values())
    ours = sum(found) / len(found) if found and None not in found else None
    return Line(name, {}, "accuracy", None, ours, None, values=values, settings=settings)


def result(*lines):
    seeds = tuple(sorted({seed for each in lines for seed in each.values}))
    return Result("x", "paper", "t", seeds, ("accuracy",), None, lines, (), 1.0)


def a_over_b(expect="a > b"):
    return Comparison.make({}, [{"name": "a"}, {"name": "b"}], expect=[expect])


@pytest.fixture
def now(monkeypatch):
    """Rows that say so are of the settings that the comparison has."""
    monkeypatch.setattr(Comparison, "fingerprint", lambda self, entry: "now")


B = line("b", {0: 0.5, 1: 0.5, 2: 0.5})


def test_seeds_of_another_time_are_counted_in(now):
    new = result(line("a", {1: 0.7, 2: 0.8}), B)
    found = new.joined(result(line("a", {0: 0.3, 1: 0.2}), B), a_over_b())
    assert found.seeds == (0, 1, 2)
    assert found.lines[0].values == {0: 0.3, 1: 0.7, 2: 0.8}  # of seed 1 the new figure
    assert (found.lines[0].ours, found.lines[1].ours) == (pytest.approx(0.6), 0.5)
    assert found.lines[0].spread == pytest.approx(0.26458, abs=1e-5)
    assert [order.holds for order in found.orders] == [True]
    assert new.joined(found, a_over_b()) == found  # a page is written twice, and is the same
    worse = new.joined(result(line("a", {0: -0.1}), B), a_over_b())
    assert [order.holds for order in worse.orders] == [False]  # the mean is now 0.47


def test_rows_of_another_time_are_counted_in(now):
    """So that a baseline that was changed is run alone."""
    found = result(line("a", {0: 0.6})).joined(result(line("a", {0: 0.1}, "old"), line("b", {0: 0.5})), a_over_b())
    assert [(each.name, each.ours) for each in found.lines] == [("a", 0.6), ("b", 0.5)]
    assert [order.holds for order in found.orders] == [True]
    assert found.earlier(a_over_b()) == []


def test_a_seed_that_never_got_there_says_so(now):
    found = result(line("a", {1: None})).joined(result(line("a", {0: 0.1})), a_over_b())
    assert (found.lines[0].ours, found.lines[0].note) == (None, "1 of 2 seeds")


@pytest.mark.parametrize(
    ("kept", "new", "ours"),
    [
        (line("a", {0: 0.1}, "old"), line("a", {1: 0.6}), 0.6),
        (line("a", {0: 0.1}), line("a", {1: 0.6}, "old"), 0.1),
        (line("a", {0: 0.1}, "older"), line("a", {1: 0.6}, "old"), 0.6),
        (replace(line("a", {}), ours=0.1), line("a", {1: 0.6}), 0.6),
    ],
    ids=["the new one is of these settings", "the kept one is", "neither is", "only a mean was kept"],
)
def test_what_cannot_be_put_together(now, kept, new, ours):
    found = result(new).joined(result(kept), a_over_b())
    assert [each.ours for each in found.lines] == [ours]
    assert found.orders == ()  # there is no b


def test_what_is_kept_is_judged_by_what_is_claimed_now():
    kept = result(line("a", {0: 0.4, 1: 0.7}), B)
    assert [(order.claim, order.holds) for order in kept.judged(a_over_b()).orders] == [("a > b", True)]
    assert [(order.claim, order.holds) for order in kept.judged(a_over_b("b > *")).orders] == [("b > a", False)]
    only_means = replace(kept, lines=tuple(replace(each, ours=0.1, values={}) for each in kept.lines))
    assert [order.holds for order in only_means.judged(a_over_b()).orders] == [False]  # both 0.1


def test_what_is_kept_is_shown_again_without_its_store(tmp_path):
    every = {entry.name: 0.5 for entry in find("fedgsp-table-1").comparison("paper").entries}
    keep(tmp_path / "out", "fedgsp-table-1", "paper", **every)
    write_pages(tmp_path / "out", tmp_path / "pages")
    before = (tmp_path / "pages" / "fedgsp.md").read_text()
    assert "The figures are of earlier settings" in before  # this result was never run
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
        assert set(map(comparison.column_of, comparison.orders)) <= set(comparison.columns)
