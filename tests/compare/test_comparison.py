import pytest

from covey.compare import Comparison, seeds_from
from covey.errors import BadData, BadValue, UnknownName

FILE = """
rounds = 4
clients = 6
groups = 2

[comparison]
title = "two"
seeds = [3, 4]
budget = "traffic"
amount = 5000
expect = ["rings > fedavg"]

[[runs]]
algorithm = "fedavg"
sample = 0.5

[[runs]]
name = "rings"
algorithm = "star-rings"
lr = 0.3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(FILE)
    return path


def test_a_file(file):
    comparison = Comparison.read(file)
    cells = comparison.cells()
    assert [(cell.entry.name, cell.seed) for cell in cells] == [
        ("fedavg", 3),
        ("rings", 3),
        ("fedavg", 4),
        ("rings", 4),
    ]
    fedavg, rings = (cell.experiment for cell in cells[:2])
    assert fedavg.options == {"sample": 0.5}  # groups is a setting of rings only
    assert (rings.options, rings.lr, rings.seed) == ({"shape": "star-rings", "groups": 2}, 0.3, 3)
    assert (fedavg.stop_at_traffic, fedavg.rounds) == (5000, 10 * 4)


def test_what_is_given_comes_before_the_files(file):
    comparison = Comparison.read(file, {"lr": 0.7, "rounds": 2}, {"seeds": (0,), "budget": "rounds"})
    assert [cell.experiment.lr for cell in comparison.cells()] == [0.7, 0.7]
    assert [cell.experiment.rounds for cell in comparison.cells()] == [2, 2]
    assert [cell.experiment.stop_at_traffic for cell in comparison.cells()] == [None, None]


def test_the_first_run_is_the_measure_of_a_budget_without_an_amount(file):
    comparison = Comparison.read(file, terms={"amount": None, "seeds": (0,)})
    fedavg, rings = (cell.experiment for cell in comparison.cells(amount=800.0))
    assert (fedavg.stop_at_traffic, fedavg.rounds) == (None, 4)
    assert (rings.stop_at_traffic, rings.rounds) == (800.0, 40)


def test_budgets_bring_what_they_are_counted_on():
    made = {
        kind: Comparison.make({}, [{}], budget=kind, amount=9).cells()[0].experiment for kind in ("seconds", "cost")
    }
    assert (made["seconds"].network, made["seconds"].stop_at_seconds) == ("star", 9)
    assert (made["cost"].prices, made["cost"].budget) == ("cifar-secure", 9)


def test_a_sweep_is_every_combination():
    made = Comparison.make({}, [{"algorithm": "fedavg"}, {"algorithm": "ring"}], sweep={"lr": [0.1, 0.2], "batch": [5]})
    assert [entry.name for entry in made.entries] == [
        "fedavg, lr=0.1, batch=5",
        "fedavg, lr=0.2, batch=5",
        "ring, lr=0.1, batch=5",
        "ring, lr=0.2, batch=5",
    ]


@pytest.mark.parametrize(
    ("shared", "runs", "terms", "sentence"),
    [
        ({}, [{}, {}], {}, "name is 'fedavg'; allowed is different for every run"),
        ({"beta": 3}, [{}], {}, "setting is 'beta'"),
        ({}, [{"beta": 3}], {}, "setting is 'beta'"),
        ({}, [{}], {"expect": ["fedavg > fedgps"]}, "run in expect is 'fedgps'"),
        ({}, [{}], {"budget": "money"}, "budget"),
        ({}, [{}], {"sweep": {"lr": 3}}, "sweep.lr is 3; allowed is a list of values"),
        ({}, [], {}, "runs is \\[\\]"),
    ],
)
def test_what_cannot_be_compared(shared, runs, terms, sentence):
    with pytest.raises(BadValue, match=sentence):
        Comparison.make(shared, runs, **terms)


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("runs = 3")
    with pytest.raises(BadData, match="runs a list of tables"):
        Comparison.read(path)


@pytest.mark.parametrize("text", ["", "0", "x", "1-", "4-2", "1,,2"])
def test_seeds_that_are_none(text):
    with pytest.raises(BadValue, match="seeds is"):
        seeds_from(text)


def test_one_run_of_a_comparison(file):
    assert Comparison.read(file).pick("rings").lr == 0.3
    with pytest.raises(UnknownName, match="did you mean 'rings'"):
        Comparison.read(file).pick("ring")


SCALED = """
rounds = 100

[comparison]
seeds = [0, 1, 2]
expect = ["fedavg, many > ring, many", "ring, few > fedavg, few"]

[figures]
"fedavg, many" = { accuracy = 0.9 }

[sweep.size]
few = { clients = 4 }
many = { clients = 400, samples = 30 }

[[runs]]
algorithm = "fedavg"

[[runs]]
algorithm = "ring"
epochs = 9

[runs.scale.quick]
epochs = 2

[scale.quick]
rounds = 3

[scale.quick.comparison]
seeds = [0]

[scale.quick.sweep.size]
few = { clients = 4 }
"""


def test_a_short_version_in_the_same_file(tmp_path):
    (tmp_path / "a.toml").write_text(SCALED)
    whole, quick = (Comparison.read(tmp_path / "a.toml", scale=scale) for scale in (None, "quick"))
    assert [entry.name for entry in whole.entries] == ["fedavg, few", "fedavg, many", "ring, few", "ring, many"]
    assert whole.entries[3].labels == {"run": "ring", "size": "many"}
    cell = whole.cells()[3]
    assert (cell.experiment.rounds, cell.experiment.epochs, cell.experiment.clients) == (100, 9, 400)
    assert [entry.name for entry in quick.entries] == ["fedavg, few", "ring, few"]
    assert [(c.experiment.rounds, c.experiment.epochs) for c in quick.cells()] == [(3, 1), (3, 2)]
    assert (quick.terms.seeds, quick.terms.expect, quick.figures) == ((0,), ("ring, few > fedavg, few",), {})
    with pytest.raises(UnknownName, match="scale is 'fast'; allowed is one of paper, quick"):
        Comparison.read(tmp_path / "a.toml", scale="fast")


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"figures": {"fedavgg": {"accuracy": 1}}}, "run in figures is 'fedavgg'"),
        ({"figures": {"fedavg": {"accuracy": "high"}}}, "figures.fedavg is"),
        ({"across": "lr"}, "swept setting is 'lr'"),
        ({"target": "all"}, "target"),
        ({"picture": {"z": 1}}, "z"),
        ({"picture": {"heat": "run", "log": True}}, "log is True; allowed is false for heat maps and stacks"),
        ({"picture": {"form": "stacks", "log": True}}, "log is True; allowed is false for heat maps and stacks"),
    ],
)
def test_what_a_paper_cannot_say(terms, sentence):
    with pytest.raises(BadValue, match=sentence):
        Comparison.make({}, [{}], **terms)


@pytest.mark.parametrize(
    ("shared", "terms", "sentence"),
    [
        ({}, {"hold": 2}, "hold is 2; allowed is 1 unless target is a number"),
        ({}, {"hold": 2, "target": "each"}, "hold is 2; allowed is 1 unless target is a number"),
        ({"target_accuracy": 0.5}, {"hold": 2, "target": 0.5}, "1 where a run stops at target_accuracy"),
        ({"target_own_accuracy": 0.5}, {"hold": 2, "target": 0.5}, "1 where a run stops at target_accuracy"),
        ({}, {"work": "groupings", "target": 0.5}, "target is 0.5; allowed is left out where groupings are compared"),
        ({}, {"work": "bounds", "tail": 3}, "tail is 3; allowed is left out where bounds are compared"),
    ],
)
def test_terms_that_would_do_nothing(shared, terms, sentence):
    with pytest.raises(BadValue, match=sentence):
        Comparison.make(shared, [{}], **terms)
