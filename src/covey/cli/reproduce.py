"""`covey reproduce`: the tables and figures of the five papers, the papers' figures beside ours."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from covey.cli.compare import watched
from covey.cli.console import console, plain
from covey.cli.options import DEFAULT_OUT, Json, Out
from covey.cli.progress import bars
from covey.cli.results import print_result
from covey.compare import carry_out, rows_of, seeds_from
from covey.errors import BadValue, CoveyError, UnknownName
from covey.reproduce import Item, Result, find, items, missing_data, result_of, state_of
from covey.reproduce.result import FILE, folder_of
from covey.reproduce.search import choices
from covey.reproduce.tables import as_csv, latex, markdown, sheet_of

ALL = "all"
USUAL = ("quick", "paper")  # scales that every item has


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...|all", help="which tables and figures; see --list")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="show every table and figure and its state here")] = False,
    scale: Annotated[
        str,
        typer.Option(help="quick, minutes, or paper, as long as the paper's settings take; some have others: --list"),
    ] = "quick",
    seeds: Annotated[str | None, typer.Option(help="how many (3), a range (0-4) or a list (0,2,5)")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="this run of it alone, as the table names it; may be given again"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="runs made at once")] = 1,
    pages: Annotated[
        Path | None,
        typer.Option(
            help="then write one page a paper into this folder, of all results in --out and of those kept there before"
        ),
    ] = None,
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """Repeat tables and figures of the five papers; the papers' figures stand beside ours.

    Tables (markdown, LaTeX, CSV) and pictures go to OUT/reproduce. Runs that are in the store already are not made
    again; what was stopped goes on with the same command.
    """
    if list_:
        _list(out, as_json=as_json)
        return
    if not names and pages is None:
        raise BadValue("name", None, "names of tables and figures, or all; see: covey reproduce --list")
    whole = names == [ALL]
    if only and (whole or len(names or ()) != 1):
        raise BadValue("only", ", ".join(only), "of use with the name of one table or figure")
    wanted = list(items()) if whole else [find(name) for name in names or []]
    scales = dict.fromkeys(s for item in wanted for s in item.scales)
    if whole and scale not in scales:
        raise UnknownName("scale", scale, list(scales))
    told: list[dict[str, Any]] = []
    failed: list[str] = []
    begun = time.monotonic()
    for item in wanted:
        if whole and item.paper.cannot is None and scale not in item.scales:
            continue
        gap = item.paper.cannot or missing_data(item, scale)
        if gap:
            state = f"not expressible ({gap})" if item.paper.cannot else f"without its data: covey data get {gap}"
            if not whole:
                raise BadValue("name", item.name, f"one that can be repeated here; this one is {state}")
            if not as_json:
                console().print(f"{item.name}: {plain(state)}", soft_wrap=True)
            continue
        try:
            told.append(_one(item, scale, seeds, only, jobs, out, quiet=as_json))
        except CoveyError as error:
            if not whole:
                raise
            failed.append(f"{item.name}: {error}")
            console().print(f"{item.name} failed: {plain(error)}", style="red", soft_wrap=True)
    if whole and not as_json:
        console().print(f"{len(told)} tables and figures in {(time.monotonic() - begun) / 60:.1f} minutes")
    if pages is not None:
        from covey.reproduce.pages import write_pages

        for path in write_pages(out, pages):
            if not as_json:
                console().print(f"page: {plain(path)}", soft_wrap=True)
    if as_json and names:
        print(json.dumps(told if whole or len(told) != 1 else told[0]))
    if failed:
        raise typer.Exit(1)


def _one(
    item: Item, scale: str, seeds: str | None, only: list[str] | None, jobs: int, out: Path, *, quiet: bool
) -> dict[str, Any]:
    from covey.reproduce.picture import draw

    terms: dict[str, Any] = {"seeds": seeds_from(seeds)} if seeds else {}
    comparison = item.comparison(scale, terms)
    comparison = comparison.only(only) if only else comparison
    folder = folder_of(out, item.name, scale)
    begun = time.monotonic()
    with bars() as watch:
        done, spent = carry_out(comparison, out, jobs=jobs, **watched(watch, comparison))
    rows, _ = rows_of(comparison, done, spent)
    result = result_of(comparison, rows, item.name, scale)
    result.write(folder / FILE)
    sheet = sheet_of(result)
    texts = {"table.md": markdown(sheet), "table.tex": latex(sheet), "table.csv": as_csv(result)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    drawn = [*([] if scale == "paper" else [f"scale {scale}"]), result.whose]
    head = f"{item.paper.system}, {item.paper.item}: {result.title} ({', '.join(drawn)})"
    picture = draw(comparison, rows, folder / "picture.png", head)
    if not quiet:
        _print(item, result, time.monotonic() - begun)
        console().print(f"in {plain(folder)}: {', '.join(texts)}{', picture.png' if picture else ''}", soft_wrap=True)
    chosen = [vars(choice) for choice in choices(item, result)]
    return result.to_json() | ({"choices": chosen} if chosen else {}) | {"picture": str(picture) if picture else None}


def _print(item: Item, result: Result, seconds: float) -> None:
    screen = console()
    head = f"{item.paper.system}, {item.paper.item}, scale {result.scale}: {item.paper.shows}"
    screen.print(plain(head), style="bold", highlight=False)
    for text in item.paper.instead:
        screen.print(f"other than in the paper: {plain(text)}", style="dim", highlight=False)
    print_result(screen, result)
    for choice in choices(item, result):
        screen.print(plain(choice), highlight=False)
    screen.print(f"{result.whose}; {seconds:.0f} s", style="dim", highlight=False)


def _list(out: Path, *, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for item in items():
        state, why = state_of(item)
        done = [s for s in item.scales if Result.read(folder_of(out, item.name, s) / FILE) is not None]
        paper = item.paper
        rows.append(
            {
                "name": item.name,
                "paper": paper.system,
                "item": paper.item,
                "kind": paper.kind,
                "state": state,
                "why": why,
                "minutes": {s: paper.minutes.get(s) for s in USUAL},
                "memory": {s: paper.memory.get(s) for s in USUAL},
                "further": {
                    s: {"minutes": paper.minutes.get(s), "memory": paper.memory.get(s)}
                    for s in item.scales
                    if s not in USUAL
                },
                "done": done,
                "shows": paper.shows,
            }
        )
    if as_json:
        print(json.dumps(rows))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("name", "state", "done", "minutes, quick", "paper", "MB, quick", "paper", "shows"):
        table.add_column(name, justify="right" if "quick" in name or name == "paper" else "left", overflow="fold")
    for row in rows:
        numbers = [row[key][s] for key in ("minutes", "memory") for s in USUAL]
        cells = ["-" if number is None else f"{number:g}" for number in numbers]
        further = "".join(f" Also: --scale {s}." for s in row["further"])
        table.add_row(row["name"], row["state"], ", ".join(row["done"]), *cells, plain(row["shows"] + further))
    console().print(table)
