import pytest
from matplotlib.figure import Figure

from covey.errors import BadValue
from covey.report.curves import bands, curves

ONE = [
    {"round": r, "accuracy": r / 10, "own_accuracy": r / 20, "models": 1, "traffic_bytes": r * 2_000_000}
    for r in (1, 2, 3)
]
SEVERAL = [row | {"models": 2} for row in ONE[:2]] + [{"round": 3, "models": 2, "traffic_bytes": 6_000_000}]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))
    return figures


def lines(axes):
    return {line.get_label(): [tuple(map(float, point)) for point in line.get_xydata()] for line in axes.lines}


def test_a_line_a_run_over_rounds_and_traffic(drawn, tmp_path):
    curves({"fedavg": ONE, "rings": SEVERAL}, tmp_path / "curves.png", title="digits")
    rounds, traffic, own_rounds, own_traffic = drawn[0].axes
    assert lines(rounds) == {
        "fedavg": [(1, 0.1), (2, 0.2), (3, 0.3)],
        "rings": [(1, 0.1), (2, 0.2)],  # the third round was not evaluated
    }
    assert lines(own_rounds)["rings"] == [(1, 0.05), (2, 0.1)]
    assert lines(traffic)["fedavg"] == [(2, 0.1), (4, 0.2), (6, 0.3)]
    assert lines(own_traffic)["fedavg"] == [(2, 0.05), (4, 0.1), (6, 0.15)]
    assert (rounds.get_xlabel(), traffic.get_xlabel()) == ("global round", "traffic, MB")
    assert (rounds.get_ylabel(), own_rounds.get_ylabel()) == (
        "accuracy of the global model",
        "clients' accuracy on their own data",
    )
    assert (traffic.get_xscale(), rounds.get_ylim()) == ("linear", (0, 1))
    assert drawn[0].get_suptitle() == "digits"


def test_a_panel_for_what_every_run_has(drawn, tmp_path):
    timed = [row | {"simulated_seconds": row["round"] / 2, "cost": 1.0} for row in ONE]
    curves({"a": timed, "b": timed}, tmp_path / "curves.png")
    curves({"a": timed, "b": ONE}, tmp_path / "curves.png")
    curves({"a": timed}, tmp_path / "curves.png", over=["simulated_seconds"])
    assert [len(figure.axes) for figure in drawn] == [2 * 4, 2 * 2, 2 * 1]
    assert lines(drawn[2].axes[0])["a"] == [(0.5, 0.1), (1, 0.2), (1.5, 0.3)]


def test_lines_that_coincide_are_both_seen(drawn, tmp_path):
    curves({"fedavg": ONE, "star": ONE, "other": [row | {"accuracy": 0.9} for row in ONE]}, tmp_path / "curves.png")
    below, above, other = drawn[0].axes[0].lines
    assert (below.get_linestyle(), above.get_linestyle(), other.get_linestyle()) == ("-", "--", "-")
    assert below.get_linewidth() > above.get_linewidth()


def test_seeds_are_a_mean_and_a_band(drawn, tmp_path):
    bands({"a": [ONE, [row | {"accuracy": 0.9} for row in ONE[:2]]]}, tmp_path / "curves.png", over=["round"])
    axes = drawn[0].axes[0]
    assert lines(axes)["a"] == [(1, (0.1 + 0.9) / 2), (2, (0.2 + 0.9) / 2)]  # as far as both go
    assert len(axes.collections) == 1


def test_a_picture_is_written_where_there_was_no_folder(tmp_path):
    curves({"fedavg": ONE}, tmp_path / "new" / "curves.png")
    assert (tmp_path / "new" / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "file/curves.png",
            r"picture is '.*'; allowed is a file that can be written \((Not a directory|File exists)\)",
        ),
        ("curves.nope", r"picture is '.*curves.nope'; allowed is the name of a file that ends in \.png, \.pdf"),
        ("curves", r"allowed is the name of a file that ends in"),
        (".png", r"allowed is the name of a file that ends in"),
        ("x" * 300 + ".png", r"a file that can be written \(File name too long\)"),
    ],
)
def test_a_picture_that_cannot_be_written(tmp_path, name, sentence):
    (tmp_path / "file").touch()
    with pytest.raises(BadValue, match=sentence):
        curves({"fedavg": ONE}, tmp_path / name)


def test_names_are_drawn_letter_by_letter(tmp_path):
    curves({"$\\frac{": ONE, "[/b] 名": ONE}, tmp_path / "curves.png", title="$x^$ \\notacommand")
    assert (tmp_path / "curves.png").exists()


@pytest.mark.parametrize(("traffic", "scale"), [((1, 9), "linear"), ((1, 10), "log"), ((0, 100), "linear")])
def test_traffic_is_logarithmic_where_it_spans_a_power_of_ten(drawn, tmp_path, traffic, scale):
    rows = [{"round": r, "accuracy": 0.5, "traffic_bytes": t * 1_000_000} for r, t in enumerate(traffic)]
    curves({"a": rows}, tmp_path / "curves.png")
    assert drawn[0].axes[1].get_xscale() == scale
