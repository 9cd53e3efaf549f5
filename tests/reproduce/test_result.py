"""The paper's figures beside ours: from rows to a table, and back from where it is kept."""

import math

import pytest

from covey.compare import Comparison, Done, rows_of
from covey.reproduce import Result, result_of
from covey.reproduce.picture import draw
from covey.reproduce.tables import as_csv, latex, markdown, sheet_of


def rounds(*accuracies):
    return [
        {"round": r, "accuracy": a, "loss": 1 - a, "traffic_bytes": 10 * r, "models": 1, "trainings": r}
        for r, a in enumerate(accuracies, 1)
    ]


CURVES = {"a": [rounds(0.1, 0.5), rounds(0.2, 0.7)], "b": [rounds(0.3, 0.4), rounds(0.3, 0.4)]}


def made(sweep=None, **terms):
    comparison = Comparison.make(
        {},
        [{"name": name} for name in CURVES],
        sweep=sweep,
        seeds=(0, 1),
        figures={"a": {"accuracy": 0.9, "rounds_to_target": 7}, "b": {"rounds_to_target": math.inf}},
        target=0.5,
        expect=["a > b", "rounds_to_target: a > b"],
        columns=("accuracy", "rounds_to_target"),
        **terms,
    )
    done = [Done(cell, "run", {}, CURVES[cell.entry.labels["run"]][cell.seed]) for cell in comparison.cells()]
    return comparison, rows_of(comparison, done, None)[0]


def test_a_table():
    comparison, rows = made()
    result = result_of(comparison, rows, "x-table-1", "quick")
    sheet = sheet_of(result)
    assert sheet.header == ("", "accuracy, paper", "here", "rounds to target, paper", "here")
    # the mean of 0.5 and 0.7, whose standard deviation is sqrt(2 x 0.1^2); b never gets to 0.5
    assert sheet.rows == (("a", "0.900", "0.600 ± 0.141", "7", "2 ± 0"), ("b", "", "0.400 ± 0.000", "never", "never"))
    assert [order.holds for order in result.orders] == [True, False]
    assert markdown(sheet).splitlines()[2] == "| a | 0.900 | 0.600 ± 0.141 | 7 | 2 ± 0 |"
    assert r"a & 0.900 & 0.600 $\pm$ 0.141 & 7 & 2 $\pm$ 0 \\" in latex(sheet)
    assert as_csv(result).splitlines()[4] == "b,rounds_to_target,never,,,2,never"


def test_rows_for_programs():
    comparison, rows = made()
    told = result_of(comparison, rows, "x-table-1", "quick").to_json()
    assert told["rows"][0] == {
        "name": "a: accuracy",
        "paper": 0.9,
        "ours": pytest.approx(0.6),
        "spread": pytest.approx(math.sqrt(0.02)),
        "column": "accuracy",
    }
    assert told["rows"][3]["paper"] is None  # a target never reached is no number
    assert told["orders"][0] == {"claim": "a > b", "holds": True}


def test_it_is_kept(tmp_path):
    comparison, rows = made()
    result = result_of(comparison, rows, "x-table-1", "quick")
    result.write(tmp_path / "kept.json")
    assert Result.read(tmp_path / "kept.json") == result
    assert Result.read(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "picture",
    [{"x": "rounds"}, {"x": "run", "form": "bars"}, {"x": "run", "y": "loss"}, {"x": "run", "heat": "run"}],
)
def test_pictures(picture, tmp_path):
    comparison, rows = made(picture=picture)
    assert draw(comparison, rows, tmp_path / "a.png", "title") == tmp_path / "a.png"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_setting_side_by_side():
    comparison = Comparison.make(
        {},
        [{"name": "a"}, {"name": "b"}],
        sweep={"lr": [0.1, 0.2]},
        across="lr",
        figures={"a, lr=0.2": {"accuracy": 1}},
    )
    done = [Done(cell, "run", {}, rounds(float(cell.settings["lr"]))) for cell in comparison.cells()]
    sheet = sheet_of(result_of(comparison, rows_of(comparison, done, None)[0], "x-table-1", "quick"))
    assert sheet.header == ("", "lr=0.1 accuracy", "lr=0.2 accuracy, paper", "here")
    assert sheet.rows == (("a", "0.100", "1.000", "0.200"), ("b", "0.100", "", "0.200"))
