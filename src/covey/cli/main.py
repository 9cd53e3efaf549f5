"""The command line. A fault of the input is one sentence on standard error and exit code 2."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from covey.cli import compare, data, group, listing, price, run
from covey.errors import CoveyError

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
    try:
        app()
    except CoveyError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"covey: {error}", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("\nstopped; go on with: covey resume")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)


if __name__ == "__main__":
    main()
