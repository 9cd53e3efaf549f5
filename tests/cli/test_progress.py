import io

from rich.console import Console

from covey.cli.progress import Watch, bars
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


def test_a_line_says_what_every_run_is_at():
    watch = Watch(Console(file=io.StringIO(), force_terminal=False))
    assert watch.line().endswith(" s: starting")
    watch.wanted = 3
    first, second = watch.begin("star"), watch.begin("ring")
    first(Report("star-1", 5, {"round": 2, "accuracy": 0.5, "traffic_bytes": 1}, Train(0), []))
    assert watch.line().endswith(
        " s: 0 of 3 runs done; star: round 2 of 5, accuracy 0.500; ring: loading, grouping, round 1"
    )
    watch.over("star")
    first(Report("star-1", 5, {"round": 3, "traffic_bytes": 1}, Train(0), []))  # told late
    second(Report("ring-1", 5, {"round": 1, "traffic_bytes": 1}, Train(0), []))
    assert watch.line().endswith(" s: 1 of 3 runs done; ring: round 1 of 5")


def test_bars_have_the_names_they_were_given_and_end_with_their_run():
    console = Console(file=io.StringIO(), force_terminal=True, width=140, color_system=None)
    with bars(console) as show:
        star, ring = show.begin("star"), show.begin("ring")
        ring(Report("ring-1", 4, {"round": 1, "traffic_bytes": 1000}, Train(0), []))
        star(Report("star-1", 4, {"round": 2, "traffic_bytes": 2000}, Train(0), []))
        show.over("star")
        tasks = {task.description: task for task in show.progress.tasks}
    assert (tasks["star"].finished, tasks["ring"].finished) == (True, False)
    assert (tasks["star"].completed, tasks["ring"].completed) == (2, 1)


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
