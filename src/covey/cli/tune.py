"""`covey tune`: which way of training is fastest on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from covey.cli.console import console, plain
from covey.cli.options import AllowCode, Json, Set, complete_algorithm, experiment, parse_set, with_experiment_options
from covey.cli.progress import bars
from covey.errors import BadValue, RunFailed
from covey.experiment import Experiment

if TYPE_CHECKING:
    from covey.tune import Tuned

DECIDED = ("mode", "stack", "executor", "address")  # what this command is to find out


@with_experiment_options(without=DECIDED)
def tune(
    source: Annotated[
        str, typer.Argument(metavar="ALGORITHM|FILE.toml", help="what to train", autocompletion=complete_algorithm)
    ] = "fedavg",
    compiled: Annotated[bool, typer.Option(help="try compiled stacks too, which take a while to make")] = True,
    to: Annotated[Path | None, typer.Option(help="write an experiment with the fastest way: FILE.toml")] = None,
    set_: Set = None,
    allow_code: AllowCode = False,
    as_json: Json = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Train the first clients of an experiment in every way, and say which is fastest on this machine.

    A run decides by a rule, so that the same command gives the same model everywhere; with the file that --to writes it
    takes the way that was found fastest: covey run FILE.toml.
    """
    if to is not None and (to.suffix != ".toml" or not to.absolute().parent.is_dir()):
        raise BadValue("to", str(to), "a file that ends in .toml, in a folder that exists")
    given = {**settings, **parse_set(set_)}
    for name in DECIDED:
        if name in given:
            raise BadValue("set", name, "a setting that tune does not decide itself")
    wanted = experiment(source, given, allow_code=allow_code)
    from covey.tune import described, settings_of
    from covey.tune import tune as measure

    with bars() as watch:
        watch.say(f"{wanted.algorithm} on {wanted.data}: loading")
        found = measure(wanted, compiled=compiled, say=lambda text: watch.say(f"{wanted.model}: {text}"))
    if to is not None:
        _write(to, wanted, {**settings_of(found.best.way)}, described(found.best.way))
    if as_json:
        print(json.dumps(_figures(wanted, found)))
        return
    _print(wanted, found)
    if to is not None:
        console().print(f"wrote {plain(to)}: covey run {plain(to)}", highlight=False, soft_wrap=True)


def _figures(wanted: Experiment, found: Tuned) -> dict[str, Any]:
    ways = [{**vars(one.way), "microseconds": one.microseconds, "first_seconds": one.first} for one in found.ways]
    return {
        "model": wanted.model,
        "data": wanted.data,
        "batch": wanted.batch,
        "clients": found.jobs,
        "steps": found.steps,
        "ways": ways,
        "best": vars(found.best.way),
        "rule": vars(found.rule),
    }


def _print(wanted: Experiment, found: Tuned) -> None:
    from covey.tune import described

    screen = console()
    title = f"{wanted.model} on {wanted.data}, {found.jobs} clients at once, batches of {wanted.batch}"
    screen.print(plain(title), highlight=False, soft_wrap=True)
    table = Table(box=None, header_style="bold")
    table.add_column("way")
    for name in ("us a step", "times", "first wave"):
        table.add_column(name, justify="right")
    for one in found.ways:
        ratio = one.microseconds / found.best.microseconds
        table.add_row(described(one.way), f"{one.microseconds:.0f}", f"{ratio:.2f}", f"{one.first:.2f} s")
    screen.print(table)
    told = f"a run of {wanted.rounds} rounds takes: {described(found.rule)} (by a rule, see docs/performance.md)"
    screen.print(told, highlight=False, soft_wrap=True)


def _write(path: Path, wanted: Experiment, way: dict[str, Any], words: str) -> None:
    usual = Experiment.make({}).model_dump()
    given = {name: value for name, value in wanted.model_dump().items() if value != usual.get(name)}
    own = given.pop("options", {})
    lines = [f"# by covey tune: {words} was the fastest", *(_line(*pair) for pair in {**given, **way, **own}.items())]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"{path} could not be written ({error.strerror})") from None


def _line(name: str, value: Any) -> str:
    """A setting in TOML, whose numbers, texts, lists and truths are JSON's.

    >>> _line("lr", 0.1), _line("mode", "stacked"), _line("kill", [2, 3]), _line("relay", True)
    ('lr = 0.1', 'mode = "stacked"', 'kill = [2, 3]', 'relay = true')
    """
    return f"{name} = {json.dumps(value)}"
