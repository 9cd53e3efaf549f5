import io

from rich.console import Console

from covey.cli.progress import bars
from covey.loop import Report
from covey.plan import Train
from covey.report.amounts import size


def shown(console, reports):
    with bars(console) as show:
        for run, metrics in reports:
            show(Report(run, 3, metrics, Train(0), []))
    return console.file.getvalue()


ROUNDS = [
    ("fedavg-1", {"round": 1, "accuracy": 0.25, "loss": 2.0, "traffic_bytes": 5000}),
    ("fedavg-1", {"round": 2, "traffic_bytes": 10_000}),
    ("ring-1", {"round": 3, "accuracy": 0.75, "loss": 1.0, "traffic_bytes": 15_000}),
]


def test_a_bar_a_run_for_a_person():
    text = shown(Console(file=io.StringIO(), force_terminal=True, width=140, color_system=None), ROUNDS)
    last = text.split("\r")[-1] if "\r" in text else text
    assert "fedavg-1" in last
    assert "2/3" in last
    assert "accuracy 0.250 loss 2.000 10.0 kB" in last  # of the last round that was evaluated
    assert "accuracy 0.750 loss 1.000 15.0 kB" in last


def test_silence_for_a_pipe():
    assert shown(Console(file=io.StringIO(), force_terminal=False), ROUNDS) == ""


def test_sizes():
    assert [size(n) for n in (0, 999, 1000, 1.5e6, 2e9, 3e12, 4e15)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "2.0 GB",
        "3.0 TB",
        "4000.0 TB",
    ]
