"""`covey list` and `covey show`: what there is, and what a run did."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import covey
from covey.cli.console import console, plain
from covey.cli.options import DEFAULT_OUT, Json, Out
from covey.cli.progress import size
from covey.errors import BadData, UnknownName
from covey.registry import Registry
from covey.store import RunRecord, Store

TABLES = {
    "algorithms": "covey.algorithms:ALGORITHMS",
    "groupings": "covey.grouping:GROUPINGS",
    "datasets": "covey.data:DATASETS",
    "partitions": "covey.data:PARTITIONS",
    "models": "covey.models:MODELS",
    "local": "covey.local:RULES",
    "merges": "covey.merge:MERGES",
    "servers": "covey.merge:SERVERS",
    "devices": "covey.network.devices:DEVICES",
    "attacks": "covey.attack:ATTACKS",
}
"""Where what has a name is registered; imported when it is asked for."""

COLUMNS = ("round", "accuracy", "own_accuracy", "loss", "models", "trainings", "traffic_bytes", "wall_seconds")
IF_KNOWN = ("attack_success", "epsilon", "simulated_seconds", "cost")


def list_(
    what: Annotated[str, typer.Argument(help=f"runs, {', '.join(TABLES)}")] = "runs",
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """What there is: runs, or anything that has a name."""
    if what == "runs":
        rows = _runs(out)
    elif what in TABLES:
        rows = [_entry(entry) for entry in table_of(what)]
    else:
        raise UnknownName("list", what, ["runs", *TABLES])
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        console().print(f"no runs in {plain(out)} yet; start one with: covey run fedavg")
        return
    table = Table(box=None, header_style="bold")
    columns = dict.fromkeys(name for row in rows for name in row if any(other.get(name) for other in rows))
    for name in columns:
        table.add_column(name, no_wrap=name == "name", overflow="fold")
    for row in rows:
        table.add_row(*(plain(row.get(name, "")) for name in columns))
    console().print(table)
    if "damage" in columns:
        console().print(f"see: covey doctor{_where(out)}")


def table_of(what: str) -> Registry[Any]:
    """The registry behind a word of `TABLES`."""
    module, _, name = TABLES[what].partition(":")
    found: Registry[Any] = getattr(import_module(module), name)
    return found


def _entry(entry: Any) -> dict[str, str]:
    row = {"name": entry.name, "summary": entry.summary, "paper": entry.paper}
    if hasattr(entry.thing, "sketch"):
        from covey.algorithms import make_algorithm

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
    """One row a run, and one for each that cannot be read."""
    with Store(out, read_only=True) as store:
        rows = [_run(record, store) for record in store.runs()]
        damaged = store.damaged()
    unreadable = [{"name": damage.run or str(out), "status": "damaged", "damage": damage.what} for damage in damaged]
    return rows + unreadable


def _run(record: RunRecord, store: Store) -> dict[str, Any]:
    last = _latest(_sound(store.rounds(record.run)))
    damaged = store.damaged(record.run)
    return {
        "name": record.run,
        "status": record.status,
        "algorithm": record.config.get("algorithm", ""),
        "data": record.config.get("data", ""),
        "rounds": f"{last.get('round', 0)}/{record.config.get('rounds', '?')}",
        "accuracy": round(last.get("accuracy", 0.0), 4),
        "traffic": size(last.get("traffic_bytes", 0)),
        "started": datetime.fromtimestamp(record.created).isoformat(" ", "seconds"),
        **({"damage": damaged[0].what} if damaged else {}),
    }


def show(
    run: Annotated[str, typer.Argument(help="name of the run")],
    out: Out = DEFAULT_OUT,
    plot: Annotated[Path | None, typer.Option(help="draw accuracy over rounds and traffic into this PNG")] = None,
    as_json: Json = False,
) -> None:
    """What a run did: its settings, its rounds, what was lost."""
    with Store(out, read_only=True) as store:
        record, rounds, events = store.get(run), _sound(store.rounds(run)), store.events(run)
        damaged = store.damaged(run)
    if plot is not None and not any("accuracy" in row for row in rounds):
        raise BadData(f"run {run} has no accuracy yet that could be drawn")
    if plot is not None:
        from covey.report.curves import curves

        curves({run: rounds}, plot)
    if as_json:
        print(json.dumps(summary_of(record, rounds)))
        return
    screen = console()
    screen.print(f"[bold]{plain(run)}[/bold]  {record.status}")
    settings = "  ".join(f"{k}={v}" for k, v in record.config.items() if v not in (None, {}))
    screen.print(plain(settings), style="dim")
    table = Table(box=None, header_style="bold")
    columns = [*COLUMNS, *(name for name in IF_KNOWN if any(name in row for row in rounds))]
    for name in columns:
        table.add_column(name, justify="right")
    shown = rounds if len(rounds) <= 24 else [*rounds[:4], *rounds[4 : -4 : max(1, len(rounds) // 16)], *rounds[-4:]]
    for row in shown:
        cells = [row.get(name, "") for name in columns]
        table.add_row(*(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells))
    screen.print(table)
    for event in events:
        said = f"round {event['round']}: {event['kind']}: {event['text']}"
        screen.print(plain(said), style="yellow")
    for damage in damaged:
        screen.print(f"damaged: {plain(damage.what)}; see: covey doctor{_where(out)}", style="red")
    if record.status != "finished":
        screen.print(f"[dim]go on with: covey resume {plain(run)}{_where(out)}[/dim]")
    if plot is not None:
        screen.print(f"picture: {plain(plot)}")


def _where(out: Path) -> str:
    """The option that names the store again, where it is not the usual one."""
    return "" if out == DEFAULT_OUT else f" --out {plain(shlex.quote(str(out)))}"


def summary_of(record: RunRecord, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The run's summary; of one that is not finished, as far as it came."""
    if record.summary:
        return record.summary
    head = {"run": record.run, "algorithm": record.config.get("algorithm"), "status": record.status}
    blank = {"accuracy": None, "loss": None, "round": 0, "traffic_bytes": 0, "wall_seconds": 0.0, "model_sha256": None}
    latest = blank | _latest(rounds)
    return {**head, **latest, "rounds": latest["round"]}


def _latest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest value of every metric; not every round is evaluated."""
    return {name: value for row in rounds for name, value in row.items()}


def _sound(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rounds without values of columns that are no numbers, as a database may have that was edited."""
    columns = (*COLUMNS, *IF_KNOWN)
    return [{name: v for name, v in row.items() if name not in columns or _is_number(v)} for row in rounds]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
