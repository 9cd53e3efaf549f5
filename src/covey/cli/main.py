"""The command line. A fault of the input is one sentence on standard error and exit code 2."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from covey.cli import compare, data, group, listing, price, run
from covey.cli.console import visible
from covey.errors import CoveyError

STOPPED = 130  # by Ctrl-C

app = typer.Typer(
    name="covey",
    help="Group-based federated learning: a round is a plan, a small tree of stars, rings and meshes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("compare")(compare.compare)
app.command("group")(group.group)
app.command("price")(price.price)
app.command("list")(listing.list_)
app.command("show")(listing.show)
app.add_typer(data.app, name="data")


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
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"covey: {visible(sentence)}", markup=False, emoji=False
        )
    return 2


if __name__ == "__main__":
    main()
