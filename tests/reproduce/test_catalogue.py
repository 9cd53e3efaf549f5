"""Every table and figure can be read at both scales, and says what it is."""

import itertools

import pytest

from covey.compare.scales import searched_for
from covey.errors import UnknownName
from covey.reproduce import find, items, state_of

ITEMS = items()
MEASURED = [item for item in ITEMS if item.paper.cannot is None]
SAID_BY = {"seconds_to_target": "speedup"}  # the same in another column


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_a_table_or_figure(item):
    paper = item.paper
    assert item.name.startswith(f"{paper.system.lower()}-{paper.kind}-")
    assert paper.item.lower().startswith(paper.kind)
    assert paper.shows.endswith(".")
    if paper.cannot is not None:
        return
    whole, quick = item.comparison("paper"), item.comparison("quick")
    assert len(quick.cells()) <= len(whole.cells())
    if whole.terms.work == "runs":
        assert whole.terms.expect or whole.figures or whole.terms.columns


@pytest.mark.parametrize("item", MEASURED, ids=lambda item: item.name)
def test_claims_are_the_papers(item):
    """Where the paper has figures of both, its figures are in the order that is claimed."""
    comparison = item.comparison("paper")
    for order in comparison.orders:
        column = comparison.column_of(order)
        for high, low in itertools.pairwise(order.names):
            above, below = (comparison.figures.get(name, {}).get(column) for name in (high, low))
            assert above is None or below is None or above > below, order


@pytest.mark.parametrize("item", [item for item in MEASURED if item.comparison("paper").figures], ids=lambda i: i.name)
def test_no_figure_of_the_papers_own_system_goes_unjudged(item):
    """Its order against every other run of the same swept settings is a claim, in every column: also where it fails."""
    comparison = item.comparison("paper")
    claimed = {
        (comparison.column_of(order), *pair) for order in comparison.orders for pair in itertools.pairwise(order.names)
    }
    rows = {entry.name: entry.labels for entry in comparison.entries}
    for name, labels in rows.items():
        if labels["run"].lower() != item.paper.system.lower():
            continue
        alike = [other for other, its in rows.items() if {**its, "run": ""} == {**labels, "run": ""} and other != name]
        for other, (column, own) in itertools.product(alike, comparison.figures.get(name, {}).items()):
            theirs = comparison.figures.get(other, {}).get(column)
            if theirs is None or own == theirs or column in SAID_BY or "charged as by the authors" in other:
                continue
            high, low = (name, other) if own > theirs else (other, name)
            assert (column, high, low) in claimed


SEARCHES = [(item, scale) for item in MEASURED for scale in item.scales if searched_for(scale)]


@pytest.mark.parametrize(("item", "scale"), SEARCHES, ids=lambda found: getattr(found, "name", found))
def test_a_search_is_on_seeds_that_are_not_reported(item, scale):
    """Its runs are those of the scale it is for, with values of a grid."""
    search, served = item.comparison(scale), item.comparison(searched_for(scale))
    reported = {seed for each in item.scales if not searched_for(each) for seed in item.comparison(each).terms.seeds}
    assert not reported & set(search.terms.seeds)
    assert {entry.labels["run"] for entry in search.entries} <= {entry.labels["run"] for entry in served.entries}
    assert any(len(tried) > 2 and all(isinstance(value, float) for value in tried) for tried in search.sweep.values())


def test_the_five_papers_are_there():
    papers = {"FedAvg-IC", "FedGSP", "Group-FEL", "IHC-FL", "TornadoAggregate"}
    assert {item.paper.system for item in ITEMS} == papers
    names = [item.name for item in ITEMS]
    assert names.index("group-fel-table-2") < names.index("group-fel-figure-5") < names.index("group-fel-figure-12")


def test_a_name_that_is_none():
    with pytest.raises(UnknownName, match="did you mean 'fedgsp-table-1'"):
        find("fedgsp-table-01")


def test_states():
    assert state_of(find("fedgsp-figure-5b")) == ("as in the paper", "")
    assert state_of(find("fedgsp-figure-1")) == ("not expressible", "it holds no figures that could be measured")


def test_data_that_is_missing(monkeypatch):
    from covey.reproduce import catalogue

    monkeypatch.setattr(catalogue, "_is_here", lambda name: name != "cifar10")
    assert state_of(find("group-fel-table-2")) == ("quick only", "cifar10: covey data get cifar10")
    monkeypatch.setattr(catalogue, "_is_here", lambda name: False)
    assert state_of(find("fedgsp-table-1")) == ("data missing", "mnist-writers: covey data get mnist-writers")
