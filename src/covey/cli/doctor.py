"""`covey doctor`: what of a store is whole, and what can be saved of the rest."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from covey.cli.console import console, plain
from covey.cli.options import DEFAULT_OUT, Json, Out
from covey.store import Damage, Health, examine, repair

Repair = Annotated[bool, typer.Option("--repair", help="write it anew from what is whole; the rest is kept beside it")]


def doctor(out: Out = DEFAULT_OUT, mend: Repair = False, as_json: Json = False) -> None:
    """Check a store: its database, its checkpoints and their digests. Exit code 1 if something is damaged."""
    done = repair(out) if mend else []
    health = examine(out)
    if as_json:
        repaired = {"repaired": [asdict(what) for what in done]} if mend else {}
        print(json.dumps(asdict(health) | repaired))
    else:
        _tell(health, done)
    if health.damaged:
        raise typer.Exit(1)


def _tell(health: Health, done: list[Damage]) -> None:
    screen = console()
    if done:
        screen.print(_table("repaired", done))
    if health.damaged:
        screen.print(_table("damaged", health.damaged))
    screen.print(f"{health.runs} runs, {health.whole} whole")
    if health.damaged:
        screen.print("write it anew from what is whole with: covey doctor --repair")


def _table(title: str, found: list[Damage]) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column(title)
    table.add_column("what", overflow="fold")
    for damage in found:
        table.add_row(plain("the store" if damage.run is None else damage.run), plain(damage.what))
    return table
