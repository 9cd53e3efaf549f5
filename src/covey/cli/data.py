"""`covey data`: which data sets there are, which are here, how to get the others, and how a split of one looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from covey.cli.console import console, plain, visible
from covey.data import DATASETS, Dataset, find, get, load, load_fleet
from covey.data.datasets import source_of
from covey.data.own import is_own
from covey.fleet import Fleet
from covey.report.picture import check_ending
from covey.words import split

app = typer.Typer(help="Data sets: what there is, what is here, how to get the rest.", no_args_is_help=False)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Name = Annotated[str, typer.Argument(help="A data set, as in `covey data list`.")]
Place = Annotated[
    str, typer.Argument(help="A data set, or data of your own: FILE.npz, FILE.csv:label=COLUMN, FOLDER/.")
]


@app.callback(invoke_without_command=True)
def data(context: typer.Context, as_json: Json = False) -> None:
    """Without a command: the list."""
    if context.invoked_subcommand is None:
        list_data(as_json)


@app.command("list")
def list_data(as_json: Json = False) -> None:
    """Every data set, and where it is or how to get it."""
    rows = sorted((_row(name) for name in DATASETS.names), key=lambda row: not row["built_in"])
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table(box=None, header_style="bold")
    table.add_column("data", no_wrap=True)
    table.add_column("what it is")
    table.add_column("samples", justify="right")
    table.add_column("where, or how to get it", overflow="fold")
    for row in rows:
        place = "built in" if row["built_in"] else row["path"] if row["here"] else row["get"]
        where = f"[green]{plain(place)}[/]" if row["here"] else plain(place)
        table.add_row(f"[bold]{plain(row['name'])}[/]", plain(row["summary"]), _text(row["samples"]), where)
    console().print(table)


def _row(name: str) -> dict[str, Any]:
    entry, found = DATASETS.entry(name), find(name)
    source = entry.thing
    here = found is not None and all(find(needed) is not None for needed in source.needs)
    return {
        "name": name,
        "summary": entry.summary,
        "paper": entry.paper,
        "samples": source.samples,
        "built_in": source.built_in,
        "here": here,
        "path": str(found[1]) if found and here and not source.built_in else None,
        "get": f"covey data get {name}" if source.upstream else source.by_hand,
    }


@app.command("get")
def get_data(name: Name, as_json: Json = False) -> None:
    """Fetch a data set from upstream, with its checksum verified."""
    if source_of(name).built_in:
        where = "built in"
    else:
        with _Download() as progress:
            where = str(get(name, progress=progress))
    typer.echo(json.dumps({"name": name, "path": where}) if as_json else visible(f"{name}: {where}"))


@app.command("show")
def show_data(
    name: Place,
    clients: Annotated[int | None, typer.Option(help="Split over this many clients.")] = None,
    partition: Annotated[str | None, typer.Option(help="How to split: iid, dirichlet:0.1, natural, …")] = None,
    edges: Annotated[int, typer.Option(help="How many edges the clients sit at.")] = 1,
    samples: Annotated[int | None, typer.Option(help="At most this many samples a client.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw who holds what into this file.")] = None,
    as_json: Json = False,
) -> None:
    """Shape, classes, sizes and owners of a data set, and of a split of it."""
    if plot is not None:
        check_ending(plot)
    dataset = load(name)
    facts = _facts(dataset, "data of your own" if is_own(name) else DATASETS.entry(split(name)[0]).summary)
    if clients is not None or partition is not None or plot is not None:
        how = partition or ("natural" if is_own(name) and dataset.owners is not None else "iid")
        fleet = load_fleet(dataset, clients=clients, partition=how, edges=edges, samples=samples, seed=seed)
        facts |= _fleet_facts(fleet, how)
        if plot is not None:
            from covey.report.labels import label_matrix  # matplotlib takes a second to import

            facts["plot"] = str(label_matrix(fleet, plot, title=f"{name}, {how}, {fleet.clients} clients"))
    if as_json:
        typer.echo(json.dumps(facts))
        return
    table = Table(box=None, show_header=False)
    for fact, value in facts.items():
        table.add_row(f"[bold]{fact.replace('_', ' ')}[/]", plain(_text(value)))
    console().print(table)


def _facts(dataset: Dataset, what: str) -> dict[str, Any]:
    facts = {
        "name": dataset.name,
        "what": what,
        "shape": list(dataset.shape),
        "values": str(dataset.x.dtype),
        "classes": dataset.classes,
        "train": len(dataset.y),
        "test": len(dataset.test_y),
        "owners": None,
    }
    if dataset.owners is not None:
        held = np.unique(dataset.owners, return_counts=True)[1]
        facts |= {"owners": len(held), "samples_per_owner": _spread(held)}
    return facts


def _fleet_facts(fleet: Fleet, partition: str) -> dict[str, Any]:
    return {
        "partition": partition,
        "clients": fleet.clients,
        "edges": len(fleet.by_edge),
        "train_per_client": _spread(fleet.sizes),
        "classes_per_client": _spread((fleet.labels > 0).sum(axis=1)),
    }


def _spread(values: Any) -> dict[str, float]:
    return {"min": int(values.min()), "median": float(np.median(values)), "max": int(values.max())}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{word} {number:g}" for word, number in value.items())
    if isinstance(value, list):
        return " x ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else "-" if value is None else str(value)


class _Download:
    """A rich progress bar in the shape pooch wants: `total`, `update`, `reset`, `close`; shown once bytes come."""

    def __init__(self) -> None:
        columns = (TextColumn("fetching"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("fetching", visible=False)

    def __enter__(self) -> _Download:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @property
    def total(self) -> float | None:
        return self._progress.tasks[0].total

    @total.setter
    def total(self, size: int) -> None:
        self._progress.reset(self._task, total=size, visible=True)

    def update(self, size: int) -> None:
        self._progress.advance(self._task, size)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.update(self._task, visible=False)
