"""`covey list` and `covey show`: what there is, and what a run did."""

from __future__ import annotations

import inspect
import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import covey
from covey.algorithms import ALGORITHMS, make_algorithm
from covey.cli.console import console
from covey.cli.options import DEFAULT_OUT, Json, Out
from covey.cli.progress import size
from covey.data import DATASETS, PARTITIONS
from covey.errors import UnknownName
from covey.grouping import GROUPINGS
from covey.local import RULES
from covey.merge import MERGES, SERVERS
from covey.models import MODELS
from covey.network.devices import DEVICES
from covey.registry import Registry
from covey.report.curves import curves
from covey.store import RunRecord, Store

TABLES: dict[str, Registry[Any]] = {
    "algorithms": ALGORITHMS,
    "groupings": GROUPINGS,
    "datasets": DATASETS,
    "partitions": PARTITIONS,
    "models": MODELS,
    "local": RULES,
    "merges": MERGES,
    "servers": SERVERS,
    "devices": DEVICES,
}
COLUMNS = ("round", "accuracy", "own_accuracy", "loss", "models", "trainings", "traffic_bytes", "wall_seconds")


def list_(
    what: Annotated[str, typer.Argument(help=f"runs, {', '.join(TABLES)}")] = "runs",
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """What there is: runs, or anything that has a name."""
    if what == "runs":
        rows = _runs(out)
    elif what in TABLES:
        rows = [_entry(entry) for entry in TABLES[what]]
    else:
        raise UnknownName("list", what, ["runs", *TABLES])
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        console().print(f"no runs in {out} yet; start one with: covey run fedavg")
        return
    table = Table(box=None, header_style="bold")
    columns = dict.fromkeys(name for row in rows for name in row if any(other.get(name) for other in rows))
    for name in columns:
        table.add_column(name, no_wrap=name == "name", overflow="fold")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in columns))
    console().print(table)


def _entry(entry: Any) -> dict[str, str]:
    row = {"name": entry.name, "summary": entry.summary, "paper": entry.paper}
    if entry.name in ALGORITHMS and ALGORITHMS.entry(entry.name) is entry:
        row["plan"] = make_algorithm(entry.name).sketch
    if entry.settings:
        row["settings"] = ", ".join(f"{name}={value}" for name, value in entry.settings.items())
    named = isinstance(entry.thing, type) or inspect.isfunction(entry.thing)
    source = inspect.getsourcefile(inspect.unwrap(entry.thing)) if named else None
    home = Path(covey.__file__).parent
    if source and home in Path(source).parents:
        row["file"] = Path(source).relative_to(home.parent).as_posix()
    return row


def _runs(out: Path) -> list[dict[str, Any]]:
    if not out.exists():
        return []
    with Store(out) as store:
        records = [(record, _latest(store.rounds(record.run))) for record in store.runs()]
    return [
        {
            "name": record.run,
            "status": record.status,
            "algorithm": record.config["algorithm"],
            "data": record.config["data"],
            "rounds": f"{last.get('round', 0)}/{record.config['rounds']}",
            "accuracy": round(last.get("accuracy", 0.0), 4),
            "traffic": size(last.get("traffic_bytes", 0)),
            "started": datetime.fromtimestamp(record.created).isoformat(" ", "seconds"),
        }
        for record, last in records
    ]


def show(
    run: Annotated[str, typer.Argument(help="name of the run")],
    out: Out = DEFAULT_OUT,
    plot: Annotated[Path | None, typer.Option(help="draw accuracy over rounds and traffic into this PNG")] = None,
    as_json: Json = False,
) -> None:
    """What a run did: its settings, its rounds, what was lost."""
    with Store(out) as store:
        record, rounds, events = store.get(run), store.rounds(run), store.events(run)
    if plot is not None:
        curves({run: rounds}, plot)
    if as_json:
        print(json.dumps(summary_of(record, rounds)))
        return
    screen = console()
    screen.print(f"[bold]{run}[/bold]  {record.status}")
    screen.print("  ".join(f"{k}={v}" for k, v in record.config.items() if v not in (None, {})), style="dim")
    table = Table(box=None, header_style="bold")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    shown = rounds if len(rounds) <= 24 else [*rounds[:4], *rounds[4 : -4 : max(1, len(rounds) // 16)], *rounds[-4:]]
    for row in shown:
        cells = [row.get(name, "") for name in COLUMNS]
        table.add_row(*(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells))
    screen.print(table)
    for event in events:
        screen.print(f"round {event['round']}: {event['kind']}: {event['text']}", style="yellow")
    if record.status != "finished":
        screen.print(f"[dim]go on with: covey resume {run}[/dim]")
    if plot is not None:
        screen.print(f"picture: {plot}")


def summary_of(record: RunRecord, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The run's summary; of one that is not finished, as far as it came."""
    if record.summary:
        return record.summary
    head = {"run": record.run, "algorithm": record.config["algorithm"], "status": record.status}
    blank = {"accuracy": None, "loss": None, "round": 0, "traffic_bytes": 0, "wall_seconds": 0.0, "model_sha256": None}
    latest = blank | _latest(rounds)
    return {**head, **latest, "rounds": latest["round"]}


def _latest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest value of every metric; not every round is evaluated."""
    return {name: value for row in rounds for name, value in row.items()}
