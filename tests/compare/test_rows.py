import math

import pytest

from covey.compare import Comparison, Done, rows_of, verdicts


def rounds(*accuracies, traffic=10):
    return [
        {"round": r, "accuracy": a, "own_accuracy": a / 2, "traffic_bytes": r * traffic, "models": 1, "trainings": r}
        for r, a in enumerate(accuracies, 1)
    ]


def made(curves, **terms):
    """A comparison of runs `a`, `b` … whose rounds are known, one list a seed."""
    seeds = range(len(next(iter(curves.values()))))
    comparison = Comparison.make({}, [{"name": name} for name in curves], seeds=tuple(seeds), **terms)
    done = [Done(cell, "run", {}, curves[cell.entry.name][cell.seed]) for cell in comparison.cells()]
    return comparison, done


def test_mean_and_spread():
    comparison, done = made({"a": [rounds(0.1, 0.5), rounds(0.2, 0.7)]})
    (row,), target = rows_of(comparison, done, None)
    figures = row.figures()
    assert figures["accuracy"] == pytest.approx((0.5 + 0.7) / 2)
    assert figures["accuracy_spread"] == pytest.approx(math.sqrt(2 * 0.1**2 / (2 - 1)))
    assert figures["own_accuracy"] == pytest.approx(0.3)
    assert (figures["rounds"], figures["seeds"], target) == (2, [0, 1], 0.6)
    assert figures["rounds_to_target"] is None  # seed 0 never gets to 0.6
    assert figures["values"]["rounds_to_target"] == [None, 2]


def test_only_rounds_within_the_budget_count():
    comparison, done = made({"a": [rounds(0.1, 0.5, 0.9)]}, budget="traffic", amount=25)
    (row,), _ = rows_of(comparison, done, 25)
    assert (row.mean("accuracy"), row.mean("traffic_bytes")) == (0.5, 20)


def test_a_first_round_beyond_the_budget():
    comparison, done = made({"a": [rounds(0.1)]}, budget="traffic", amount=5)
    (row,), target = rows_of(comparison, done, 5)
    assert (row.figures()["accuracy"], row.figures()["rounds"], target) == (None, None, None)


def test_the_score_at_equal_traffic():
    comparison, done = made({"a": [rounds(0.1, 0.2, 0.3, traffic=10)], "b": [rounds(0.4, 0.5, traffic=10)]})
    rows, _ = rows_of(comparison, done, None)
    assert [row.mean("at_equal_traffic") for row in rows] == [0.2, 0.5]  # 20 bytes are the least of all


def test_a_tail():
    comparison, done = made({"a": [rounds(0.1, 0.5, 0.9)]}, tail=2)
    assert rows_of(comparison, done, None)[0][0].mean("accuracy") == pytest.approx(0.7)


def test_orders():
    curves = {"a": [rounds(0.9, 0.7)], "b": [rounds(0.1, 0.75)], "c": [rounds(0.2, 0.3)]}
    comparison, done = made(curves, expect=["b > a > c", "a > b"])
    rows, _ = rows_of(comparison, done, None)
    assert [order.holds for order in verdicts(comparison, rows)] == [True, False]
    comparison, done = made(curves, expect=["c > b > a"], by="rounds_to_target", target=0.7)
    rows, _ = rows_of(comparison, done, None)
    assert [order.holds for order in verdicts(comparison, rows)] == [True]  # never, in round 2, in round 1


def test_one_seed_that_never_got_there_does_not_decide():
    """b is there in rounds 1, 1 and never, a in round 2 with every seed: most seeds have b first."""
    curves = {"a": [rounds(0.1, 0.7)] * 3, "b": [rounds(0.7, 0.7), rounds(0.7, 0.7), rounds(0.1, 0.1)]}
    comparison, done = made(curves, expect=["a > b", "b > a"], by="rounds_to_target", target=0.7)
    rows, _ = rows_of(comparison, done, None)
    assert [order.holds for order in verdicts(comparison, rows)] == [True, False]


def test_a_target_that_has_to_hold():
    """a is at 0.7 in round 1 by luck, then from round 3 on; b from round 2 on."""
    curves = {"a": [rounds(0.7, 0.1, 0.7, 0.8)], "b": [rounds(0.1, 0.7, 0.7, 0.7)]}
    comparison, done = made(curves, expect=["a > b"], by="rounds_to_target", target=0.7, hold=2)
    rows, _ = rows_of(comparison, done, None)
    assert [row.mean("rounds_to_target") for row in rows] == [3, 2]
    assert [row.mean("bytes_to_target") for row in rows] == [30, 20]
    assert [order.holds for order in verdicts(comparison, rows)] == [True]
    comparison, done = made(curves, target=0.7, hold=4)
    assert [row.mean("rounds_to_target") for row in rows_of(comparison, done, None)[0]] == [None, None]


def prints(shared=None, own=None, columns=("accuracy",), **terms):
    """Fingerprints of the rows a and b, of which b has settings of its own."""
    runs = [{"name": "a", **(shared or {})}, {"name": "b", **(own or {})}]
    made = Comparison.make({}, runs, columns=columns, **terms)
    return [made.fingerprint(entry) for entry in made.entries]


def test_figures_of_a_row_may_be_put_together_where_its_own_settings_are_the_same():
    assert prints() == prints(seeds=[1, 2]) == prints(title="other", expect=["a > b"])
    (a, b), (other_a, other_b) = prints(), prints(own={"lr": 0.3})
    assert a == other_a
    assert b != other_b
    assert a not in prints(target=0.7)
    assert prints(target=0.7, hold=1) == prints(target=0.7)
    assert not set(prints(target=0.7)) & set(prints(target=0.7, hold=2))


@pytest.mark.parametrize(
    ("measured", "terms"),
    [
        (False, {}),
        (False, {"columns": ["rounds_to_target"], "target": 0.7}),
        (True, {"columns": ["rounds_to_target"]}),
        (True, {"columns": ["speedup"], "target": "each"}),
        (True, {"columns": ["at_equal_traffic"]}),
        (True, {"budget": "traffic"}),
        (False, {"budget": "traffic", "amount": 100}),
    ],
)
def test_a_row_that_is_measured_by_the_first_depends_on_it(measured, terms):
    (_, usual), (_, other) = prints(**terms), prints({"lr": 0.3}, **terms)
    assert (usual != other) is measured
    made = Comparison.make({}, [{"name": "a"}, {"name": "b"}], **terms).only(["b"])
    assert [entry.name for entry in made.entries] == (["a", "b"] if measured else ["b"])


def test_a_target_for_each_combination_of_swept_settings():
    def timed(*accuracies, every):
        return [{**row, "simulated_seconds": row["round"] * every} for row in rounds(*accuracies)]

    comparison = Comparison.make(
        {}, [{"name": "a"}, {"name": "b"}], sweep={"lr": [0.1, 0.2]}, target="each", seeds=(0,)
    )
    curves = {
        "a, lr=0.1": timed(0.2, 0.4, every=10),
        "a, lr=0.2": timed(0.5, 0.8, every=10),
        "b, lr=0.1": timed(0.5, 0.6, every=4),
        "b, lr=0.2": timed(0.5, 0.6, every=4),
    }
    done = [Done(cell, "run", {}, curves[cell.entry.name]) for cell in comparison.cells()]
    rows, target = rows_of(comparison, done, None)
    assert target is None
    assert [row.mean("seconds_to_target") for row in rows] == [20, 20, 4, None]  # 0.4 and 0.8 are a's
    assert [row.mean("speedup") for row in rows] == [1, 1, 20 / 4, None]


def test_further_scores_and_what_links_cost():
    curve = [{**row, "loss": 1 - row["accuracy"], "link_cost": 5.0 * row["round"]} for row in rounds(0.1, 0.5)]
    comparison = Comparison.make({}, [{"name": "a"}], target=0.5, seeds=(0,), expect=["loss: a > a"])
    done = [Done(cell, "run", {}, curve) for cell in comparison.cells()]
    (row,), _ = rows_of(comparison, done, None)
    assert (row.mean("loss"), row.mean("link_cost"), row.mean("link_cost_of_round")) == (0.5, 10, 5)
    assert row.mean("link_cost_to_target") == 10
    assert [order.holds for order in verdicts(comparison, [row])] == [False]
