"""What the few words of `expect` stand for."""

import pytest

from covey.compare import Comparison
from covey.compare.orders import orders_of
from covey.errors import BadValue, UnknownName

FLAT = {name: {"run": name} for name in ("a", "b", "c")}
SWEPT = {f"{run}, lr={lr}": {"run": run, "lr": lr} for run in ("a", "b", "c") for lr in ("1", "2")}
ONE_RUN = {f"lr={lr}": {"run": "fedavg", "lr": lr} for lr in ("1", "2", "3")}


def said(rules, rows):
    return [str(order) for order in orders_of(rules, rows)]


def test_names_are_rows():
    assert said(["a > b > c", "loss: c>a"], FLAT) == ["a > b > c", "loss: c > a"]
    assert said(["a, lr=1 > b, lr=2"], SWEPT) == ["a, lr=1 > b, lr=2"]


def test_a_star_is_everybody_else():
    assert said(["a > *", "loss: * > a"], FLAT) == ["a > b", "a > c", "loss: b > a", "loss: c > a"]
    assert said(["a > b > *"], FLAT) == ["a > b > c"]
    assert said(["lr=2 > *"], ONE_RUN) == ["lr=2 > lr=1", "lr=2 > lr=3"]


def test_a_run_stands_for_its_rows():
    assert said(["c > b"], SWEPT) == ["c, lr=1 > b, lr=1", "c, lr=2 > b, lr=2"]
    assert said(["a > *"], SWEPT) == [f"a, lr={lr} > {run}, lr={lr}" for lr in "12" for run in "bc"]
    assert said(["a, lr=1 > *"], SWEPT)[:2] == ["a, lr=1 > a, lr=2", "a, lr=1 > b, lr=1"]


def test_an_order_that_is_said_twice_counts_once():
    assert said(["a > *", "a > b"], FLAT) == ["a > b", "a > c"]


@pytest.mark.parametrize("rule", ["a", "*", "* > *", "a > * > *"])
def test_an_order_is_of_two_at_least(rule):
    with pytest.raises(BadValue, match=r"expect is '.*'; allowed is two runs or more with > between them"):
        orders_of([rule], FLAT)


@pytest.mark.parametrize(("rule", "name"), [("a > d", "d"), ("d > *", "d"), ("a, lr=1 > b", "a, lr=1")])
def test_a_name_that_is_nobodys(rule, name):
    with pytest.raises(UnknownName, match=f"run in expect is '{name}'"):
        orders_of([rule], SWEPT)


def test_a_scale_that_leaves_a_run_out_passes_over_what_is_said_of_it(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(
        """
        [comparison]
        expect = ["a, lr=0.2 > b, lr=0.2", "a > *", "lr=0.2 > *"]
        [sweep]
        lr = [0.1, 0.2]
        [[runs]]
        name = "a"
        [[runs]]
        name = "b"
        [scale.quick.sweep]
        lr = [0.1]
        """
    )
    assert [str(order) for order in Comparison.read(file, scale="quick").orders] == ["a, lr=0.1 > b, lr=0.1"]
    with pytest.raises(UnknownName, match=r"run in expect is 'lr=0\.2'"):
        Comparison.read(file)
