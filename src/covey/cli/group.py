"""`covey group`: groups for a fleet in a CSV file, by one method or by all of them side by side."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from covey.cli.console import console
from covey.cli.group_cost import group_cost, lines
from covey.errors import BadData, BadValue, CoveyError
from covey.grouping import GROUPINGS, Grouping, choose_groups, measure, options
from covey.grouping import group as form_groups
from covey.grouping.table import ClientTable, edge_distances, read_clients, read_csv, read_distances, write_groups
from covey.seeds import generator

SHOWN_GROUPS = 20
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, eq=False)
class Result:
    """One method's groups, and the figures that `--json` prints."""

    method: str
    grouping: Grouping
    figures: dict[str, Any]


def group(
    file: Annotated[Path, typer.Argument(help="CSV: `client`, one column a label, optionally `edge`.")],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(GROUPINGS.names)}; or `all` to compare.")] = "cov",
    min_size: Annotated[int | None, typer.Option(help="Clients that every group has at least.")] = None,
    groups: Annotated[str | None, typer.Option(help="How many groups, or `auto`.")] = None,
    network: Annotated[
        str | None, typer.Option(help="Distances: a CSV table, a network file or name (fat-tree:8), or `edges`.")
    ] = None,
    updates: Annotated[
        Path | None, typer.Option(help="Model updates: a .npy array, one row a client, in the order of the file.")
    ] = None,
    search: Annotated[int | None, typer.Option(help="Passes of local search (`cov`, `kmedoids`).")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the method, as `deal=assign`; can be given again.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Group on counts with Laplace noise of that privacy.")] = None,
    prices: Annotated[
        str | None, typer.Option(help="Say what secure aggregation costs: cifar-secure, or a file of bench-groupops.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same groups.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write `client,group` to this CSV file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the labels of every group into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Group the clients of a fleet; what is printed is measured on the counts in the file."""
    _check_can_write(out, plot)
    fleet = read_clients(file)
    chosen = _pairs(option or []) | ({} if search is None else {"search": str(search)})
    job = _Job(fleet, min_size, groups, _distances(network, fleet), _updates(updates), chosen, epsilon, seed)
    if method == "all":
        if out or plot or prices:
            raise BadValue("method", "all", "one method where --out, --plot or --prices is given")
        results, failures = _compare(job)
        if as_json:
            failed = [{"method": name, "error": why} for name, why in failures.items()]
            typer.echo(json.dumps([result.figures for result in results] + failed))
        else:
            _print_comparison(results, failures)
        return
    GROUPINGS.entry(method)
    with Console(stderr=True).status(f"grouping {len(fleet.names):,} clients by {method}"):
        result = job.run(method)
        if prices is not None:
            result.figures["secure_aggregation"] = group_cost(result.grouping, prices, job.formed(method))
    if out:
        write_groups(out, fleet.names, result.grouping)
    if plot:
        from covey.grouping.plot import plot_grouping

        plot_grouping(result.grouping, fleet.labels, title=method, label_names=fleet.label_names).savefig(plot, dpi=150)
    if as_json:
        typer.echo(json.dumps(result.figures))
    else:
        _print_one(result, fleet, [path for path in (out, plot) if path], epsilon)


@dataclass(frozen=True, eq=False)
class _Job:
    """What every method is run on."""

    fleet: ClientTable
    min_size: int | None
    groups: str | None
    distances: NDArray[np.float64] | None
    updates: NDArray[np.float64] | None
    chosen: dict[str, str]
    epsilon: float | None
    seed: int

    def run(self, method: str, *, lenient: bool = False) -> Result:
        """Group by that method and measure; `lenient` passes over options that the method does not have."""
        rng = generator(self.seed, "group")
        labels = self.fleet.labels
        if self.epsilon is not None:
            from covey.grouping.privacy import noised

            labels = noised(labels, epsilon=self.epsilon, rng=rng)
        inputs = {"edges": self.fleet.edges, "distances": self.distances, "updates": self.updates}
        extras: dict[str, Any] = {name: table for name, table in inputs.items() if table is not None}
        for name, text in self.chosen.items():
            if name in options(method) or not lenient:
                extras[name] = _value(method, name, text)
        _warm_up(method)
        began = time.perf_counter()
        count = self._count(method, labels, rng, extras)
        grouping = form_groups(method, labels, groups=count, min_size=self.min_size, rng=rng, **extras)
        seconds = time.perf_counter() - began
        measured = measure(grouping, self.fleet.labels, distances=self.distances, updates=self.updates)
        return Result(method, grouping, {"method": method, **measured.to_dict(), "seconds": seconds})

    def formed(self, method: str) -> Callable[[int], tuple[Grouping, float]]:
        """The groups of that method for a least size, and their CoV."""

        def form(min_size: int) -> tuple[Grouping, float]:
            found = replace(self, min_size=min_size).run(method)
            return found.grouping, float(found.figures["cov"])

        return form

    def _count(
        self, method: str, labels: NDArray[np.int64], rng: np.random.Generator, extras: dict[str, Any]
    ) -> int | None:
        if self.groups is None:
            return None
        if self.groups == "auto":
            return choose_groups(labels, method=method, min_size=self.min_size, rng=rng, **extras).groups
        if not self.groups.isdecimal():
            raise BadValue("groups", self.groups, "a whole number from 1 up, or 'auto'")
        return int(self.groups)


def _pairs(given: list[str]) -> dict[str, str]:
    """`["deal=assign"]` as a dictionary."""
    for text in given:
        if "=" not in text:
            raise BadValue("option", text, "a name, an equals sign and a value, as deal=assign")
    return {name.strip().replace("-", "_"): value.strip() for name, _, value in (text.partition("=") for text in given)}


def _value(method: str, option: str, text: str) -> Any:
    """The text as the kind of value that the option has by default; a number if it is one where it has none."""
    if option not in options(method):
        return text
    default = inspect.signature(GROUPINGS[method]).parameters[option].default
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    kinds: tuple[type, ...] = (int,) if isinstance(default, int) else (float,) if default is not None else (int, float)
    for kind in kinds:
        with suppress(ValueError):
            return kind(text)
    raise BadValue(option, text, "a whole number" if kinds == (int,) else "a number")


def _warm_up(method: str) -> None:
    """Group four made-up clients, so that the clock does not see what is imported at first use."""
    with suppress(CoveyError):
        made_up: dict[str, Any] = {"edges": [0, 0, 1, 1], "distances": 1 - np.eye(4), "updates": np.eye(4)}
        form_groups(method, 9 * np.eye(4, dtype=int), groups=2, rng=generator(0, "warm up"), **made_up)


def _compare(job: _Job) -> tuple[list[Result], dict[str, str]]:
    """Every method on the same fleet, the most even groups first; and why those that cannot run cannot."""
    results: list[Result] = []
    failures: dict[str, str] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("grouping", total=len(GROUPINGS))
        for name in GROUPINGS.names:
            progress.update(task, description=name)
            try:
                results.append(job.run(name, lenient=True))
            except CoveyError as error:
                failures[name] = str(error)
            progress.advance(task)
    return sorted(results, key=lambda result: float(result.figures["cov"])), failures


def _check_can_write(out: Path | None, plot: Path | None) -> None:
    """Refuse before grouping what could not be written after it."""
    for field, path in (("out", out), ("plot", plot)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise BadValue(field, str(path), "a file in a folder that exists")
    if plot is not None and plot.suffix not in PICTURES:
        raise BadValue("plot", str(plot), f"a file that ends with {', '.join(PICTURES)}")


def _distances(network: str | None, fleet: ClientTable) -> NDArray[np.float64] | None:
    """The table of distances that a file holds; hops through a network; 2 or 4 hops by shared edge or not."""
    if network is None:
        return None
    if network == "edges":
        if fleet.edges is None:
            raise BadValue("network", "edges", "a file or a topology, since the fleet has no column 'edge'")
        return edge_distances(fleet.edges)
    is_file = network.endswith((".csv", ".graphml"))
    if network.endswith(".csv") and "source" not in read_csv(network)[0]:
        return read_distances(network, fleet.names)
    from covey.network import Link, hop_matrix, network_from, place, read

    if not is_file:
        edge_of = [0] * len(fleet.names) if fleet.edges is None else fleet.edges.tolist()
        return place(network_from(network, edge_of), edge_of).hops().astype(np.float64)
    found = read(Path(network), link=Link())
    for name in fleet.names:
        if name not in found.number:
            raise BadData(f"{network}: client {name!r} is not a node of the network")
    return hop_matrix(found, fleet.names).astype(np.float64)


def _updates(path: Path | None) -> NDArray[np.float64] | None:
    if path is None:
        return None
    try:
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    except (OSError, ValueError) as error:
        raise BadData(f"{path}: not a .npy array of numbers ({error})") from None


def _print_one(result: Result, fleet: ClientTable, wrote: list[Path], epsilon: float | None) -> None:
    screen = console()
    screen.print(_table([result]))
    if epsilon is not None:
        screen.print(f"grouped on counts with Laplace noise, epsilon {epsilon:g}; measured on the true counts")
    for line in lines(result.figures["secure_aggregation"]) if "secure_aggregation" in result.figures else ():
        screen.print(escape(line), highlight=False)
    for path in wrote:
        screen.print(f"wrote {path}", highlight=False)
    for k, members in enumerate(result.grouping.groups[:SHOWN_GROUPS]):
        screen.print(f"[bold]{k}[/]  {escape(', '.join(fleet.names[i] for i in members))}", highlight=False)
    if len(result.grouping) > SHOWN_GROUPS:
        screen.print(f"and {len(result.grouping) - SHOWN_GROUPS} more groups; --out FILE.csv writes them all")
    if result.grouping.left_out:
        idle = [fleet.names[i] for i in result.grouping.left_out]
        more = f" and {len(idle) - SHOWN_GROUPS} more" if len(idle) > SHOWN_GROUPS else ""
        screen.print(f"left out: {escape(', '.join(idle[:SHOWN_GROUPS]))}{more}", highlight=False)


def _print_comparison(results: list[Result], failures: dict[str, str]) -> None:
    screen = console()
    screen.print(_table(results))
    for name, why in failures.items():
        screen.print(f"[bold]{name}[/] cannot run: {escape(why)}", highlight=False)


def _table(results: list[Result]) -> Table:
    hops = any("hops" in r.figures for r in results)
    table = Table(box=None, header_style="bold")
    table.add_column("method", no_wrap=True)
    names = ["groups", "sizes", "CoV", "EMD", "KL", "CPD", *(["hops"] if hops else []), "left out", "seconds"]
    for name in names:
        table.add_column(name, justify="right")
    for result in results:
        f = result.figures
        sizes = f"{f['sizes']['min']}-{f['sizes']['max']}"
        cells = [str(f["groups"]), sizes, *(f"{f[name]:.3f}" for name in ("cov", "emd", "kl")), f"{f['cpd']:.4f}"]
        cells += [f"{f['hops']:,.0f}"] if hops else []
        table.add_row(f"[bold]{result.method}[/]", *cells, str(f["left_out"]), f"{f['seconds']:.3f}")
    return table
