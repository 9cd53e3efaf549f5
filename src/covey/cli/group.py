"""`covey group`: groups for a fleet in a file, by one method or by all of them side by side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from covey.cli.console import console, fitted, plain, visible
from covey.cli.group_inputs import pairs, read_network, read_updates
from covey.cli.group_job import MINUTES, Job, Result, duration
from covey.cli.progress import Watch, bars
from covey.errors import BadValue, CoveyError
from covey.grouping import GROUPINGS
from covey.grouping.table import ClientTable, read_fleet, write_groups

SPARE = ("CPD", "KL", "seconds", "EMD", "hops")  # columns that a narrow terminal goes without; --json has them
SHOWN_GROUPS = 20
SHOWN_MEMBERS = 50


def group(
    file: Annotated[
        Path, typer.Argument(help="CSV: `client`, one column per label, optionally `edge`. Or .npy: clients x labels.")
    ],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(GROUPINGS.names)}; or `all` to compare.")] = "cov",
    min_size: Annotated[int | None, typer.Option(help="Clients that every group has at least.")] = None,
    max_size: Annotated[int | None, typer.Option(help="Clients that every group has at most.")] = None,
    groups: Annotated[str | None, typer.Option(help="How many groups, or `auto`.")] = None,
    within_edges: Annotated[
        bool | None,
        typer.Option(
            "--within-edges/--across-edges",
            help="Keep groups inside edges, or let them cross edges; by default as the method does.",
        ),
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="The edge of every client of a .npy fleet: a .npy array.")] = None,
    network: Annotated[
        str | None, typer.Option(help="Distances: a CSV table, a network file or name (fat-tree:8), or `edges`.")
    ] = None,
    updates: Annotated[
        Path | None, typer.Option(help="Model updates: a .npy array, one row per client, in the order of the file.")
    ] = None,
    search: Annotated[
        int | None, typer.Option(help="Passes of local search; 3 for `cov` and 1 for `kmedoids` where that is quick.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the method, as `deal=assign`; can be given again.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Group on counts with Laplace noise of that privacy.")] = None,
    prices: Annotated[
        str | None, typer.Option(help="Say what secure aggregation costs: cifar-secure, or a file of bench-groupops.")
    ] = None,
    slow: Annotated[bool, typer.Option("--slow", help="Also what takes minutes among `all`, or hours alone.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same groups.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write `client,group` to this CSV file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the labels of every group into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Group the clients of a fleet; what is printed is measured on the counts in the file."""
    _check_can_write(out, plot)
    if method != "all":
        GROUPINGS.entry(method)
    elif out or plot or prices:
        raise BadValue("method", "all", "one method where --out, --plot or --prices is given")
    with bars() as watch:
        watch.say(f"reading {file}")
        fleet = read_fleet(file, edges)
        job = Job(
            fleet=fleet,
            min_size=min_size,
            max_size=max_size,
            groups=groups,
            within_edges=within_edges,
            distances=read_network(network, fleet),
            updates=read_updates(updates),
            chosen=pairs(option or []) | ({} if search is None else {"search": str(search)}),
            epsilon=epsilon,
            seed=seed,
        )
        if method == "all":
            results, others = _compare(job, watch, slow=slow)
        else:
            result = _one(job, method, watch, slow=slow)
            if prices is not None:
                from covey.cli.group_cost import group_cost

                result.figures["secure_aggregation"] = group_cost(result.grouping, prices, job.formed(method))
    if method == "all":
        if as_json:
            typer.echo(json.dumps([result.figures for result in results] + [other.figures for other in others]))
        else:
            _print_comparison(results, others)
        return
    if out:
        _write(out, fleet, result)
    if plot:
        from covey.report.groups import draw_groups

        draw_groups(plot, result.grouping, fleet.labels, title=method, label_names=fleet.label_names)
    if as_json:
        typer.echo(json.dumps(result.figures))
    else:
        _print_one(result, fleet, [path for path in (out, plot) if path], epsilon)


def _one(job: Job, method: str, watch: Watch, *, slow: bool) -> Result:
    if not slow:
        job.check_time(method)
    expected = job.seconds(method)
    about = f", about {duration(expected)}" if expected > 2 else ""
    watch.say(f"grouping {len(job.fleet.names):,} clients by {method}{about}")
    return job.run(method)


@dataclass(frozen=True)
class _Other:
    """A method that did not run, and why: it failed, or it was left out."""

    method: str
    why: str
    failed: bool

    def __str__(self) -> str:
        return f"cannot run: {self.why}" if self.failed else f"was left out: {self.why}"

    @property
    def figures(self) -> dict[str, str]:
        """What `--json` prints."""
        return {"method": self.method, "error" if self.failed else "left_out_because": self.why}


def _compare(job: Job, watch: Watch, *, slow: bool) -> tuple[list[Result], list[_Other]]:
    """Every method on the same fleet, the most even groups first, told as they end; and those that did not run."""
    results: list[Result] = []
    others: list[_Other] = []
    for name in GROUPINGS.names:
        watch.say(name)
        try:
            if not slow and (expected := job.seconds(name)) > MINUTES:
                others.append(_Other(name, f"it takes about {duration(expected)} here; --slow runs it", failed=False))
                said = str(others[-1])
            else:
                results.append(job.run(name, lenient=True))
                f = results[-1].figures
                said = f"{f['groups']:,} groups, CoV {f['cov']:.3f}, {f['seconds']:.2f} s"
        except CoveyError as error:
            others.append(_Other(name, str(error), failed=True))
            said = str(others[-1])
        watch.console.print(visible(f"{name} {said}"), markup=False, highlight=False, soft_wrap=True)
    return sorted(results, key=lambda result: float(result.figures["cov"])), others


def _check_can_write(out: Path | None, plot: Path | None) -> None:
    """Refuse before grouping what could not be written after it."""
    for field, path in (("out", out), ("plot", plot)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise BadValue(field, str(path), "a file in a folder that exists")
    if plot is not None:
        from covey.report.picture import check_ending

        check_ending(plot)


def _write(out: Path, fleet: ClientTable, result: Result) -> None:
    try:
        write_groups(out, fleet.names, result.grouping)
    except OSError as error:
        raise BadValue("out", str(out), f"a file that can be written ({error.strerror or error})") from None


def _print_one(result: Result, fleet: ClientTable, wrote: list[Path], epsilon: float | None) -> None:
    screen = console()
    screen.print(fitted(_table([result]), screen, SPARE))
    if passes := result.figures.get("search"):
        screen.print(f"after {passes} pass{'es' * (passes > 1)} of search; --search 0 is the paper's grouping")
    if "crossing" in result.figures:
        screen.print(_edges(result))
    if epsilon is not None:
        screen.print(f"grouped on counts with Laplace noise, epsilon {epsilon:g}; measured on the true counts")
    if "secure_aggregation" in result.figures:
        from covey.cli.group_cost import lines

        for line in lines(result.figures["secure_aggregation"]):
            screen.print(plain(line), highlight=False)
    for path in wrote:
        screen.print(f"wrote {plain(path)}", highlight=False)
    for k, members in enumerate(result.grouping.groups[:SHOWN_GROUPS]):
        screen.print(f"[bold]{k}[/]  {_listed(members, fleet)}", highlight=False)
    if len(result.grouping) > SHOWN_GROUPS:
        screen.print(f"and {len(result.grouping) - SHOWN_GROUPS:,} more groups; --out FILE.csv writes them all")
    if result.grouping.left_out:
        screen.print(f"left out: {_listed(result.grouping.left_out, fleet)}", highlight=False)


def _edges(result: Result) -> str:
    crossing, count = result.figures["crossing"], result.figures["groups"]
    if not crossing:
        return "no group crosses an edge"
    return f"{crossing:,} of {count:,} groups have clients of several edges; --within-edges keeps them apart"


def _listed(members: tuple[int, ...], fleet: ClientTable) -> str:
    more = f" and {len(members) - SHOWN_MEMBERS:,} more" if len(members) > SHOWN_MEMBERS else ""
    return plain(", ".join(fleet.names[i] for i in members[:SHOWN_MEMBERS])) + more


def _print_comparison(results: list[Result], others: list[_Other]) -> None:
    screen = console()
    if results:
        screen.print(fitted(_table(results), screen, SPARE))
    if any("crossing" in r.figures for r in results):
        screen.print("crossing: groups with clients of several edges; --within-edges keeps every method inside edges")
    for other in others:
        screen.print(f"[bold]{plain(other.method)}[/] {plain(other)}", highlight=False)


def _table(results: list[Result]) -> Table:
    hops, edges = (any(name in r.figures for r in results) for name in ("hops", "crossing"))
    table = Table(box=None, header_style="bold")
    table.add_column("method", no_wrap=True)
    left_out = any(r.figures["left_out"] for r in results)
    names = ["groups", "sizes", "CoV", "EMD", "KL", "CPD", *["hops"] * hops, *["crossing"] * edges]
    for name in (*names, *["left out"] * left_out, "seconds"):
        table.add_column(name, justify="right")
    for result in results:
        f = result.figures
        sizes = f"{f['sizes']['min']}-{f['sizes']['max']}"
        cells = [str(f["groups"]), sizes, *(f"{f[name]:.3f}" for name in ("cov", "emd", "kl")), f"{f['cpd']:.4f}"]
        cells += [f"{f['hops']:,.0f}"] if hops else []
        cells += [str(f["crossing"])] if edges else []
        cells += [str(f["left_out"])] if left_out else []
        table.add_row(f"[bold]{plain(result.method)}[/]", *cells, f"{f['seconds']:.3f}")
    return table
