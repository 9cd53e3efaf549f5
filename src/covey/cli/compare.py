"""`covey compare`: several algorithms on the same fleet at an equal budget, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from covey.cli.console import console, plain, visible
from covey.cli.options import DEFAULT_OUT, AllowCode, Json, Out, Set, is_file, parse_set, with_experiment_options
from covey.cli.progress import Watch, bars
from covey.cli.report import compared, write_report
from covey.cli.results import figures, heading, print_result, print_rows
from covey.compare import Cell, Comparison, Done, carry_out, rows_of, seeds_from, verdicts
from covey.errors import BadValue, UnknownName
from covey.report.curves import bands
from covey.report.picture import check_ending
from covey.reproduce import result_of

SYSTEMS = ["fedavg", "hierfavg", "fedavg-ic", "tornadoes", "ihc-fl", "group-fel", "fedgsp"]
"""What is compared unless algorithms are named: FedAvg, HierFAVG, and the five systems that are measured by them."""
OWN: dict[str, dict[str, Any]] = {
    "hierfavg": {"tau2": 2},
    "fedavg-ic": {"groups": 5, "tau2": 2},
    "tornadoes": {"chains": 2, "tau1": 1, "tau2": 2},
    "group-fel": {"group_rounds": 2, "sample": 0.5},
    "fedgsp": {"beta": 5},
}
"""Settings for a fleet of 50 with one epoch at a time; the papers' are for larger fleets and longer rounds."""


@with_experiment_options(without=("budget",))
def compare(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM]...|FILE.toml", help="which; FedAvg, HierFAVG and the five systems unless given"
        ),
    ] = None,
    algorithms: Annotated[str | None, typer.Option(help="the same with commas, as fedavg,fedgsp")] = None,
    seeds: Annotated[str | None, typer.Option(help="how many (3), a range (0-4) or a list (0,2,5)")] = None,
    equal: Annotated[
        str | None,
        typer.Option("--budget", help="what all may spend as much of: traffic, rounds, cost or seconds"),
    ] = None,
    amount: Annotated[float | None, typer.Option(help="how much of it; what the first run spends unless given")] = None,
    target: Annotated[float | None, typer.Option(help="accuracy to reach; the first run's unless given")] = None,
    hold: Annotated[
        int | None, typer.Option(help="evaluations in a row that have to be at the target; 1 unless given")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="which scale of a file that has several, such as quick")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="runs made at once")] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="where the picture goes; comparison.png in --out unless given")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="where the report goes; report.html in --out unless given")
    ] = None,
    set_: Set = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Several algorithms on one fleet at an equal budget: live bars, a table, a picture, a report.

    Or what a TOML file compares (docs/toml.md). `--set fedgsp.beta=5` is a setting of one run. Runs that are in the
    store already are not made again; a comparison that was stopped goes on with the same command.
    """
    terms = {"seeds": seeds and seeds_from(seeds, settings.get("seed", 0)), "budget": equal, "amount": amount}
    terms |= {"target": target, "hold": hold}
    terms = {key: value for key, value in terms.items() if value is not None}
    names, given = _names(what, algorithms), {**settings, **parse_set(set_)}
    comparison = _comparison(names, given, terms, scale, allow_code)
    path = check_ending(plot or out / "comparison.png", "plot")
    with bars() as watch:
        done, spent = carry_out(comparison, out, jobs=jobs, **watched(watch, comparison))
        rows, target = rows_of(comparison, done, spent)
        title = heading(comparison, rows, spent)
        page = None
        if comparison.terms.work == "runs":
            watch.say("drawing the report")
            (page,) = write_report(compared(rows, out), title, report or out / "report.html")
    if comparison.picture is not None:
        from covey.reproduce.picture import draw

        draw(comparison, rows, path, title)
    elif any(rounds for row in rows for rounds in row.within) and page is not None:
        bands({row.entry.name: row.within for row in rows}, path, title=title, scale="linear")
    result = figures(comparison, rows, target, spent, verdicts(comparison, rows)) | {"picture": str(path)}
    result |= {} if page is None else {"report": str(page)}
    if as_json:
        print(json.dumps(result))
        return
    if comparison.terms.work == "runs":
        print_rows(console(), comparison, rows, target, title, verdicts(comparison, rows))
    else:
        print_result(console(), result_of(comparison, rows, title, scale or "paper"))
    if path.is_file():
        console().print(f"picture: {plain(path)}", soft_wrap=True, highlight=False)
    if page is not None:
        console().print("everything in one page, to open in a browser:", highlight=False)
        console().print(plain(page), soft_wrap=True, highlight=False)


def watched(watch: Watch, comparison: Comparison) -> dict[str, Any]:
    """How `carry_out` tells the watch which runs begin and end, and lets it see their rounds."""
    watch.wanted = len(comparison.cells())

    def name(cell: Cell) -> str:
        return cell.entry.name if cell.seed == 0 else f"{cell.entry.name}, seed {cell.seed}"

    def ends(done: Done) -> None:
        watch.over(name(done.cell))
        if done.failure:
            failed = f"{done.cell.entry.name}, seed {done.cell.seed} failed: {done.failure}"
            watch.console.print(visible(failed), markup=False, soft_wrap=True)

    return {"begins": lambda cell: [watch.begin(name(cell))], "ends": ends}


def _names(what: list[str] | None, algorithms: str | None) -> list[str]:
    named = [name.strip() for name in (algorithms or "").split(",") if name.strip()]
    return [*(what or []), *named] or SYSTEMS


def _comparison(
    names: list[str], given: dict[str, Any], terms: dict[str, Any], scale: str | None, allow_code: bool
) -> Comparison:
    """What to compare; settings of one run are named with it, as `fedgsp.beta`."""
    from covey.algorithms import ALGORITHMS

    if len(names) == 1 and names[0] not in ALGORITHMS and (names[0].endswith(".toml") or is_file(names[0])):
        _refuse_dots(given)
        return Comparison.read(names[0], given, terms, scale=scale, allow_code=allow_code)
    if scale is not None:
        raise BadValue("scale", scale, "of use with a file only")
    for name in names:
        ALGORITHMS[name]  # or the nearest name
    own: dict[str, dict[str, Any]] = {name: {} for name in names}
    shared: dict[str, Any] = {}
    for key, value in given.items():
        run, setting = _of_one(key, names)
        (shared if run is None else own[run])[setting] = value
    runs = []
    for name in names:
        usual = {key: value for key, value in OWN.get(name, {}).items() if key not in shared}
        runs.append({"algorithm": name, **usual, **own[name]})
    clients = shared.get("clients")
    few = min(5, clients) if isinstance(clients, int) and clients > 0 else 5  # what is no number is refused below
    edges = shared.get("edges") or _edges_of(str(shared.get("partition"))) or few
    return Comparison.make({"network": f"tree:{edges}", **shared}, runs, **{"budget": "traffic", **terms})


def _of_one(key: str, names: list[str]) -> tuple[str | None, str]:
    """The run and the setting that a key names; the names of runs may have dots and dashes, settings have none."""
    name, dot, setting = key.rpartition(".")
    if not dot:
        return None, key
    for known in names:
        if known.replace("-", "_") == name:
            return known, setting
    raise UnknownName("run", name.replace("_", "-"), names)


def _edges_of(partition: str) -> int | None:
    """How many edges a fleet's file names."""
    name, _, file = partition.partition(":")
    if name != "counts":
        return None
    from covey.grouping.table import read_fleet

    edges = read_fleet(file).edges
    return None if edges is None else int(edges.max()) + 1


def _refuse_dots(given: dict[str, Any]) -> None:
    for key in given:
        if "." in key:
            raise BadValue("set", key, "a setting of all runs of the file; edit the file for one")
