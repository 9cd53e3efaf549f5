"""The command line. A fault of the input is one sentence on standard error and exit code 2.

A command's module is imported when the command is asked for, so that nobody waits for what other commands need.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from covey.errors import CoveyError

STOPPED = 130  # by Ctrl-C
HELP = "Group-based federated learning: a round is a plan, a small tree of stars, rings and meshes."
COMMANDS = {
    "run": ("covey.cli.run:run", "Train: an algorithm by name, or an experiment from a TOML file."),
    "resume": ("covey.cli.run:resume", "Go on where a run was killed, to the same model."),
    "compare": ("covey.cli.compare:compare", "Run several algorithms on the same fleet: a table, and a picture."),
    "sweep": ("covey.cli.sweep:sweep", "Every combination of some settings, sorted by what came out."),
    "group": ("covey.cli.group:group", "Group the clients of a fleet of your own."),
    "price": ("covey.cli.price:price", "What a round costs on a network: seconds, bytes, energy, without training."),
    "bench-groupops": (
        "covey.cli.bench_groupops:bench_groupops",
        "What secure aggregation and backdoor detection cost here, by group size.",
    ),
    "list": ("covey.cli.listing:list_", "What there is: runs, or anything that has a name."),
    "show": ("covey.cli.listing:show", "What a run did: its settings, its rounds, what was lost."),
    "rm": ("covey.cli.runs:rm", "Remove runs."),
    "rename": ("covey.cli.runs:rename", "Give a run another name."),
    "export": ("covey.cli.runs:export", "Every round of a run, to take away: CSV, JSON, Parquet or LaTeX."),
    "doctor": ("covey.cli.doctor:doctor", "Check a store: its database, its checkpoints and their digests."),
    "data": ("covey.cli.data:app", "Data sets: what there is, what is here, how to get the rest."),
}


class Later(TyperCommand):
    """A command of which only the name and one line of help are known until it is asked for."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the command and let it read its arguments."""
        return command(str(self.name)).make_context(info_name, args, parent, **extra)


def command(name: str) -> Any:
    """The command of that name, imported."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        one = typer.Typer(add_completion=False)
        one.command(name)(found)
        found = one
    return typer.main.get_command(found)


app = TyperGroup(
    name="covey",
    help=HELP,
    no_args_is_help=True,
    commands={name: Later(name, help=line) for name, (_, line) in COMMANDS.items()},
)


def main() -> None:
    """Entry point of `covey`."""
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except CoveyError as error:
        code = _complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:
        code = 0
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        code = _complain(error.format_message())  # what typer has to say of options and arguments
    if code == STOPPED:
        _complain("stopped; go on with: covey resume")
    sys.exit(code)


def _complain(sentence: str) -> int:
    """One sentence on standard error; after a help page there is none."""
    if sentence:
        from rich.console import Console

        from covey.cli.console import visible

        said = f"covey: {visible(sentence)}"
        Console(stderr=True, highlight=False, soft_wrap=True).print(said, markup=False, emoji=False)
    return 2


if __name__ == "__main__":
    main()
