"""Where tables go: as wide as the terminal, and wide enough to read when there is none.

Names of clients, nodes, files and runs may come from strangers: what is printed goes through `plain` where rich reads
markup, and through `visible` elsewhere, so that a name is only ever text.
"""

from __future__ import annotations

import os

from rich.console import Console
from rich.markup import escape

PIPE_WIDTH = 140


def console() -> Console:
    """Standard output; a pipe or a file has no width of its own, unless COLUMNS gives it one."""
    out = Console(emoji=False)
    return out if out.is_terminal or "COLUMNS" in os.environ else Console(width=PIPE_WIDTH, emoji=False)


def visible(text: object) -> str:
    r"""The text on one line, with everything that could steer a terminal written out.

    >>> print(visible("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def plain(text: object) -> str:
    r"""The text as rich prints it letter by letter: no markup, nothing that could steer a terminal.

    >>> print(plain("[bold]x\a"))
    \[bold]x\x07
    """
    return escape(visible(text))
