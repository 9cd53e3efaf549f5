"""The command line. A fault of the input is one sentence on standard error and exit code 2.

A command's module is imported when the command is asked for, so that nobody waits for what other commands need.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from covey.errors import CoveyError, Stopped

OF_ALGORITHMS = ("run", "compare", "sweep", "price", "tune")  # commands that take an algorithm's name
STOPPED = 130  # by Ctrl-C
LONGEST = 2000  # letters of a sentence
HELP = "Group-based federated learning: a round is a plan, a small tree of stars, rings and meshes."
COMMANDS = {
    "run": ("covey.cli.run:run", "Train: an algorithm by name, or an experiment from a TOML file."),
    "resume": ("covey.cli.run:resume", "Go on where a run was killed, to the same model."),
    "compare": ("covey.cli.compare:compare", "Run several algorithms on the same fleet: a table, and a picture."),
    "sweep": ("covey.cli.sweep:sweep", "Every combination of some settings, sorted by what came out."),
    "reproduce": ("covey.cli.reproduce:reproduce", "The papers' tables and figures, their figures beside ours."),
    "group": ("covey.cli.group:group", "Group the clients of a fleet of your own."),
    "price": ("covey.cli.price:price", "What a round costs on a network: seconds, bytes, energy, without training."),
    "tune": ("covey.cli.tune:tune", "Which way of training is fastest here: measured, to read or to keep."),
    "bench-groupops": (
        "covey.cli.bench_groupops:bench_groupops",
        "What secure aggregation and backdoor detection cost here, by group size.",
    ),
    "list": ("covey.cli.listing:list_", "What there is: runs, or anything that has a name."),
    "show": ("covey.cli.listing:show", "What a run did: its settings, its rounds, what was lost."),
    "report": ("covey.cli.report:report", "Runs as one page that opens offline, or every picture as a file."),
    "ui": ("covey.ui.command:ui", "A local web page: runs live, comparisons, groupings, plans."),
    "rm": ("covey.cli.runs:rm", "Remove runs."),
    "rename": ("covey.cli.runs:rename", "Give a run another name."),
    "export": ("covey.cli.runs:export", "Every round of a run, to take away: CSV, JSON, Parquet or LaTeX."),
    "doctor": ("covey.cli.doctor:doctor", "Check a store: its database, its checkpoints and their digests."),
    "flower": ("covey.cli.flower:app", "Real devices, by way of Flower: write an app, or try a federation here."),
    "data": ("covey.cli.data:app", "Data sets: what there is, what is here, how to get the rest."),
}


class Later(TyperCommand):
    """A command of which only the name and one line of help are known until it is asked for."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the command and let it read its arguments; help with an algorithm tells that one's settings, too."""
        asked = list(args)
        try:
            return command(str(self.name)).make_context(info_name, args, parent, **extra)
        except typer.Exit:
            if self.name in OF_ALGORITHMS and "--help" in asked:
                from covey.cli.own import print_own_settings

                print_own_settings(asked)
            raise


def command(name: str) -> Any:
    """The command of that name, imported."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        one = typer.Typer(add_completion=False)
        one.command(name)(found)
        found = one
    return typer.main.get_command(found)


def _tell_version(asked: bool) -> None:
    if asked:
        import covey

        print(f"covey {covey.__version__}")
        raise typer.Exit


def _make_app() -> TyperGroup:
    """The group of all commands, with completion for bash, zsh and fish."""
    shell = typer.Typer(name="covey", help=HELP, no_args_is_help=True, suggest_commands=False)  # click does already

    @shell.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", help="Show the version and exit.", callback=_tell_version, is_eager=True)
        ] = False,
    ) -> None:
        pass

    group = typer.main.get_command(shell)
    assert isinstance(group, TyperGroup)
    group.commands.update({name: Later(name, help=line) for name, (_, line) in COMMANDS.items()})
    return group


app = _make_app()


def main() -> None:
    """Entry point of `covey`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter the terminal does not know is no reason to stop
    try:
        code = _call()
    except BrokenPipeError:
        code = _mute(0)
    except OSError as error:
        code = _mute(_complain(_about(error)))
    sys.exit(code)


def _call() -> int:
    """Run the command; its exit code."""
    try:
        code = int(app(standalone_mode=False) or 0)
        sys.stdout.flush()
        if code == STOPPED:
            _complain("stopped")
        return code
    except Stopped as error:
        _complain(str(error))
        return STOPPED
    except CoveyError as error:
        return _complain(str(error))
    except typer.Abort as error:
        if isinstance(error.__cause__, EOFError):  # typer takes it for the end of what a person types
            raise error.__cause__ from None
        _complain("stopped")
        return STOPPED
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich ends the program where nobody reads on
            raise error.__context__ from None
        return _complain(f"code of a part has tried to end the program (SystemExit: {error.code})")
    except MemoryError:
        return _complain("there is not enough memory for this; make it smaller")
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _complain(error.format_message())  # what typer has to say of options and arguments


def _about(error: OSError) -> str:
    """What the operating system has to say, and of which file."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename} cannot be used ({reason})" if error.filename else f"cannot go on ({reason})"


def _mute(code: int) -> int:
    """Keep Python from trying once more, as it ends, to write where nothing can be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _complain(sentence: str) -> int:
    """One sentence on standard error; after a help page there is none."""
    if sentence:
        from rich.console import Console

        from covey.cli.console import visible

        said = f"covey: {visible(sentence)}"
        said = said if len(said) <= LONGEST else f"{said[: LONGEST - 3]}..."
        with contextlib.suppress(OSError):  # where nothing can be said, the exit code has to do
            screen = Console(stderr=True, highlight=False)
            screen.print(said, markup=False, emoji=False, soft_wrap=not screen.is_terminal)  # a program reads one line
    return 2


if __name__ == "__main__":
    main()
