"""`covey report`: runs as one page that opens offline, or every picture of it as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.console import console, plain
from covey.cli.options import DEFAULT_OUT, AllowCode, Json, Out
from covey.cli.progress import bars
from covey.errors import BadValue, UnknownName
from covey.store import Store

if TYPE_CHECKING:
    from covey.compare import Row
    from covey.report.story import Entry

FORMATS = ("html", "png", "svg", "pdf")


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="names of the runs")],
    to: Annotated[
        Path | None, typer.Option(help="file to write, or with pictures the folder; report.html or report unless given")
    ] = None,
    format: Annotated[str, typer.Option(help="html, or every picture as a file: png, svg or pdf")] = "html",
    title: Annotated[str | None, typer.Option(help="heads the page")] = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Runs as one page that opens offline: curves, fairness, labels, groups, plans, network, time, settings.

    Runs that differ in their seed alone are one line with a band.
    """
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    with bars() as watch:
        watch.say("loading")
        from covey.compare.fleets import Fleets  # torch takes seconds
        from covey.report.story import entries
        from covey.retrace import retrace

        fleets = Fleets()
        with Store(out, read_only=True) as store:
            names = [store.get(run).run for run in dict.fromkeys(runs)]
            stories = []
            for name in names:
                watch.say(f"looking at {name}")
                stories.append(retrace(store, name, fleets, allow_code=allow_code))
        found = entries(stories)
        watch.say("drawing")
        heading = title or (names[0] if len(names) == 1 else ", ".join(entry.name for entry in found))
        written = write_report(found, heading, to) if format == "html" else _pictures(found, format, to)
    if as_json:
        print(json.dumps({"report": [str(path) for path in written]}))
        return
    for path in written:
        console().print(plain(path), soft_wrap=True, highlight=False)


def compared(rows: Sequence[Row], out: Path) -> list[Entry]:
    """The rows of a comparison for a report: lines within the budget, and what the run of the first seed was."""
    from covey.compare.fleets import Fleets
    from covey.report.story import Entry, Story
    from covey.retrace import retrace

    fleets, found = Fleets(), []
    with Store(out, read_only=True) as store:
        for row in rows:
            if row.runs[0] is not None:
                story = retrace(store, row.runs[0], fleets, allow_code=True)  # the settings are ours
            else:
                why = "; ".join(row.failures) or "the run came to nothing"
                missing = dict.fromkeys(("labels", "groups", "plan", "network", "own"), why)
                story = Story(row.entry.name, "failed", row.settings, (), missing=missing)
            found.append(Entry(row.entry.name, row.within, story))
    return found


def write_report(found: Sequence[Entry], title: str, to: Path | None) -> list[Path]:
    """Write the page."""
    from covey.report.page import report as page

    path = to or Path("report.html")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(found, title), encoding="utf-8")
    except OSError as error:
        raise BadValue("to", str(path), f"a file that can be written ({error.strerror or error})") from None
    return [path]


def _pictures(found: Sequence[Entry], format: str, to: Path | None) -> list[Path]:
    from covey.report.page import pictures

    folder = to or Path("report")
    if folder.exists() and not folder.is_dir():
        raise BadValue("to", str(folder), "a folder, since every picture is a file of its own")
    written = []
    for name, picture in pictures(found).items():
        path = folder / f"{name}.{format}"
        picture.save(path)
        written.append(path)
    return written
