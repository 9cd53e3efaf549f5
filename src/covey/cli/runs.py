"""The runs of a store: a table of what differs between them, and `covey rm`, `rename` and `export`."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from covey.cli.console import plain
from covey.cli.options import DEFAULT_OUT, Json, Out, complete_run, parse_set
from covey.errors import BadData, BadValue, UnknownName
from covey.report.amounts import size
from covey.store import RunRecord, Store

FORMATS = ("csv", "json", "parquet", "latex")
FIRST = ("name", "accuracy", "status", "rounds")
LAST = ("own_accuracy", "traffic_bytes", "tags", "note", "started")
NUMBERS = ("accuracy", "own_accuracy", "rounds", "traffic_bytes")
NOT_TOLD = ("algorithm", "options", "rounds")  # settings that the name or another column tells
Metrics = dict[str, Any]


def run_rows(out: Path) -> list[dict[str, Any]]:
    """One row per run, and one for each that cannot be read; numbers are numbers."""
    with Store(out, read_only=True) as store:
        rows = [_row(record, store) for record in store.runs()]
        damaged = store.damaged()
    return rows + [{"name": d.run or str(out), "status": "damaged", "damage": d.what} for d in damaged]


def _row(record: RunRecord, store: Store) -> dict[str, Any]:
    last = latest(sound(store.rounds(record.run)))
    damaged = store.damaged(record.run)
    labels = [event for event in store.events(record.run) if event["round"] == 0]
    tags = [event["text"] for event in labels if event["kind"] == "tag"]
    notes = [event["text"] for event in labels if event["kind"] == "note"]
    return {
        "name": record.run,
        "status": record.status,
        "algorithm": record.config.get("algorithm", ""),
        "data": record.config.get("data", ""),
        "rounds": last.get("round", 0),
        "rounds_asked": record.config.get("rounds"),
        **{name: last.get(name) for name in ("accuracy", "own_accuracy", "loss")},
        "traffic_bytes": last.get("traffic_bytes", 0),
        "wall_seconds": last.get("wall_seconds", 0.0),
        "tags": tags,
        "note": "; ".join(notes),
        "started": datetime.fromtimestamp(record.created).isoformat(" ", "seconds"),
        "settings": _flat(record.config),
        **({"damage": damaged[0].what} if damaged else {}),
    }


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    options = config.get("options")
    return {**{k: v for k, v in config.items() if k != "options"}, **(options if isinstance(options, dict) else {})}


def chosen(rows: list[dict[str, Any]], where: Sequence[str], tag: str | None, sort: str | None) -> list[dict[str, Any]]:
    """The rows that a filter lets through, in the order asked for."""
    wanted = parse_set(list(where))
    known = {key for row in rows for key in (*row, *row.get("settings", {}))}
    for key in (*wanted, *((sort.lstrip("-"),) if sort else ())):
        if rows and key not in known:
            raise UnknownName("column", key, known)
    kept = [row for row in rows if all(str(_value(row, key)) == str(value) for key, value in wanted.items())]
    kept = [row for row in kept if tag is None or tag in row.get("tags", [])]
    if sort:
        key, down = sort.lstrip("-"), sort.startswith("-") or sort in ("accuracy", "own_accuracy")
        there = [row for row in kept if _value(row, key) is not None]
        numbers = all(_is_number(_value(row, key)) for row in there)
        there.sort(key=lambda row: _value(row, key) if numbers else str(_value(row, key)), reverse=down)
        kept = there + [row for row in kept if _value(row, key) is None]
    return kept


def _value(row: dict[str, Any], key: str) -> Any:
    return row.get(key, row.get("settings", {}).get(key))


def runs_table(rows: list[dict[str, Any]], width: int) -> Table:
    """What was asked for, what came out, and the settings that differ; as many columns as there is room for."""
    settings = [row.get("settings", {}) for row in rows if "settings" in row]
    keys = dict.fromkeys(key for found in settings for key in found if key not in NOT_TOLD)
    differ = [key for key in keys if len({str(found.get(key)) for found in settings}) > 1]
    damage = ["damage"] if any("damage" in row for row in rows) else []
    told = [*FIRST, *damage, *differ, *(name for name in LAST if any(row.get(name) for row in rows))]
    cells = {name: [_cell(row, name) for row in rows] for name in dict.fromkeys(told)}
    kept, room = [], width
    for name, column in cells.items():
        wide = max(len(_title(name)), *(len(text) for text in column)) + 2
        if name in FIRST[:2] or name == "damage" or wide <= room:
            kept.append(name)
            room -= wide
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in kept:
        side: Literal["left", "right"] = "right" if name in NUMBERS else "left"
        table.add_column(plain(_title(name)), overflow="fold", justify=side)
    for number in range(len(rows)):
        table.add_row(*(plain(cells[name][number]) for name in kept))
    return table


def _title(name: str) -> str:
    return {"own_accuracy": "own", "traffic_bytes": "traffic"}.get(name, name)


def _cell(row: dict[str, Any], name: str) -> str:
    value = _value(row, name)
    if name == "rounds":
        return f"{value}/{row.get('rounds_asked', '?')}" if value is not None else ""
    if value is None or value == []:
        return ""
    if name == "traffic_bytes":
        return size(value)
    if name in ("accuracy", "own_accuracy"):
        return f"{value:.4f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def rm(
    runs: Annotated[list[str], typer.Argument(help="names of the runs", autocompletion=complete_run)],
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """Remove runs: their rounds, events and checkpoints."""
    _must_be(out)
    with Store(out) as store:
        for run in runs:
            store.get(run)
        for run in runs:
            with store.owned(run):
                pass  # nobody is running it
            store.discard(run)
    print(json.dumps({"removed": runs}) if as_json else f"removed {', '.join(runs)}")


def rename(
    run: Annotated[str, typer.Argument(help="name of the run", autocompletion=complete_run)],
    name: Annotated[str, typer.Argument(help="its new name")],
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """Give a run another name."""
    _must_be(out)
    with Store(out) as store:
        store.get(run)
        store.rename(run, name)
    print(json.dumps({"run": name}) if as_json else f"{run} is {name} now")


def export(
    run: Annotated[str, typer.Argument(help="name of the run", autocompletion=complete_run)],
    format: Annotated[str, typer.Option(help=", ".join(FORMATS))] = "csv",
    to: Annotated[Path | None, typer.Option(help="file to write; standard output unless given")] = None,
    out: Out = DEFAULT_OUT,
) -> None:
    """Every round of a run, to take away: CSV, JSON, Parquet or LaTeX."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    with Store(out, read_only=True) as store:
        store.get(run)
        rounds = flat_rounds(store.rounds(run))
    if format == "parquet":
        _parquet(rounds, to)
        return
    text = {"csv": _csv, "json": _json, "latex": _latex}[format](rounds)
    if to is None:
        sys.stdout.write(text)
        return
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadValue("to", str(to), f"a file that can be written ({error.strerror})") from None
    Console(stderr=True).print(f"wrote {plain(to)}", highlight=False, soft_wrap=True)


NESTED = ("traffic", "inside", "checkpoint")  # what is no number


def flat_rounds(rounds: list[Metrics]) -> list[Metrics]:
    """The rounds with one number per column: traffic by tier is spread over columns of its own."""
    flat = []
    for row in rounds:
        tiers = row.get("traffic")
        spread = {f"traffic_{tier}": count for tier, count in tiers.items()} if isinstance(tiers, dict) else {}
        flat.append({key: value for key, value in row.items() if key not in NESTED} | spread)
    return flat


def _columns(rounds: list[Metrics]) -> list[str]:
    return list(dict.fromkeys(key for row in rounds for key in row))


def _csv(rounds: list[Metrics]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rounds), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rounds)
    return text.getvalue()


def _json(rounds: list[Metrics]) -> str:
    return json.dumps(rounds) + "\n"


def _latex(rounds: list[Metrics]) -> str:
    """A table for a paper: the columns that a reader looks for."""
    shown = [
        name for name in ("round", "accuracy", "own_accuracy", "loss", "traffic_bytes") if name in _columns(rounds)
    ]
    lines = [f"\\begin{{tabular}}{{{'r' * len(shown)}}}", "\\hline"]
    lines += [" & ".join(name.replace("_", " ") for name in shown) + " \\\\", "\\hline"]
    for row in rounds:
        cells = [row.get(name, "") for name in shown]
        lines.append(" & ".join(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells) + " \\\\")
    return "\n".join([*lines, "\\hline", "\\end{tabular}"]) + "\n"


def _parquet(rounds: list[Metrics], to: Path | None) -> None:
    if to is None:
        raise BadValue("to", None, "the name of a file where the format is parquet")
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise BadData("Parquet needs pyarrow, which is not here; install covey[tables]") from None
    try:
        columns = {key: [row.get(key) for row in rounds] for key in _columns(rounds)}
        parquet.write_table(pyarrow.table(columns), to)
    except OSError as error:
        raise BadValue("to", str(to), f"a file that can be written ({error.strerror or error})") from None


def _must_be(out: Path) -> None:
    """A store that is not there is not made by a command that only changes one."""
    if not (out / "covey.db").is_file():
        raise BadValue("out", str(out), "the folder of a run store; there is none in it")


def latest(rounds: list[Metrics]) -> Metrics:
    """The newest value of every metric; not every round is evaluated."""
    return {name: value for row in rounds for name, value in row.items()}


COLUMNS = ("round", "accuracy", "own_accuracy", "loss", "models", "trainings", "traffic_bytes", "wall_seconds")
IF_KNOWN = ("attack_success", "epsilon", "simulated_seconds", "cost")


def sound(rounds: list[Metrics]) -> list[Metrics]:
    """The rounds without values of columns that are no numbers, as a database may have that was edited."""
    columns = (*COLUMNS, *IF_KNOWN)
    return [{name: v for name, v in row.items() if name not in columns or _is_number(v)} for row in rounds]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
