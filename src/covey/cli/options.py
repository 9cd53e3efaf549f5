"""The settings of an experiment as command-line options: one list of fields, one help text each."""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from covey.errors import BadValue
from covey.experiment import Experiment
from covey.experiment.settings import ON_NETWORK
from covey.experiment.settings import parse_set as parse_set

Out = Annotated[Path, typer.Option("--out", help="folder of the run store", envvar="COVEY_RUNS")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON value as the last line")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="any setting, or the algorithm's")]

AllowCode = Annotated[bool, typer.Option("--allow-code", help="trust a file or a stored run that names code")]
Sample = Annotated[
    float | None,
    typer.Option(
        "--sample",
        help="share of the clients (or groups) that take part in a round, where the algorithm draws them",
        rich_help_panel="Algorithm",
    ),
]

FleetFile = Annotated[
    Path | None,
    typer.Option(
        "--fleet",
        metavar="FILE.csv",
        help="clients with their label counts and edges, as covey group takes them; data is synthetic unless given",
        rich_help_panel="Data",
    ),
]
GroupsFile = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        metavar="FILE.csv",
        help="who trains with whom, as covey group --out writes it, where the algorithm takes any grouping",
        rich_help_panel="Algorithm",
    ),
]

DEFAULT_OUT = Path("runs")
NOT_OPTIONS = ("algorithm", "options")
PANELS = {
    "Data": ("data", "clients", "partition", "edges", "samples", "windows", "pool", "test_fraction"),
    "Algorithm": ("local", "merge", "server", "prices"),
    "Network": ("network", *ON_NETWORK),
    "End of the run": (
        "rounds",
        "target_accuracy",
        "target_own_accuracy",
        "budget",
        "stop_at_seconds",
        "stop_at_traffic",
    ),
    "Output": ("evaluate_every", "score_every", "score_on", "checkpoint_every"),
}
"""Which settings are shown together in the help; all others are of training."""


def with_experiment_options(
    command: Callable[..., None] | None = None, *, without: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Give a command one option for every setting but some; it gets those that were given as `settings`."""
    if command is None:
        return functools.partial(with_experiment_options, without=without)
    fields = {name: f for name, f in Experiment.model_fields.items() if name not in (*NOT_OPTIONS, *without)}

    def wrapped(**given: Any) -> None:
        settings = {name: value for name in (*fields, "sample") if (value := given.pop(name)) is not None}
        fleet, groups = given.pop("fleet"), given.pop("groups")
        if fleet is not None:
            settings |= of_fleet(fleet, settings, named=_names_data(given))
        if groups is not None:
            settings["grouping"] = f"file:{groups}"
        command(**given, settings=settings)

    parameters = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "settings"]
    for name, field in fields.items():
        default = "" if field.default is None else f" (default: {field.default})"
        kinds = (field.annotation, *typing.get_args(field.annotation))
        kind = next((number for number in (int, float) if number in kinds), str)
        option = typer.Option(
            f"--{name.replace('_', '-')}",
            help=f"{field.description}{default}",
            show_default=False,
            rich_help_panel=panel_of(name),
        )
        annotation = Annotated[kind | None, option]  # type: ignore[valid-type]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters.append(inspect.Parameter("sample", keyword, default=None, annotation=Sample))
    parameters.append(inspect.Parameter("fleet", keyword, default=None, annotation=FleetFile))
    parameters.append(inspect.Parameter("groups", keyword, default=None, annotation=GroupsFile))
    parameters.sort(key=lambda p: p.kind)
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapped.__doc__ = command.__doc__
    wrapped.__name__ = command.__name__
    return wrapped


def of_fleet(file: Path, given: dict[str, Any], *, named: bool) -> dict[str, Any]:
    """The settings that a fleet's file stands for; `named` says that something else names the data."""
    for name in ("partition", "clients", "edges"):
        if name in given:
            raise BadValue(name, given[name], f"left out beside --fleet {file}, which says it")
    settings: dict[str, Any] = {"partition": f"counts:{file}", "clients": 0}
    if "data" in given or named:
        return settings
    from covey.grouping.table import read_fleet

    return settings | {"data": f"synthetic:classes={read_fleet(file).labels.shape[1]}"}


def _names_data(given: dict[str, Any]) -> bool:
    """Whether a file of settings is among what a command is given, which may name the data."""
    words = [given.get("source"), *(given.get("what") or [])]
    return any(isinstance(word, str) and word.endswith(".toml") for word in words)


def complete_algorithm(incomplete: str) -> list[str]:
    """Names of algorithms that begin so, for a shell."""
    from covey.algorithms import ALGORITHMS

    return [name for name in ALGORITHMS.names if name.startswith(incomplete)]


def complete_run(context: typer.Context, incomplete: str) -> list[str]:
    """Names of runs in the store that begin so, for a shell."""
    from covey.errors import CoveyError
    from covey.store import Store

    out = context.params.get("out") or os.environ.get("COVEY_RUNS") or DEFAULT_OUT
    if not (Path(out) / "covey.db").is_file():
        return []
    try:
        with Store(out, read_only=True) as store:
            return [record.run for record in store.runs() if record.run.startswith(incomplete)]
    except (CoveyError, OSError):  # a shell has no place for complaints
        return []


def panel_of(name: str) -> str:
    """The group of options that a setting is shown in."""
    return next((panel for panel, names in PANELS.items() if name in names), "Training")


def experiment(source: str, settings: dict[str, Any], *, allow_code: bool) -> Experiment:
    """The experiment that `source` names (a TOML file or an algorithm), with these settings on top.

    `allow_code` is for what a file names; whoever types an address of code means it.
    """
    from covey.algorithms import ALGORITHMS

    if source.endswith(".toml") or (source not in ALGORITHMS and is_file(source)):
        return Experiment.read(source, settings, allow_code=allow_code)
    return Experiment.make({**settings, "algorithm": source})


def is_file(name: str) -> bool:
    """Whether there is a file of that name, whatever the name is."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # names that are too long, or no names at all
        return False
