"""Every table and figure can be read at both scales, and says what it is."""

import pytest

from covey.errors import UnknownName
from covey.reproduce import find, items, state_of

ITEMS = items()


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


def test_the_five_papers_are_there():
    assert {item.paper.system for item in ITEMS} >= {"FedGSP", "Group-FEL"}
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
