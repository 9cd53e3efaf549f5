"""Where pictures go: a figure to draw on, saved when it is done, and one sentence where that cannot be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from covey.errors import BadValue

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".pdf", ".svg", ".jpg")


def check_ending(path: str | Path, field: str = "plot") -> Path:
    """The path, if a picture can have it; worth asking before the work that the picture shows.

    >>> check_ending("curves.png").name
    'curves.png'
    >>> check_ending("curves")
    Traceback (most recent call last):
    covey.errors.BadValue: plot is 'curves'; allowed is the name of a file that ends in .png, .pdf, .svg or .jpg
    """
    if Path(path).suffix.lower() not in ENDINGS:
        endings = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise BadValue(field, str(path), f"the name of a file that ends in {endings}")
    return Path(path)


@contextmanager
def drawing(path: str | Path, width: float, height: float, *, field: str = "plot") -> Iterator[Figure]:
    """A figure of that many inches, written to the path afterwards; folders on the way are made.

    Names in it are drawn letter by letter: a dollar sign begins no formula, and a letter the font does not have is a
    box. `field` is what an error calls the path.
    """
    from matplotlib import rc_context  # takes a second to load, and most commands draw nothing
    from matplotlib.figure import Figure  # not pyplot, which would take over a notebook's own pictures

    path = check_ending(path, field)
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=130)
        except OSError as error:
            raise BadValue(field, str(path), f"a file that can be written ({error.strerror or error})") from None
