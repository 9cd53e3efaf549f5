"""`covey list` and `covey show`: what there is, and what a run did."""

from __future__ import annotations

import inspect
import json
import shlex
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import covey
from covey.cli.console import console, fitted, plain
from covey.cli.options import DEFAULT_OUT, Json, Out, complete_run
from covey.cli.runs import COLUMNS, IF_KNOWN, chosen, latest, run_rows, runs_table, sound
from covey.errors import BadData, BadValue, UnknownName
from covey.registry import Registry
from covey.store import RunRecord, Store

SPARE = ("wall_seconds", "models", "trainings", "epsilon", "attack_success", "cost", "simulated_seconds", "loss")
TABLES = {
    "algorithms": "covey.algorithms:ALGORITHMS",
    "groupings": "covey.grouping:GROUPINGS",
    "datasets": "covey.data:DATASETS",
    "partitions": "covey.data:PARTITIONS",
    "models": "covey.models:MODELS",
    "local": "covey.local:RULES",
    "augmentations": "covey.local:AUGMENTATIONS",
    "merges": "covey.merge:MERGES",
    "servers": "covey.merge:SERVERS",
    "devices": "covey.network.devices:DEVICES",
    "attacks": "covey.attack:ATTACKS",
    "trackers": "covey.track:TRACKERS",
}
"""Where what has a name is registered; imported when it is asked for."""


def list_(
    what: Annotated[str, typer.Argument(help=f"runs, {', '.join(TABLES)}")] = "runs",
    sort: Annotated[str | None, typer.Option(help="sort runs by a column or setting; -lr: from high to low")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="only runs with this setting, status, …")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="only runs with this tag")] = None,
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """What there is: runs, with the settings in which they differ, or anything that has a name."""
    if what != "runs" and (sort or where or tag):
        raise BadValue("list", what, "runs where --sort, --where or --tag is given")
    if what == "runs":
        every = run_rows(out)
        rows = chosen(every, where or [], tag, sort)
    elif what in TABLES:
        rows = [_entry(entry) for entry in table_of(what)]
    else:
        raise UnknownName("list", what, ["runs", *TABLES])
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        none = "no runs like that in" if every else "no runs in"
        more = "" if every else " yet; start one with: covey run fedavg"
        console().print(f"{none} {plain(out)}{more}")
        return
    if what == "runs":
        screen = console()
        screen.print(runs_table(rows, screen.width))
        if any("damage" in row for row in rows):
            screen.print(f"see: covey doctor{_where(out)}")
        return
    table = Table(box=None, header_style="bold")
    columns = dict.fromkeys(name for row in rows for name in row if any(other.get(name) for other in rows))
    for name in columns:
        table.add_column(name, no_wrap=name == "name", overflow="fold")
    for row in rows:
        table.add_row(*(plain(row.get(name, "")) for name in columns))
    console().print(table)


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


def show(
    run: Annotated[str, typer.Argument(help="name of the run", autocompletion=complete_run)],
    out: Out = DEFAULT_OUT,
    plot: Annotated[Path | None, typer.Option(help="draw accuracy over rounds and traffic into this PNG")] = None,
    as_json: Json = False,
) -> None:
    """What a run did: its settings, its rounds, what was lost."""
    with Store(out, read_only=True) as store:
        record, rounds, events = store.get(run), sound(store.rounds(run)), store.events(run)
        damaged = store.damaged(run)
    if plot is not None and not any("accuracy" in row for row in rounds):
        raise BadData(f"run {run} has no accuracy yet that could be drawn")
    if plot is not None:
        from covey.report.curves import curves

        curves({run: rounds}, plot)
    if as_json:
        print(json.dumps(summary_of(record, rounds) | _details(record, rounds, events, out)))
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
    screen.print(fitted(table, screen, SPARE))  # --json has them all
    for event in events:
        if event["kind"] == "versions":
            screen.print(plain(event["text"]), style="dim")
            continue
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


def _details(
    record: RunRecord, rounds: list[dict[str, Any]], events: list[dict[str, Any]], out: Path
) -> dict[str, Any]:
    """What the summary leaves out: settings, every round, what happened, the groups and who has which model."""
    found: dict[str, Any] = {"settings": record.config, "history": rounds, "events": events, "groups": None}
    found["model_of"] = None
    if not any(row.get("checkpoint") for row in rounds):
        return found
    try:
        with Store(out, read_only=True) as store:
            data = store.checkpoint(record.run).data
    except BadData as error:
        return found | {"damage": str(error)}
    try:
        groups = data["state"].get("groups")
        told = [[int(i) for i in members] for members in groups] if isinstance(groups, list) else None
        return found | {"groups": told, "model_of": [int(k) for k in data["home"]]}
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        return found | {"damage": "the newest checkpoint does not say in a way that can be read who has which model"}


def summary_of(record: RunRecord, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The run's summary; of one that is not finished, as far as it came."""
    if record.summary:
        return record.summary
    head = {"run": record.run, "algorithm": record.config.get("algorithm"), "status": record.status}
    blank = {"accuracy": None, "loss": None, "round": 0, "traffic_bytes": 0, "wall_seconds": 0.0, "model_sha256": None}
    newest = blank | latest(rounds)
    return {**head, **newest, "rounds": newest["round"]}
