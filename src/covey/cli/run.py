"""`covey run` and `covey resume`."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli.console import console, lines_of, plain
from covey.cli.options import (
    DEFAULT_OUT,
    AllowCode,
    Json,
    Out,
    Set,
    complete_algorithm,
    complete_run,
    experiment,
    parse_set,
    with_experiment_options,
)
from covey.cli.progress import bars
from covey.compare import Comparison
from covey.errors import BadValue, Stopped
from covey.report.amounts import size

if TYPE_CHECKING:
    from covey.loop import Callback

Track = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="tensorboard:DIR, mlflow:URI or wandb:PROJECT; may be given several times"),
]


@with_experiment_options
def run(
    source: Annotated[
        str, typer.Argument(metavar="ALGORITHM|FILE.toml", help="what to run", autocompletion=complete_algorithm)
    ],
    only: Annotated[str | None, typer.Option(help="which run of a file that holds several")] = None,
    scale: Annotated[str | None, typer.Option(help="which scale of that file, such as quick; with --only")] = None,
    name: Annotated[str | None, typer.Option(help="what the run is called; algorithm-data-1 unless given")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="a word to find it by; may be given several times")] = None,
    note: Annotated[str | None, typer.Option(help="what it is for")] = None,
    track: Track = None,
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
    if only is None and scale is not None:
        raise BadValue("scale", scale, "of use with --only, which says which run of a file")
    if only is None:
        wanted = experiment(source, given, allow_code=allow_code)
    else:
        terms = {"budget": "rounds"} | _seed(given)
        wanted = Comparison.read(source, given, terms, scale=scale, allow_code=allow_code).pick(only, given)
    labels = [*(("tag", text) for text in tag or []), *([("note", note)] if note else [])]
    with bars() as watch, resumable(out), tracking(track, wanted.model_dump()) as trackers:
        watch.say(f"{wanted.algorithm} on {wanted.data}: loading, grouping, round 1")
        run, summary = start(wanted, out, [watch, *trackers], name=name, labels=labels)
    report(run, summary, out, as_json=as_json)


def _seed(given: dict[str, Any]) -> dict[str, Any]:
    return {"seeds": (given["seed"],)} if "seed" in given else {}


def resume(
    run: Annotated[
        str | None,
        typer.Argument(help="name of the run; the latest unfinished one without", autocompletion=complete_run),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="go on to this many rounds, also with a finished run")
    ] = None,
    track: Track = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Go on where a run was killed; it ends with the model of one that was not, to the bit.

    With --rounds a finished run is extended.
    """
    from covey.experiment.life import resume as resume_run

    with bars() as watch, resumable(out), tracking(track, {}) as trackers:
        watch.say("loading, finding where it was")
        name, summary = resume_run(run, out, [watch, *trackers], rounds=rounds, allow_code=allow_code)
    report(name, summary, out, as_json=as_json)


@contextlib.contextmanager
def tracking(words: list[str] | None, settings: dict[str, Any]) -> Iterator[list[Callback]]:
    """Trackers for a run with these settings, closed as it ends; without words none, and nothing is imported."""
    with contextlib.ExitStack() as stack:
        if not words:
            yield []
            return
        from covey.track import make_tracker

        yield [stack.enter_context(make_tracker(word, settings)) for word in words]


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
    told = [f"[bold]{plain(name)}[/bold]  {summary['rounds']} rounds", *scores]
    for line in lines_of(told, screen.width):
        screen.print(line)
    traffic, seconds = size(summary["traffic_bytes"]), summary["wall_seconds"]
    timed = [f"simulated {summary['simulated_seconds']:.2f} s"] if "simulated_seconds" in summary else []
    for line in lines_of(
        [f"traffic {traffic}", *timed, f"time {seconds:.1f} s", f"model {summary['model_sha256'][:12]}"], screen.width
    ):
        screen.print(line)
    screen.print(f"[dim]more: covey show {plain(name + in_store(out))}[/dim]", soft_wrap=True)


SCORES = {"accuracy": "accuracy", "own_accuracy": "clients' own accuracy", "loss": "loss"}
