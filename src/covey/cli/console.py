"""Where tables go: as wide as the terminal, and wide enough to read when there is none.

Names of clients, nodes, files and runs may come from strangers: what is printed goes through `plain` where rich reads
markup, and through `visible` elsewhere, so that a name is only ever text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

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


def fitted(table: Table, screen: Console, spare: Sequence[str]) -> Table:
    """The table without as many of its spare columns, in this order, as there is no room for."""
    for name in spare:
        if table.__rich_measure__(screen, screen.options.update(max_width=10_000)).maximum <= screen.width:
            break
        table.columns = [column for column in table.columns if column.header != name]
        for place, column in enumerate(table.columns):
            column._index = place
    return table


def lines_of(words: Sequence[str], width: int) -> list[str]:
    """Words that belong together, two spaces between them, on as many lines as they need.

    >>> lines_of(["accuracy 0.5", "loss 2.1"], 80), lines_of(["accuracy 0.5", "loss 2.1"], 20)
    (['accuracy 0.5  loss 2.1'], ['accuracy 0.5', 'loss 2.1'])
    """
    lines: list[str] = []
    for word in words:
        if lines and len(Text.from_markup(f"{lines[-1]}  {word}")) <= width:
            lines[-1] += f"  {word}"
        else:
            lines.append(word)
    return lines


def plain(text: object) -> str:
    r"""The text as rich prints it letter by letter: no markup, nothing that could steer a terminal.

    >>> print(plain("[bold]x\a"))
    \[bold]x\x07
    """
    return escape(visible(text))
