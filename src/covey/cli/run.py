"""`covey run` and `covey resume`."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from covey.cli.console import console, plain
from covey.cli.options import (
    DEFAULT_OUT,
    AllowCode,
    Json,
    Out,
    Set,
    complete_algorithm,
    experiment,
    parse_set,
    with_experiment_options,
)
from covey.cli.progress import bars, size
from covey.compare import Comparison
from covey.errors import Stopped


@with_experiment_options
def run(
    source: Annotated[
        str, typer.Argument(metavar="ALGORITHM|FILE.toml", help="what to run", autocompletion=complete_algorithm)
    ],
    only: Annotated[str | None, typer.Option(help="which run of a file that holds several")] = None,
    name: Annotated[str | None, typer.Option(help="what the run is called; algorithm-data-1 unless given")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="a word to find it by; may be given several times")] = None,
    note: Annotated[str | None, typer.Option(help="what it is for")] = None,
    set_: Set = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Train: an algorithm by name, or an experiment from a TOML file; every option overrides the file."""
    from covey.experiment.life import start  # here, as in every command: torch takes seconds, and help needs none

    given = {**settings, **parse_set(set_)}
    if only is None:
        wanted = experiment(source, given, allow_code=allow_code)
    else:
        terms = {"budget": "rounds"} | _seed(given)
        wanted = Comparison.read(source, given, terms, allow_code=allow_code).pick(only)
    labels = [*(("tag", text) for text in tag or []), *([("note", note)] if note else [])]
    with bars() as watch, resumable(out):
        watch.say(f"{wanted.algorithm} on {wanted.data}: loading, grouping, round 1")
        run, summary = start(wanted, out, [watch], name=name, labels=labels)
    report(run, summary, out, as_json=as_json)


def _seed(given: dict[str, Any]) -> dict[str, Any]:
    return {"seeds": (given["seed"],)} if "seed" in given else {}


def resume(
    run: Annotated[str | None, typer.Argument(help="name of the run; the latest unfinished one without")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="go on to so many rounds, also with a finished run")] = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Go on where a run was killed; it ends with the model of one that was not, to the bit.

    With --rounds a finished run is extended.
    """
    from covey.experiment.life import resume as resume_run

    with bars() as watch, resumable(out):
        watch.say("loading, finding where it was")
        name, summary = resume_run(run, out, [watch], rounds=rounds, allow_code=allow_code)
    report(name, summary, out, as_json=as_json)


@contextlib.contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Whoever stops what happens meanwhile is told how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"stopped; go on with: covey resume{in_store(out)}") from None


def in_store(out: Path) -> str:
    """What a further command needs to find the same store."""
    return "" if out == DEFAULT_OUT else f" --out {shlex.quote(str(out))}"


def report(name: str, summary: dict[str, Any], out: Path, *, as_json: bool) -> None:
    """The end of a run, for a person or for a program."""
    if as_json:
        print(json.dumps(summary))
        return
    screen = console()
    scores = [f"{label} {summary[key]:.4f}" for key, label in SCORES.items() if summary.get(key) is not None]
    screen.print(f"[bold]{plain(name)}[/bold]  {summary['rounds']} rounds  {'  '.join(scores)}")
    traffic, seconds = size(summary["traffic_bytes"]), summary["wall_seconds"]
    timed = f"  simulated {summary['simulated_seconds']:.2f} s" if "simulated_seconds" in summary else ""
    screen.print(f"traffic {traffic}{timed}  time {seconds:.1f} s  model {summary['model_sha256'][:12]}")
    screen.print(f"[dim]more: covey show {plain(name + in_store(out))}[/dim]", soft_wrap=True)


SCORES = {"accuracy": "accuracy", "own_accuracy": "clients' own accuracy", "loss": "loss"}
